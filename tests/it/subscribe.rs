//! Subscriptions: every synced event once, in arrival order, whatever happens beside them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causelog::vfs::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs};
use causelog::{
    Code, Cursor, Durability, ErrorKind, EventFields, Options, Position, Store, SubscribeFrom, Subscription,
};
use proptest::prelude::*;

use crate::support::{bulky, env_number, event, small};

/// Long enough to say that something did not happen, short enough to wait for.
const MOMENT: Duration = Duration::from_millis(30);
/// Past this something hangs.
const LONG: Duration = Duration::from_secs(60);

/// Takes what is there now, as pairs of arrival and id.
fn drain(subscription: &mut Subscription) -> Vec<(u64, String)> {
    std::iter::from_fn(|| subscription.try_next().unwrap()).map(|event| named(&event)).collect()
}

fn named(event: &causelog::StoredEvent) -> (u64, String) {
    (event.arrival(), event.id().to_string())
}

/// Takes a position through the text that a client keeps.
fn kept(position: Option<Position>) -> Option<Position> {
    serde_json::from_str(&serde_json::to_string(&position).unwrap()).unwrap()
}

/// A subscriber of the model: how far it came, and the subscription.
struct Reader {
    delivered: usize,
    subscription: Subscription,
}

/// A store and what was written to it, in the order of arrivals.
struct World {
    faulty: FaultyVfs,
    store: Option<Store>,
    log: Vec<String>,
    seqs: [u64; 3],
    readers: Vec<Reader>,
}

const HOSTS: [&str; 3] = ["a", "b", "c"];

