//! What a store answers, before and after it is sealed, closed and opened again.

use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{
    Appended, BatchMode, Code, Cursor, CursorEntry, Durability, Event, EventFields, EventId, HostId,
    JsonText, Options, Seq, Store, UnknownTypes,
};

use crate::support::{event, small};

fn ids(events: impl Into<causelog::Events>) -> Vec<String> {
    events.into().map(|event| event.unwrap().id().to_string()).collect()
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
    assert_eq!(ids(store.since(&Cursor::default()).unwrap()).len(), events.len());
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
    assert_eq!(again.code(), Code::Seq);
}

/// Ids of what `since` gives behind a cursor of one entry, or the code of its refusal.
fn behind(store: &Store, host: &str, seq: u64, id: &str) -> Result<Vec<String>, Code> {
    let entry = CursorEntry { seq: Seq::new(seq).unwrap(), id: Some(EventId::new(id).unwrap()) };
    let mut cursor = Cursor::default();
    cursor.insert(HostId::new(host).unwrap(), entry);
    store.since(&cursor).map(ids).map_err(|error| error.code())
}

#[test]
fn a_capped_store_goes_on_from_cursors_at_events_it_dropped() {
    let store = Store::in_memory(Options::new().events_max(80).durability(Durability::Os)).unwrap();
    for n in 0..5u64 {
        store.append(&event("a", n, &[])).unwrap();
    }
    let early = store.cursor().unwrap();
    for n in 0..500u64 {
        store.append(&event("b", n, &[])).unwrap();
    }
    store.sync().unwrap();
    let held = ids(store.events().unwrap());
    assert!(held.iter().all(|id| id.starts_with("b-")), "{held:?}");
    assert_eq!(ids(store.since(&store.cursor().unwrap()).unwrap()), [""; 0]);
    assert_eq!(ids(store.since(&early).unwrap()), held);
    assert_eq!(behind(&store, "a", 4, "a-4"), Ok(held.clone()));
    assert_eq!(behind(&store, "a", 2, "a-2"), Ok(held.clone()));
    assert_eq!(behind(&store, "b", 3, "b-3"), Ok(held));
    assert_eq!(behind(&store, "b", 498, "b-498"), Ok(vec!["b-499".to_owned()]));
    for (host, seq, id) in
        [("a", 4, "other"), ("a", 5, "a-5"), ("b", 498, "b-3"), ("b", 500, "b-500"), ("c", 0, "c-0")]
    {
        assert_eq!(behind(&store, host, seq, id), Err(Code::Cursor), "{host}#{seq}");
    }
}
