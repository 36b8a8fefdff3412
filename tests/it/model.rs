//! Random work on a store, beside a plain model of it.
//!
//! `CAUSELOG_MODEL_CASES` sets how many runs there are; a run that fails is printed as its shortest form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs};
use causelog::{
    Appended, BatchMode, Code, Cursor, CursorEntry, Durability, ErrorKind, Event, EventId, HostId, JsonText,
    Options, Result, Seq, Store, UnknownTypes,
};
use proptest::prelude::*;

use crate::support::{env_number, held, ids, in_order, small, sorted};

const HOSTS: [&str; 3] = ["a", "\u{10000}", "\u{ffff}"];

/// What a store should be.
#[derive(Clone, Default)]
struct Model {
    /// Events in the order in which they arrived.
    log: Vec<Event>,
    /// How many of them are synced, at the least.
    synced: usize,
    by_id: BTreeMap<String, usize>,
    at: BTreeMap<(HostId, u64), usize>,
    high: BTreeMap<HostId, u64>,
}

fn name(id: &EventId) -> String {
    id.as_ref().to_string()
}

impl Model {
    fn of(log: Vec<Event>) -> Self {
        let mut model = Self::default();
        log.into_iter().for_each(|event| model.push(event));
        model.synced = model.log.len();
        model
    }

    fn push(&mut self, event: Event) {
        let at = self.log.len();
        self.by_id.insert(name(&event.id), at);
        self.at.insert((event.host.clone(), event.seq.get()), at);
        self.high.insert(event.host.clone(), event.seq.get());
        self.log.push(event);
    }

    /// Says what should become of an event that is offered.
    fn judge(&self, event: &Event) -> Result<Appended, (ErrorKind, Code)> {
        if event.v != 1 {
            let kind = if event.v > 1 { ErrorKind::Unsupported } else { ErrorKind::Invalid };
            return Err((kind, Code::Version));
        }
        if let Some(at) = self.by_id.get(&name(&event.id)) {
            let same = self.log[*at] == *event;
            return if same { Ok(Appended::Duplicate) } else { Err((ErrorKind::Equivocation, Code::Id)) };
        }
        let seq = event.seq.get();
        if self.high.get(&event.host).is_some_and(|high| seq <= *high) {
            let taken = self.at.contains_key(&(event.host.clone(), seq));
            return Err((if taken { ErrorKind::Equivocation } else { ErrorKind::Invalid }, Code::Seq));
        }
        let own = name(&event.id);
        let mut seen = BTreeSet::new();
        let mut open: Vec<String> = event.causes.iter().map(name).collect();
        while let Some(id) = open.pop() {
            if id == own {
                return Err((ErrorKind::Invalid, Code::Cycle));
            }
            if let Some(at) = self.by_id.get(&id).filter(|_| seen.insert(id.clone())) {
                open.extend(self.log[*at].causes.iter().map(name));
            }
        }
        Ok(Appended::Stored)
    }

    /// Depth first: the event, then what each of its causes rests on.
    fn ancestry(&self, id: &EventId) -> Vec<String> {
        fn visit(model: &Model, id: String, found: &mut Vec<String>) {
            let Some(at) = model.by_id.get(&id).filter(|_| !found.contains(&id)) else { return };
            found.push(id);
            model.log[*at].causes.iter().for_each(|cause| visit(model, name(cause), found));
        }
        let mut found = Vec::new();
        visit(self, name(id), &mut found);
        found
    }
}

/// The store under test and its file system.
struct Run {
    model: Model,
    store: Option<Store>,
    files: MemoryVfs,
    faulty: FaultyVfs,
    durability: Durability,
    segment_bytes: u64,
    /// Ids are given out by number, so that an event can name one that comes later.
    next_id: u32,
}

impl Run {
    fn new(level: u8) -> Self {
        let files = MemoryVfs::new();
        let faulty = FaultyVfs::recording(Arc::new(files.clone()));
        let durability = match level % 3 {
            0 => Durability::Durable,
            1 => Durability::Os,
            _ => Durability::Interval(Duration::from_secs(3600)),
        };
        let segment_bytes = if level.is_multiple_of(4) { 3 << 20 } else { 64 << 10 };
        let mut run = Self {
            model: Model::default(),
            store: None,
            files,
            faulty,
            durability,
            segment_bytes,
            next_id: 0,
        };
        run.store = Some(Store::create("/s", run.options()).unwrap());
        run
    }