impl World {
    fn new(durability: Durability) -> Self {
        let faulty = FaultyVfs::recording(Arc::new(MemoryVfs::new()));
        let store =
            Store::create("/s", small().durability(durability).vfs(Arc::new(faulty.clone()))).unwrap();
        Self { faulty, store: Some(store), log: Vec::new(), seqs: [0; 3], readers: Vec::new() }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn append(&mut self, host: usize) {
        let event = bulky(HOSTS[host], self.seqs[host]);
        self.seqs[host] += 1;
        self.store().append(&event).unwrap();
        self.log.push(event.id.to_string());
    }

    fn subscribe(&mut self, from: SubscribeFrom) {
        let delivered = match from {
            SubscribeFrom::Start => 0,
            _ => self.synced(),
        };
        let subscription = self.store().subscribe(from).unwrap();
        assert_eq!(subscription.position().map_or(0, |position| position.arrival + 1), delivered as u64);
        self.readers.push(Reader { delivered, subscription });
    }

    /// How many events are synced, by another way into the log.
    fn synced(&self) -> usize {
        self.store().since(&Cursor::default()).unwrap().count()
    }

    /// Reads up to so many events and compares them with the model.
    fn read(&mut self, reader: usize, most: usize) {
        let synced = self.synced();
        let Some(reader) = self.readers.get_mut(reader) else { return };
        for _ in 0..most {
            let next = reader.subscription.try_next().unwrap();
            let expected = self.log[..synced].get(reader.delivered);
            assert_eq!(
                next.map(|event| named(&event)),
                expected.map(|id| (reader.delivered as u64, id.clone()))
            );
            if expected.is_none() {
                return;
            }
            reader.delivered += 1;
        }
    }

    /// Every reader goes on in a new subscription from the position that it kept.
    fn resume(&mut self) {
        for at in 0..self.readers.len() {
            let position = kept(self.readers[at].subscription.position());
            self.readers[at].subscription = self.store().subscribe(position).unwrap();
        }
    }

    /// Power goes; what is left is opened.
    fn crash(&mut self, seed: u64) {
        let durability = Durability::Os;
        let image = self.faulty.crash(seed).unwrap();
        self.store = None;
        self.faulty = FaultyVfs::recording(Arc::new(image));
        let options = small().durability(durability).vfs(Arc::new(self.faulty.clone()));
        self.store = Some(Store::open("/s", options).unwrap());
        let held = self.synced();
        for reader in &self.readers {
            assert!(reader.delivered <= held, "power took {held}.. and {} were delivered", reader.delivered);
        }
        self.log.truncate(held);
        for (host, seq) in self.seqs.iter_mut().enumerate() {
            *seq = self.log.iter().filter(|id| id.starts_with(HOSTS[host])).count() as u64;
        }
        self.resume();
    }
}

#[test]
fn each_event_comes_once_beside_a_model() {
    let cases = u32::try_from(env_number("CAUSELOG_SUBSCRIBE_CASES", 32)).unwrap();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    proptest!(config, |(durable: bool, steps in proptest::collection::vec((0u8..24, 0usize..1000), 1..120))| {
        let mut world = World::new(if durable { Durability::Durable } else { Durability::Os });
        world.subscribe(SubscribeFrom::Start);
        for (kind, n) in steps {
            match kind {
                0..=8 => (0..=n % 9).for_each(|k| world.append((n + k) % 3)),
                9 | 10 => world.store().sync().unwrap(),
                11 => world.store().checkpoint().unwrap(),
                12 => world.subscribe(SubscribeFrom::Start),
                13 => world.subscribe(SubscribeFrom::Now),
                14..=19 => {
                    let reader = n % world.readers.len();
                    world.read(reader, n % 90);
                }
                20 | 21 => world.resume(),
                _ => world.crash(n as u64),
            }
        }
        world.store().sync().unwrap();
        let all = world.log.len();
        for reader in 0..world.readers.len() {
            world.read(reader, all + 1);
            prop_assert_eq!(world.readers[reader].delivered, all);
        }
        // What became synced by closing is delivered before the end is told.
        world.append(0);
        world.store.take().unwrap().close().unwrap();
        for reader in &mut world.readers {
            let last = reader.subscription.recv().unwrap().unwrap();
            prop_assert_eq!(last.arrival(), all as u64);
            prop_assert!(reader.subscription.recv().unwrap().is_none());
        }
    });
}

#[test]
fn many_writers_and_many_readers() {
    const WRITERS: usize = 4;
    const EVENTS: u64 = 400;
    let options = Options::new().segment_bytes_max(64 << 10).idle_after(Duration::from_millis(5));
    let store = Store::in_memory(options).unwrap();
    let all = WRITERS as u64 * EVENTS;
    let lists: Vec<Vec<(u64, String)>> = std::thread::scope(|scope| {
        // One reads on, one is slow, one starts anew from its position all the time, one looks without waiting.
        let readers: Vec<_> = (0..4u64)
            .map(|kind| {
                let mut subscription = store.subscribe(SubscribeFrom::Start).unwrap();
                let store = &store;
                scope.spawn(move || {
                    let mut got = Vec::new();
                    while (got.len() as u64) < all {
                        let next = match kind {
                            0 => subscription.recv().unwrap(),
                            1 => subscription.next_timeout(LONG).unwrap(),
                            2 => subscription.next_timeout(MOMENT).unwrap(),
                            _ => subscription.try_next().unwrap(),
                        };
                        got.extend(next.iter().map(named));
                        if kind == 1 && got.len() % 100 == 0 {
                            std::thread::sleep(Duration::from_millis(10));
                        }
                        if kind == 2 && got.len() % 37 == 0 {
                            subscription = store.subscribe(kept(subscription.position())).unwrap();
                        }
                    }
                    got
                })
            })
            .collect();
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || {
                for seq in 0..EVENTS {
                    store.append(&bulky(&format!("h{writer}"), seq)).unwrap();
                }
            });
        }
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(store.stats().unwrap().segments.len() > 20);
    let arrivals: Vec<u64> = lists[0].iter().map(|(arrival, _)| *arrival).collect();
    assert_eq!(arrivals, (0..all).collect::<Vec<_>>());
    assert!(lists.iter().all(|list| *list == lists[0]), "all readers see one order");
    for event in store.events().unwrap() {
        let event = event.unwrap();
        assert_eq!(lists[0][usize::try_from(event.arrival()).unwrap()], named(&event));
    }
}

#[test]
fn only_what_is_synced_is_delivered() {
    let store = Store::in_memory(small().durability(Durability::Os)).unwrap();
    let mut subscription = store.subscribe(SubscribeFrom::Start).unwrap();
    store.append(&event("a", 0, &[])).unwrap();
    assert_eq!(store.snapshot().unwrap().len(), 1);
    assert!(subscription.next_timeout(MOMENT).unwrap().is_none());
    assert_eq!(subscription.position(), None);
    store.sync().unwrap();
    assert_eq!(drain(&mut subscription), [(0, "a-0".to_owned())]);
    assert!(!subscription.is_closed());
}

#[test]
fn what_was_dropped_is_told_with_its_number() {
    let store = Store::in_memory(small().events_max(80)).unwrap();
    store.append(&event("a", 0, &[])).unwrap();
    let mut slow = store.subscribe(SubscribeFrom::Start).unwrap();
    let mut resumed = store.subscribe(SubscribeFrom::Start).unwrap();
    resumed.try_next().unwrap().unwrap();
    let position = resumed.position();
    for seq in 1..1000 {
        store.append(&event("a", seq, &[])).unwrap();
    }
    let mut resumed = store.subscribe(kept(position)).unwrap();
    let held = store.snapshot().unwrap().len();
    for (subscription, first) in [(&mut slow, 0), (&mut resumed, 1)] {
        let told = subscription.try_next().unwrap_err();
        assert_eq!((told.kind(), told.code()), (ErrorKind::NotFound, Code::Cursor));
        let gap = subscription.gap().unwrap();
        assert_eq!((gap.first, gap.events), (first, 1000 - held - first));
        assert!(told.message().starts_with(&format!("{} events", gap.events)), "{told}");
        // A position behind the gap does not tell of it again.
        let mut again = store.subscribe(kept(subscription.position())).unwrap();
        let rest = drain(subscription);
        assert_eq!(subscription.gap(), None);
        assert_eq!(rest.len() as u64, held);
        assert_eq!(rest[0].0, gap.first + gap.events);
        assert_eq!(drain(&mut again), rest);
    }
    let mut fresh = store.subscribe(SubscribeFrom::Start).unwrap();
    assert_eq!(drain(&mut fresh).len() as u64, held, "what was dropped before is no gap");
}

#[test]
fn a_reader_that_cannot_keep_up_misses_what_it_is_told_of() {
    let store = Store::in_memory(Options::new().events_max(64)).unwrap();
    let mut subscription = store.subscribe(SubscribeFrom::Start).unwrap();
    let writer = std::thread::spawn(move || {
        for seq in 0..2000 {
            store.append(&event("a", seq, &[])).unwrap();
        }
        store.close().unwrap();
    });
    let (mut next, mut missed) = (0, 0);
    loop {
        match subscription.recv() {
            Ok(Some(event)) => {
                assert_eq!((event.arrival(), event.seq().get()), (next, next));
                next += 1;
                if next % 50 == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            Ok(None) => break,
            Err(error) => {
                let gap = subscription.gap().unwrap_or_else(|| panic!("{error}"));
                assert_eq!(gap.first, next);
                next += gap.events;
                missed += gap.events;
            }
        }
    }
    writer.join().unwrap();
    assert_eq!(next, 2000);
    println!("{missed} of 2000 events were missed");
}

#[test]
fn closing_wakes_everybody_after_the_last_event() {
    for by_dropping in [false, true] {
        let store = Store::in_memory(Options::new().durability(Durability::Os)).unwrap();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let mut subscription = store.subscribe(SubscribeFrom::Now).unwrap();
                std::thread::spawn(move || {
                    let first = subscription.recv().unwrap().map(|event| named(&event).1);
                    (first, subscription.recv().unwrap().is_none(), subscription.is_closed())
                })
            })
            .collect();
        std::thread::sleep(MOMENT);
        store.append(&event("a", 0, &[])).unwrap();
        if by_dropping {
            drop(store);
        } else {
            store.close().unwrap();
        }
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), (Some("a-0".to_owned()), true, true));
        }
    }
}

