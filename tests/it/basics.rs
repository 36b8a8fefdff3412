//! What a store answers, before and after it is sealed, closed and opened again.

use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{
    Appended, BatchMode, Code, Durability, Event, EventFields, JsonText, Options, Store, UnknownTypes,
};

use crate::support::{event, small};

fn ids(events: causelog::Events) -> Vec<String> {
    events.map(|event| event.unwrap().id().to_string()).collect()
}

fn check(store: &Store, events: &[Event]) {
    let mut sorted: Vec<&Event> = events.iter().collect();
    sorted.sort_by(|a, b| (&a.host, a.seq).cmp(&(&b.host, b.seq)));
    let sorted: Vec<String> = sorted.into_iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids(store.events().unwrap()), sorted);
    assert_eq!(ids(store.by_type("turn.started").unwrap()), sorted);
    for event in events {
        let held = store.get(&event.id).unwrap().unwrap();
        assert_eq!(held.to_event().unwrap(), *event);
    }
    let ordered = ids(store.ordered().unwrap());
    let plain: Vec<String> =
        causelog::order::linearize(events).unwrap().into_iter().map(|at| events[at].id.to_string()).collect();
    assert_eq!(ordered, plain);
    assert_eq!(store.stats().unwrap().events, events.len() as u64);
}

fn fill(store: &Store, events: &mut Vec<Event>, count: u64) {
    for _ in 0..count {
        let n = events.len() as u64;
        let host = ["ext", "gateway", "phone"][usize::try_from(n % 3).unwrap()];
        let causes: Vec<&Event> =
            events.iter().rev().step_by(2).take(usize::try_from(n % 3).unwrap()).collect();
        let event = event(host, n, &causes);
        assert_eq!(store.append(&event).unwrap(), Appended::Stored);
        events.push(event);
    }
}

#[test]
fn events_survive_sealing_and_reopening() {
    let vfs = Arc::new(MemoryVfs::new());
    let options = || small().vfs(vfs.clone());
    let mut events = Vec::new();
    for round in 0..4u64 {
        let store = Store::open_or_create("/s", options()).unwrap();
        assert_eq!(store.opening().torn, None);
        assert!(store.opening().damage.is_empty(), "{:?}", store.opening().damage);
        assert_eq!(store.opening().frames_read, 0, "a clean reopen reads no event frame");
        fill(&store, &mut events, 150 + round * 200);
        check(&store, &events);
        for event in &events {
            assert_eq!(store.append(event).unwrap(), Appended::Duplicate);
        }
        let reader = Store::open_read_only("/s", options()).unwrap();
        check(&reader, &events);
        store.close().unwrap();
    }
    let store = Store::open("/s", options()).unwrap();
    check(&store, &events);
    assert!(store.stats().unwrap().segments.len() > 3, "{:?}", store.stats().unwrap().segments);
    assert_eq!(ids(store.since(&causelog::Cursor::default()).unwrap()).len(), events.len());
    assert_eq!(ids(store.since(&store.cursor().unwrap()).unwrap()).len(), 0);
}

#[test]
fn what_is_held_is_a_duplicate_whatever_is_known_of_its_type() {
    let vfs = Arc::new(MemoryVfs::new());
    let options = || small().vfs(vfs.clone());
    let opened = |payload: &str| Event {
        kind: "app.opened".into(),
        payload: JsonText::parse(payload).unwrap(),
        ..event("gateway", 1, &[])
    };
    let store = Store::create("/s", options().unknown_types(UnknownTypes::Accept)).unwrap();
    assert_eq!(store.append(&opened("{}")).unwrap(), Appended::Stored);
    store.close().unwrap();
    let store = Store::open("/s", options()).unwrap();
    assert_eq!(store.append(&opened("{}")).unwrap(), Appended::Duplicate);
    assert_eq!(store.append(&opened("[]")).unwrap_err().code(), Code::Type);
    let batch = store.append_batch(&[opened("{}"), opened("[]")], BatchMode::Each).unwrap();
    assert_eq!((batch.duplicates(), batch.refused().count()), (1, 1));
}

#[test]
fn a_store_in_memory_stays_within_its_cap() {
    let store = Store::in_memory(Options::new().events_max(80).durability(Durability::Os)).unwrap();
    for n in 0..1000u64 {
        store.append(&event("gateway", n, &[])).unwrap();
        let held = store.stats().unwrap().events;
        assert!(held <= 80 && held >= (n + 1).min(60), "{held} at {n}");
    }
    let held = ids(store.events().unwrap());
    assert_eq!(held.last().unwrap(), "gateway-999");
    let again = store.append(&event("gateway", 3, &[])).unwrap_err();
    assert_eq!(again.code(), causelog::Code::Seq);
}

#[test]
fn threads_share_syncs() {
    use causelog::vfs::CountingVfs;
    let vfs = Arc::new(CountingVfs::new(Arc::new(MemoryVfs::new())));
    let store = Store::create("/s", Options::new().vfs(vfs.clone())).unwrap();
    std::thread::scope(|scope| {
        for host in ["a", "b", "c", "d"] {
            let store = &store;
            scope.spawn(move || {
                for n in 0..100 {
                    store.append(&event(host, n, &[])).unwrap();
                }
            });
        }
    });
    assert_eq!(store.stats().unwrap().events, 400);
    let batch: Vec<Event> = (0..100).map(|n| event("e", n, &[])).collect();
    assert_eq!(store.append_batch(&batch, BatchMode::Each).unwrap().stored(), 100);
}
