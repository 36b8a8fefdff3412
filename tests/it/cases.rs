//! What people met in other stores, and what is right here.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use causelog::vfs::{CountingVfs, MemoryVfs};
use causelog::{
    Appended, BatchMode, Code, Cursor, Durability, ErrorKind, Event, EventFields, EventId, HostId, IdRef,
    JsonText, NewEvent, Seq, Store, VerifyOutcome, verify,
};

use crate::support::{Random, bulky, event, hashes, held, holds_exactly, ids, in_order, named, small};

fn id(text: &str) -> EventId {
    EventId::new(text).unwrap()
}

fn store_on(vfs: &MemoryVfs) -> Store {
    Store::open_or_create("/s", small().vfs(Arc::new(vfs.clone()))).unwrap()
}

fn with_payload(host: &str, seq: u64, payload: &str) -> Event {
    Event { payload: JsonText::parse(payload).unwrap(), ..event(host, seq, &[]) }
}

/// An event that panics when it was asked so many questions.
struct Bomb(Event, Cell<u32>);

impl Bomb {
    fn tick(&self) {
        self.1.set(self.1.get().checked_sub(1).expect("the bomb goes off"));
    }
}

impl EventFields for Bomb {
    fn v(&self) -> u32 {
        self.tick();
        self.0.v
    }
    fn id(&self) -> IdRef<'_> {
        self.tick();
        self.0.id.as_ref()
    }
    fn host(&self) -> &str {
        self.tick();
        self.0.host.as_str()
    }
    fn seq(&self) -> Seq {
        self.tick();
        self.0.seq
    }
    fn at(&self) -> f64 {
        self.0.at
    }
    fn kind(&self) -> &str {
        self.tick();
        &self.0.kind
    }
    fn payload(&self) -> &str {
        self.tick();
        self.0.payload.as_str()
    }
    fn extra(&self) -> Option<&str> {
        None
    }
    fn causes_len(&self) -> usize {
        self.tick();
        0
    }
    fn cause(&self, _: usize) -> Option<IdRef<'_>> {
        None
    }
}

#[test]
fn c007_after_a_panic_in_an_append_nothing_is_confirmed() {
    let mut poisoned = 0;
    for questions in 0.. {
        let vfs = MemoryVfs::new();
        let store = store_on(&vfs);
        let events: Vec<Event> = (0..5).map(|seq| event("a", seq, &[])).collect();
        events.iter().for_each(|event| drop(store.append(event).unwrap()));
        let bomb = Bomb(event("b", 0, &[]), Cell::new(questions));
        if catch_unwind(AssertUnwindSafe(|| store.append(&bomb))).is_ok() {
            assert!(poisoned > 3, "it also went off where the store changes");
            return;
        }
        // Before the event is taken in, nothing can be half changed.
        let later = store.append(&event("c", 0, &[]));
        let log = || {
            let files = hashes(&vfs).into_iter();
            files.filter(|(path, _)| !path.ends_with("index.redb")).collect::<Vec<_>>()
        };
        let before = log();
        let harmless = later.is_ok();
        if !harmless {
            poisoned += 1;
            assert_eq!(later.unwrap_err().kind(), ErrorKind::Poisoned);
            assert_eq!(store.sync().unwrap_err().kind(), ErrorKind::Poisoned);
            assert_eq!(store.checkpoint().unwrap_err().kind(), ErrorKind::Poisoned);
            holds_exactly(&store, &events);
        }
        drop(store);
        if !harmless {
            assert_eq!(log(), before, "no mark of a clean end");
            let store = store_on(&vfs);
            assert!(store.opening().frames_read > 0, "recovered as after a crash");
            holds_exactly(&store, &events);
        }
    }
}

