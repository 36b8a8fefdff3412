//! Placing alone: the order's index over a node file, without a log.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causelog::Result;
use causelog::order::index::{Cause, EventKey, Facts, NewEvent, OrderIndex, Placing, Ranks};
use causelog::order::tree::{NodeAt, Shape as Nodes, Shelf, Sink, Source};

use super::shapes::{HOSTS, Maker, Shape};

/// One file of nodes, without checksums.
struct Nodefile(File);

impl Source for Nodefile {
    fn read(&self, at: NodeAt) -> Result<Vec<u8>> {
        let mut bytes = vec![0; at.bytes as usize];
        self.0.read_exact_at(&mut bytes, at.offset).unwrap();
        Ok(bytes)
    }
}

struct Append<'a> {
    file: &'a File,
    end: &'a mut u64,
}

impl Sink for Append<'_> {
    fn append(&mut self, node: &[u8]) -> Result<NodeAt> {
        self.file.write_all_at(node, *self.end).unwrap();
        let at = NodeAt { file: 1, offset: *self.end, bytes: u32::try_from(node.len()).unwrap() };
        *self.end += node.len() as u64;
        Ok(at)
    }
}

/// A log that answers from memory, and remembers the causes of late events alone.
#[derive(Default)]
struct Known {
    causes: HashMap<EventKey, Vec<Cause>>,
    places: HashMap<u64, EventKey>,
}

impl Facts for Known {
    fn causes(&mut self, of: EventKey, out: &mut Vec<Cause>) -> Result<()> {
        for cause in self.causes.get(&of).into_iter().flatten() {
            let at = cause.at.or_else(|| self.places.get(&cause.fingerprint).copied());
            out.push(Cause { fingerprint: cause.fingerprint, at });
        }
        Ok(())
    }

    fn fingerprint(&mut self, of: EventKey) -> Result<u64> {
        Ok(u64::from(of.host) << 48 | of.seq)
    }
}

/// Events that are placed between two looks at the clock.
const BATCH: u64 = 100;

pub struct Placed {
    pub p50: Duration,
    pub p99: Duration,
    pub middle: u64,
    pub runs: u64,
    pub live_bytes: u64,
}

/// Places so many events, and gives what one took in the last tenth of them.
pub fn place(shape: Shape, events: u64, cache: usize) -> Placed {
    let path = tempfile::NamedTempFile::new().unwrap();
    let file = Arc::new(OpenOptions::new().read(true).write(true).open(path.path()).unwrap());
    let source = Arc::new(Nodefile(file.try_clone().unwrap()));
    let nodes = Nodes {
        leaf: usize::try_from(super::number("LEAF", 96)).unwrap(),
        inner: usize::try_from(super::number("INNER", 64)).unwrap(),
    };
    let shelf = Shelf::new(source, cache - cache / 4, nodes);
    let ranks = Ranks::new((1..=u64::from(HOSTS)).collect());
    let (mut index, mut facts, mut end) = (OrderIndex::default(), Known::default(), 0u64);
    // The keys of the newest events, by number.
    let mut recent: Vec<EventKey> = vec![EventKey { host: 0, seq: 0 }; 1 << 16];
    let mut maker = Maker::new(shape);
    let mut times = Vec::new();
    let (mut number, mut middle, mut counted) = (0u64, 0, 0);
    while number < events {
        let batch: Vec<(EventKey, Vec<Cause>)> = (0..BATCH)
            .map(|ahead| {
                let made = maker.next().unwrap();
                let key = EventKey { host: made.host, seq: made.seq };
                recent[usize::try_from((number + ahead) % (1 << 16)).unwrap()] = key;
                let cause = |cause: &u64| Cause {
                    fingerprint: *cause,
                    at: Some(recent[usize::try_from(cause % (1 << 16)).unwrap()]),
                };
                (key, made.causes.iter().map(cause).collect())
            })
            .collect();
        // A group: readers are shown a snapshot of what was placed before.
        let shown = index.clone();
        let start = Instant::now();
        for (key, causes) in &batch {
            let event = NewEvent { key: *key, fingerprint: number, causes, namers: &[], follows: true };
            assert!(matches!(index.add(&shelf, &ranks, &event, &mut facts).unwrap(), Placing::Placed));
        }
        let took = start.elapsed();
        drop(shown);
        if number >= events - events / 10 {
            times.push(took / u32::try_from(BATCH).unwrap());
            for (key, _) in batch.iter().step_by(50) {
                let position = index.position(&shelf, *key).unwrap().unwrap();
                middle += u64::from(position + 1 < index.len());
                counted += 1;
            }
        }
        number += BATCH;
        if index.fresh_bytes() > cache / 4 {
            index.flush(&shelf, &mut Append { file: &file, end: &mut end }).unwrap();
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    index.flush(&shelf, &mut Append { file: &file, end: &mut end }).unwrap();
    Placed {
        p50: at(50),
        p99: at(99),
        middle: middle * 100 / counted.max(1),
        runs: index.runs_len(),
        live_bytes: index.live_bytes(),
    }
}

/// A late cause that so many events rest on, in a log of so many.
pub fn late(events: u64, dependents: u64) -> (Duration, u64) {
    let shelf = Shelf::new(Arc::new(Nodefile(tempfile::tempfile().unwrap())), 64 << 20, Nodes::default());
    let ranks = Ranks::new((1..=u64::from(HOSTS) + 1).collect());
    let (mut index, mut facts) = (OrderIndex::default(), Known::default());
    let late = 1 << 40;
    let add = |index: &mut OrderIndex, facts: &mut Known, key: EventKey, causes: Vec<Cause>| {
        let event = NewEvent { key, fingerprint: 0, causes: &causes, namers: &[], follows: true };
        assert!(matches!(index.add(&shelf, &ranks, &event, facts).unwrap(), Placing::Placed));
        facts.causes.insert(key, causes);
    };
    // The first event of each of them names what comes last; each names the one before, so that all rest on it.
    for seq in 0..events {
        let host = u32::try_from(1 + seq % 7).unwrap();
        let key = EventKey { host, seq: seq / 7 };
        let causes = if seq < dependents {
            let before = seq
                .checked_sub(1)
                .map(|before| EventKey { host: u32::try_from(1 + before % 7).unwrap(), seq: before / 7 });
            vec![Cause { fingerprint: if seq == 0 { late } else { 0 }, at: before }]
        } else {
            Vec::new()
        };
        add(&mut index, &mut facts, key, causes);
    }
    let (own, namers) = (EventKey { host: 0, seq: 0 }, [EventKey { host: 1, seq: 0 }]);
    // What it names has the greatest key and stands last, so that all of them have to move.
    let last = EventKey { host: HOSTS, seq: 0 };
    add(&mut index, &mut facts, last, Vec::new());
    let causes = [Cause { fingerprint: 0, at: Some(last) }];
    facts.places.insert(late, own);
    let event = NewEvent { key: own, fingerprint: late, causes: &causes, namers: &namers, follows: true };
    let visits = shelf.visits();
    let start = Instant::now();
    let placed = index.add(&shelf, &ranks, &event, &mut facts).unwrap();
    let took = start.elapsed();
    assert!(matches!(placed, Placing::Placed));
    (took, shelf.visits() - visits)
}