    fn options(&self) -> Options {
        small()
            .durability(self.durability)
            .segment_bytes_max(self.segment_bytes)
            .unknown_types(UnknownTypes::Accept)
            .vfs(Arc::new(self.faulty.clone()))
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn durable(&self) -> bool {
        self.durability == Durability::Durable
    }

    /// A new event, made from a random number.
    fn event(&mut self, pick: u32) -> Event {
        let id = |n: u32| EventId::new(&format!("e{n}")).unwrap();
        let own = self.next_id;
        self.next_id += 1;
        let host = HostId::new(HOSTS[pick as usize % 3]).unwrap();
        let gap = u64::from((pick / 3).is_multiple_of(11)) * 5;
        let seq = self.model.high.get(&host).map_or(0, |high| high + 1) + gap;
        let causes = match pick / 7 % 5 {
            0 => vec![],
            1 if own > 0 => vec![id(pick / 31 % own)],
            2 if own > 1 => vec![id(own - 1), id(pick / 31 % own)],
            // One that comes later, or never.
            3 => vec![id(own + 1 + pick / 31 % 4)],
            _ => vec![id(own + 1 + pick / 31 % 3), id(pick / 63 % (own + 1))],
        };
        // Most are small; some fill segments.
        let bytes = match pick / 11 % 6 {
            0 => 9000,
            1 => 2500,
            _ => pick as usize % 60,
        };
        let kind = if (pick / 13).is_multiple_of(4) { "x.note" } else { "turn.started" };
        let payload =
            JsonText::parse(&format!(r#"{{"turnId":"t","note":"{}"}}"#, "p".repeat(bytes))).unwrap();
        Event::new(id(own), host, Seq::new(seq).unwrap(), kind, payload)
            .with_causes(causes)
            .with_at(f64::from(pick))
    }

    /// An event that is refused, or one that is held.
    fn odd(&mut self, pick: u32) -> Event {
        let mut event = self.event(pick);
        let Some(at) = (pick as usize / 7).checked_rem(self.model.log.len()) else { return event };
        let held = self.model.log[at].clone();
        match pick % 6 {
            0 => held,
            1 => Event { at: held.at + 1.0, ..held },
            2 => Event { host: held.host, seq: held.seq, ..event },
            3 => {
                event.seq = Seq::new(held.seq.get().saturating_sub(1)).unwrap();
                Event { host: held.host, ..event }
            }
            4 => Event { v: 2 - pick / 6 % 2 * 2, ..event },
            _ => {
                event.causes.push(event.id.clone());
                event
            }
        }
    }

    fn took(&mut self, event: &Event, outcome: &Result<Appended>) {
        let expected = self.model.judge(event);
        let found = outcome.as_ref().map(|outcome| *outcome).map_err(|error| (error.kind(), error.code()));
        assert_eq!(found, expected, "{event:?}: {outcome:?}");
        if expected == Ok(Appended::Stored) {
            self.model.push(event.clone());
        }
        if self.durable() {
            self.model.synced = self.model.log.len();
        }
    }

    fn append(&mut self, event: &Event) {
        let outcome = self.store().append(event);
        self.took(event, &outcome);
    }

    fn batch(&mut self, pick: u32, mode: BatchMode) {
        let mut events = Vec::new();
        let mut ahead = self.model.clone();
        for n in 0..1 + pick % 7 {
            let pick = pick.rotate_left(n * 5).wrapping_add(n);
            // Made for the state behind the ones before it.
            std::mem::swap(&mut self.model, &mut ahead);
            let event = if pick.is_multiple_of(3) { self.odd(pick) } else { self.event(pick) };
            if self.model.judge(&event) == Ok(Appended::Stored) {
                self.model.push(event.clone());
            }
            std::mem::swap(&mut self.model, &mut ahead);
            events.push(event);
        }
        let report = self.store().append_batch(&events, mode).unwrap();
        for (event, outcome) in events.iter().zip(&report.outcomes) {
            self.took(event, outcome);
        }
        let stopped = report.outcomes.last().is_some_and(Result::is_err) && mode == BatchMode::StopAtFirst;
        assert!(stopped || report.outcomes.len() == events.len());
    }

    /// Opens the store on a file system that a kill or a power cut left.
    fn reopen(&mut self, files: MemoryVfs) {
        self.store = None;
        self.files = files;
        self.faulty = FaultyVfs::recording(Arc::new(self.files.clone()));
        let reader = Store::open_read_only("/s", self.options()).unwrap();
        let seen = held(&reader);
        drop(reader);
        let store = Store::open("/s", self.options()).unwrap();
        assert!(store.opening().damage.is_empty(), "{:?}", store.opening());
        assert_eq!(held(&store), seen, "a reader sees what the writer finds");
        self.store = Some(store);
    }

    /// As [`Self::reopen`]; takes over what is held, which must be a beginning of what was offered.
    fn recover(&mut self, files: MemoryVfs, least: usize) {
        self.reopen(files);
        let count = held(self.store()).len();
        assert!((least..=self.model.log.len()).contains(&count), "{count} held, {least} safe");
        self.model = Model::of(self.model.log[..count].to_vec());
    }

    /// One call of the file system fails during an append.
    fn fault(&mut self, pick: u32) {
        let event = self.event(pick);
        let expected = self.model.judge(&event);
        let mut fault = Fault::nth(Calls::Changing, u64::from(pick / 17 % 6) + 1, Failure::NO_SPACE);
        if pick.is_multiple_of(2) {
            fault = fault.after_bytes(u64::from(pick / 19 % 700));
        }
        self.faulty.arm(fault);
        let outcome = self.store().append(&event);
        self.faulty.disarm();
        match &outcome {
            Err(error) if error.kind() == ErrorKind::Io => {
                assert!(!self.store().has(&event.id).unwrap());
            }
            Err(error) if error.kind() == ErrorKind::Poisoned => {
                assert!(!self.store().has(&event.id).unwrap(), "an uncertain event is not shown");
                let least = self.model.log.len();
                if expected == Ok(Appended::Stored) {
                    self.model.push(event);
                }
                self.recover(self.files.fork(), least);
            }
            _ => self.took(&event, &outcome),
        }
    }

    fn step(&mut self, (what, pick): (u8, u32)) {
        match what {
            0..=15 => {
                let event = self.event(pick);
                self.append(&event);
            }
            16..=19 => {
                let event = self.odd(pick);
                self.append(&event);
            }
            20 | 21 => self.batch(pick, BatchMode::Each),
            22 => self.batch(pick, BatchMode::StopAtFirst),
            23 => {
                self.store().sync().unwrap();
                self.model.synced = self.model.log.len();
            }
            24 => {
                self.store().checkpoint().unwrap();
                self.model.synced = self.model.log.len();
            }
            25 => {
                self.store.take().unwrap().close().unwrap();
                self.store = Some(Store::open("/s", self.options()).unwrap());
                assert_eq!((&self.store().opening().torn, self.store().opening().frames_read), (&None, 0));
                self.model.synced = self.model.log.len();
            }
            // A kill keeps what was written.
            26 => self.recover(self.files.fork(), self.model.log.len()),
            // A power cut keeps what was synced.
            27 => self.recover(self.faulty.crash(pick.into()).unwrap(), self.model.synced),
            28 => self.fault(pick),
            _ => {
                self.check(pick);
                let reader = Store::open_read_only("/s", self.options()).unwrap();
                let seen = held(&reader).len();
                assert!((self.model.synced..=self.model.log.len()).contains(&seen));
            }
        }
    }

    /// Compares every answer of the store with the model's.
    fn check(&self, pick: u32) {
        let (store, model) = (self.store(), &self.model);
        let all = sorted(&model.log);
        assert_eq!(held(store), all);
        assert_eq!(ids(store.ordered().unwrap()), in_order(&all));
        assert_eq!(store.stats().unwrap().events, all.len() as u64);
        for kind in ["turn.started", "x.note"] {
            let of_kind: Vec<String> =
                all.iter().filter(|event| &*event.kind == kind).map(|e| name(&e.id)).collect();
            assert_eq!(ids(store.by_type(kind).unwrap()), of_kind);
        }
        let mut cursor = Cursor::default();
        for (host, high) in &model.high {
            let id = model.log[model.at[&(host.clone(), *high)]].id.clone();
            cursor.insert(host.clone(), CursorEntry { seq: Seq::new(*high).unwrap(), id: Some(id) });
        }
        assert_eq!(store.cursor().unwrap(), cursor);
        for n in 0..self.next_id + 2 {
            let id = EventId::new(&format!("e{n}")).unwrap();
            let found = store.get(&id).unwrap().map(|event| (event.arrival(), event.to_event().unwrap()));
            let expected = model.by_id.get(&name(&id)).map(|at| (*at as u64, model.log[*at].clone()));
            assert_eq!(found, expected);
        }
        let host = HostId::new(HOSTS[pick as usize % 3]).unwrap();
        let (from, to) = (u64::from(pick / 3 % 40), u64::from(pick / 120 % 40));
        let range = from.min(to)..from.max(to);
        let within: Vec<Event> = all
            .iter()
            .filter(|event| event.host == host && range.contains(&event.seq.get()))
            .cloned()
            .collect();
        let found: Vec<Event> =
            store.range(&host, range).unwrap().map(|e| e.unwrap().to_event().unwrap()).collect();
        assert_eq!(found, within);
        let Some(at) = (pick as usize).checked_rem(model.log.len()) else { return };
        let event = &model.log[at];
        assert_eq!(ids(store.ancestry(&event.id).unwrap()), model.ancestry(&event.id));
        let mut behind = Cursor::default();
        behind.insert(event.host.clone(), CursorEntry { seq: event.seq, id: Some(event.id.clone()) });
        let is_behind = |other: &&Event| other.host != event.host || other.seq > event.seq;
        let expected: Vec<String> = all.iter().filter(is_behind).map(|e| name(&e.id)).collect();
        let found = ids(store.since(&behind).unwrap());
        if self.durable() {
            assert_eq!(found, expected);
        } else {
            assert!(found.iter().all(|id| expected.contains(id)));
            let synced = &model.log[..model.synced];
            assert!(synced.iter().filter(is_behind).all(|event| found.contains(&name(&event.id))));
        }
    }
}

#[test]
fn a_store_answers_as_its_model() {
    let cases = u32::try_from(env_number("CAUSELOG_MODEL_CASES", 300)).unwrap();
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(level: u8, steps in proptest::collection::vec((0u8..30, any::<u32>()), 1..70))| {
        let mut run = Run::new(level);
        for step in steps {
            run.step(step);
        }
        run.check(level.into());
        run.store.take().unwrap().close().unwrap();
        let store = Store::open_read_only("/s", run.options()).unwrap();
        prop_assert_eq!(held(&store), sorted(&run.model.log));
    });
    println!("{cases} runs");
}