#[test]
fn c015_a_missing_cause_hides_nothing() {
    let vfs = MemoryVfs::new();
    let mut events: Vec<Event> = Vec::new();
    for seq in 0..100 {
        let before: Vec<&Event> = events.iter().rev().take(1).collect();
        let mut next = event(if seq % 2 == 0 { "a" } else { "b" }, seq, &before);
        if seq == 59 {
            next.causes.push(id("missing-0"));
        }
        events.push(next);
    }
    let store = store_on(&vfs);
    assert_eq!(store.append_batch(&events, BatchMode::Each).unwrap().stored(), 100);
    holds_exactly(&store, &events);
    let report = verify("/s", store.options(), &()).unwrap();
    assert_eq!((report.outcome(), report.missing_causes_total), (VerifyOutcome::Fine, 1));
    assert_eq!(report.missing_causes[0].id, "missing-0");
    assert_eq!(report.missing_causes[0].named_by, ["b-59"]);
    drop(store);
    let store = store_on(&vfs);
    events.push(event("missing", 0, &[]));
    store.append(&events[100]).unwrap();
    holds_exactly(&store, &events);
    // It can no longer come after what it caused.
    let cycle = named(id("z"), "z", 0, vec![events[59].id.clone()]);
    store.append(&cycle).unwrap();
    events.push(cycle);
    holds_exactly(&store, &events);
}

#[test]
fn c017_a_parent_that_is_long_out_of_memory_is_found() {
    let vfs = MemoryVfs::new();
    let options = || small().segment_bytes_max(2 << 20).durability(Durability::Os).vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let parent = event("parent", 0, &[]);
    store.append(&parent).unwrap();
    let others: Vec<Event> = (0..70_000).map(|seq| event("others", seq, &[])).collect();
    for batch in others.chunks(5000) {
        store.append_batch(batch, BatchMode::Each).unwrap().into_result().unwrap();
    }
    let children = [event("a", 0, &[&parent]), event("a", 1, &[&parent])];
    store.append(&children[0]).unwrap();
    store.close().unwrap();
    let store = Store::open("/s", options()).unwrap();
    store.append(&children[1]).unwrap();
    assert_eq!(ids(store.ancestry(&children[0].id).unwrap()), ["a-0", "parent-0"]);
    assert_eq!(ids(store.ancestry(&children[1].id).unwrap()), ["a-1", "parent-0"]);
    let all: Vec<Event> = others.into_iter().chain(children).chain([parent]).collect();
    assert_eq!(ids(store.ordered().unwrap()), in_order(&crate::support::sorted(&all)));
}

#[test]
fn c019_c065_at_orders_nothing() {
    let times = [0.0, -1.0, 1e15, 0.25, 8.64e15, -1e300, 1.7e12, f64::MIN_POSITIVE];
    let mut random = Random(19);
    let hosts = ["a", "b", "c", "d"];
    let mut first: Option<(Vec<String>, Cursor)> = None;
    for round in 0..20usize {
        let store = Store::in_memory(small().durability(Durability::Os)).unwrap();
        let mut next = [0u64; 4];
        while next.iter().sum::<u64>() < 800 {
            let host = random.below(4);
            if next[host] == 200 {
                continue;
            }
            let seq = next[host];
            // The cause may come later.
            let cause = id(&format!("{}-{}", hosts[(host + 1) % 4], seq / 2));
            let causes = if seq % 3 == 1 { vec![cause] } else { Vec::new() };
            let at = if round == 0 { 0.0 } else { times[random.below(times.len())] };
            let event = named(id(&format!("{}-{seq}", hosts[host])), hosts[host], seq, causes).with_at(at);
            store.append(&event).unwrap();
            next[host] += 1;
        }
        let found = (ids(store.ordered().unwrap()), store.cursor().unwrap());
        assert_eq!(first.get_or_insert_with(|| found.clone()), &found);
    }
    let store = Store::in_memory(small()).unwrap();
    for at in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = store.append(&event("a", 0, &[]).with_at(at)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}

#[test]
fn c021_a_cursor_of_another_history_is_refused() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let mut older = None;
    for seq in 0..=90 {
        store.append(&event("a", seq, &[])).unwrap();
        if seq == 70 {
            older = Some(vfs.fork());
        }
    }
    let cursor = store.cursor().unwrap();
    assert_eq!(store.since(&cursor).unwrap().count(), 0);
    let store = store_on(&older.unwrap());
    let ahead = store.since(&cursor).unwrap_err();
    assert_eq!((ahead.kind(), ahead.code()), (ErrorKind::Invalid, Code::Cursor));
    for seq in 71..=120 {
        store.append(&named(id(&format!("other-{seq}")), "a", seq, Vec::new())).unwrap();
    }
    let error = store.since(&cursor).unwrap_err();
    assert_eq!(error.code(), Code::Cursor);
    assert!(error.message().contains("not from this history"), "{error}");
    let text = serde_json::to_string(&cursor).unwrap();
    let read: Cursor = serde_json::from_str(&text).unwrap();
    assert_eq!(store.since(&read).unwrap_err().code(), Code::Cursor);
}