#[test]
fn a_poisoned_store_ends_its_subscriptions_when_it_closes() {
    let faulty = FaultyVfs::new(Arc::new(MemoryVfs::new()));
    let store = Store::create("/s", small().vfs(Arc::new(faulty.clone()))).unwrap();
    store.append(&event("a", 0, &[])).unwrap();
    let mut subscription = store.subscribe(SubscribeFrom::Start).unwrap();
    faulty.arm(Fault::nth(Calls::Only(Call::Sync), 1, Failure::MEDIUM));
    assert_eq!(store.append(&event("a", 1, &[])).unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(drain(&mut subscription).len(), 1);
    let waits = std::thread::spawn(move || subscription.recv().unwrap().is_none());
    store.close().unwrap_err();
    assert!(waits.join().unwrap());
}

#[test]
fn a_timeout_is_kept() {
    let store = Store::in_memory(small()).unwrap();
    let mut subscription = store.subscribe(SubscribeFrom::Now).unwrap();
    let started = Instant::now();
    assert!(subscription.next_timeout(MOMENT).unwrap().is_none());
    assert!(started.elapsed() >= MOMENT && !subscription.is_closed());
    assert!(subscription.next_timeout(Duration::ZERO).unwrap().is_none());
    let sent = std::thread::spawn(move || {
        std::thread::sleep(MOMENT);
        store.append(&event("a", 0, &[])).unwrap();
        store
    });
    assert!(subscription.next_timeout(Duration::MAX).unwrap().is_some());
    assert!(sent.join().unwrap().subscribe(SubscribeFrom::Now).unwrap().try_next().unwrap().is_none());
}

#[test]
fn a_reading_process_polls() {
    let vfs = MemoryVfs::new();
    let options = || small().durability(Durability::Os).vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let reader = Store::open_read_only(Path::new("/s"), options()).unwrap();
    let mut subscription =
        reader.subscribe(SubscribeFrom::Start).unwrap().poll_every(Duration::from_millis(1));
    let mut got = Vec::new();
    for seq in 0..100 {
        store.append(&bulky("a", seq)).unwrap();
        if seq % 10 == 3 {
            store.sync().unwrap();
            while got.len() as u64 <= seq {
                got.push(named(&subscription.next_timeout(LONG).unwrap().unwrap()));
            }
        }
        if seq == 55 {
            subscription =
                reader.subscribe(kept(subscription.position())).unwrap().poll_every(Duration::ZERO);
        }
    }
    // A position means the same to the writer.
    let mut of_writer = store.subscribe(kept(subscription.position())).unwrap();
    store.sync().unwrap();
    got.extend(drain(&mut of_writer));
    assert_eq!(got, (0..100).map(|seq| (seq, format!("a-{seq}"))).collect::<Vec<_>>());
    let waits = std::thread::spawn(move || {
        let mut subscription = subscription.poll_every(LONG);
        while subscription.recv().unwrap().is_some() {}
        subscription.is_closed()
    });
    std::thread::sleep(MOMENT);
    reader.close().unwrap();
    assert!(waits.join().unwrap());
}

#[test]
fn a_position_from_elsewhere_is_refused() {
    let (one, other) = (Store::in_memory(small()).unwrap(), Store::in_memory(small()).unwrap());
    for seq in 0..5 {
        one.append(&event("a", seq, &[])).unwrap();
        other.append(&event("b", seq, &[])).unwrap();
    }
    other.append(&event("a", 3, &[])).unwrap();
    let mut subscription = one.subscribe(SubscribeFrom::Start).unwrap();
    let refused = |position: Option<Position>| {
        let error = other.subscribe(position).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, Code::Cursor), "{error}");
    };
    while subscription.try_next().unwrap().is_some() {
        refused(subscription.position());
    }
    refused(Some(Position { arrival: 6, id: None }));
    let last = other.subscribe(Some(Position { arrival: 5, id: None })).unwrap();
    assert_eq!(last.position().unwrap().arrival, 5);
    assert_eq!(serde_json::to_string(&subscription.position()).unwrap(), r#"{"arrival":4,"id":"a-4"}"#);
}