#[test]
fn c023_the_same_event_is_a_duplicate_by_every_way_in() {
    let vfs = MemoryVfs::new();
    let mut store = store_on(&vfs);
    let once = with_payload("a", 0, r#"{"turnId":"t","a":1,"b":[1,2]}"#);
    let spelt = with_payload("a", 0, r#" { "b" : [1, 2], "a":1.0, "turnId":"t" } "#);
    store.append(&once).unwrap();
    for round in 0..3 {
        for event in [&once, &spelt] {
            assert_eq!(store.append(event).unwrap(), Appended::Duplicate);
            for mode in [BatchMode::Each, BatchMode::StopAtFirst] {
                let report = store.append_batch(&[event.clone(), event.clone()], mode).unwrap();
                assert_eq!((report.stored(), report.duplicates()), (0, 2));
            }
        }
        let new = event("b", round, &[]);
        let report = store.append_batch(&[new.clone(), new.clone(), once.clone()], BatchMode::Each).unwrap();
        assert_eq!((report.stored(), report.duplicates()), (1, 2));
        let other = Event { payload: JsonText::parse(r#"{"turnId":"u"}"#).unwrap(), ..once.clone() };
        let error = store.append(&other).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Equivocation, Code::Id));
        let error = store.append(&named(id("thief"), "a", 0, Vec::new())).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Equivocation, Code::Seq));
        assert!(error.message().contains("a-0") && error.message().contains("thief"), "{error}");
        // Again once it is sealed, and once the store is opened again.
        for seq in 0..25 {
            store.append(&bulky("filler", round * 25 + seq)).unwrap();
        }
        if round == 1 {
            drop(store);
            store = store_on(&vfs);
        }
    }
    let mut appender = store.appender(HostId::new("a").unwrap()).unwrap();
    assert_eq!(appender.next_seq().unwrap().get(), 1);
    let own = appender.append(NewEvent::new("turn.started", once.payload.clone())).unwrap();
    assert_eq!(store.append(&own).unwrap(), Appended::Duplicate);
    assert_eq!(held(&store).iter().filter(|event| event.host.as_str() == "a").count(), 2);
}

#[test]
fn c027_reading_never_writes() {
    let vfs = MemoryVfs::new();
    let mut store = store_on(&vfs);
    let mut events: Vec<Event> = Vec::new();
    for seq in 0..60 {
        let before: Vec<&Event> = events.iter().rev().take(2).collect();
        let causes = before.iter().map(|event| event.id.clone()).collect();
        events.push(Event { causes, ..bulky("a", seq) });
        store.append(&events[events.len() - 1]).unwrap();
    }
    for closed in [false, true] {
        let copy = if closed {
            store.close().unwrap();
            store = store_on(&MemoryVfs::new());
            vfs.fork()
        } else {
            vfs.fork()
        };
        let before = hashes(&copy);
        let counting = Arc::new(CountingVfs::new(Arc::new(copy.clone())));
        let options = || small().vfs(counting.clone());
        for _ in 0..20 {
            let reader = Store::open_read_only("/s", options()).unwrap();
            holds_exactly(&reader, &events);
            reader.cursor().unwrap();
            reader.range(&HostId::new("a").unwrap(), 3..20).unwrap().for_each(drop);
            reader.by_type("turn.started").unwrap().for_each(drop);
            reader.ancestry(&events[59].id).unwrap().for_each(drop);
            verify("/s", &options(), &()).unwrap();
            for write in [reader.sync(), reader.checkpoint(), reader.append(&events[0]).map(drop)] {
                assert_eq!(write.unwrap_err().kind(), ErrorKind::ReadOnly);
            }
            reader.close().unwrap();
        }
        assert_eq!(hashes(&copy), before);
        let counters = counting.counters();
        assert_eq!((counters.writes, counters.resizes, counters.name_changes, counters.syncs), (0, 0, 0, 0));
    }
    // Opening for writing and closing adds nothing to the log each time.
    let store = store_on(&vfs);
    drop(store);
    let log = |vfs: &MemoryVfs| {
        hashes(vfs).into_iter().filter(|(path, _)| path.starts_with("/s/log")).collect::<Vec<_>>()
    };
    let before = log(&vfs);
    for _ in 0..10 {
        store_on(&vfs).close().unwrap();
    }
    assert_eq!(log(&vfs), before);
    let store = store_on(&vfs);
    let own = store
        .appender(HostId::new("a").unwrap())
        .unwrap()
        .append(NewEvent::new("turn.started", events[0].payload.clone()))
        .unwrap();
    assert_eq!(own.seq.get(), 60);
}

#[test]
fn c033_numbers_come_out_as_they_came_in() {
    let vfs = MemoryVfs::new();
    let numbers = [
        "9007199254740993",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "0.1234567890123456789",
        "-0",
        "1E2",
        "100",
        "1.0",
    ];
    let mut stored = Vec::new();
    {
        let store = store_on(&vfs);
        for (seq, number) in numbers.iter().enumerate() {
            let text = format!(r#"{{"turnId":"t","n":{number}}}"#);
            let Ok(payload) = JsonText::parse(&text) else { continue };
            let event = Event { payload, ..event("a", seq as u64, &[]) };
            match store.append(&event) {
                Ok(_) => {
                    assert_eq!(event.payload.as_str(), text);
                    stored.push(event);
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{number}: {error:?}"),
            }
        }
        assert!(stored.len() >= 6, "{} of {}", stored.len(), numbers.len());
        let huge = JsonText::parse(r#"{"turnId":"t","n":1e400}"#);
        assert!(
            huge.is_err() || store.append(&Event { payload: huge.unwrap(), ..event("b", 0, &[]) }).is_err()
        );
    }
    holds_exactly(&store_on(&vfs), &stored);
    assert!(Seq::new((1 << 53) - 1).is_ok());
    for seq in [1 << 53, u64::MAX] {
        assert!(Seq::new(seq).is_err());
    }
}

#[test]
fn c067_handles_outlive_the_store_in_every_order() {
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for order in 0..120usize {
            let vfs = MemoryVfs::new();
            let options = small().background(order % 2 == 0).vfs(Arc::new(vfs.clone()));
            let store = Store::create("/s", options.clone()).unwrap();
            for seq in 0..30 {
                store.append(&bulky("a", seq)).unwrap();
            }
            let snapshot = store.snapshot().unwrap();
            let mut events = store.ordered().unwrap();
            let first = events.next().unwrap().unwrap();
            let appender = store.appender(HostId::new("b").unwrap()).unwrap();
            let mut handles: Vec<Box<dyn std::any::Any>> = vec![
                Box::new(store),
                Box::new(snapshot.clone()),
                Box::new(events),
                Box::new(appender),
                Box::new(first.clone()),
            ];
            // The order's digits say which handle goes next.
            let mut digits = order;
            while !handles.is_empty() {
                let next = digits % handles.len();
                digits /= handles.len();
                drop(handles.remove(next));
                assert_eq!(snapshot.events().map(Result::unwrap).count(), 30);
                assert_eq!(first.to_event().unwrap(), bulky("a", 0));
            }
            // The last handle that could write gave the lock back, and closed the store.
            let store = Store::open("/s", options).unwrap();
            assert_eq!(store.opening().frames_read, 0);
        }
        done.send(()).unwrap();
    });
    assert!(finished.recv_timeout(Duration::from_secs(120)).is_ok(), "a drop hangs, or panicked");
}
