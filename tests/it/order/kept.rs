//! Positions, pages and questions on causes, after every append.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{Code, Event, EventFields, EventId, Options, Snapshot, Store};
use proptest::prelude::*;

use super::history::{draws, history};
use crate::support::{ids, in_order, named, small, sorted};

/// What the events alone say.
struct Model {
    order: Vec<String>,
    causes: BTreeMap<String, BTreeSet<String>>,
    names: BTreeMap<String, Vec<String>>,
}

impl Model {
    fn of(events: &[Event]) -> Self {
        let events = sorted(events);
        let order = in_order(&events);
        let mut causes = BTreeMap::new();
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for event in &events {
            let own = event.id.as_ref().to_string();
            let set: BTreeSet<String> = event.causes.iter().map(|cause| cause.as_ref().to_string()).collect();
            for cause in &set {
                names.entry(cause.clone()).or_default().push(own.clone());
            }
            causes.insert(own, set);
        }
        Self { order, causes, names }
    }

    fn rests_on(&self, event: &str, goal: &str) -> bool {
        let mut open: Vec<&str> = vec![event];
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            for cause in self.causes.get(next).into_iter().flatten() {
                if cause == goal {
                    return true;
                }
                if self.causes.contains_key(cause) && seen.insert(cause.as_str()) {
                    open.push(cause);
                }
            }
        }
        false
    }
}

fn id(text: &str) -> EventId {
    EventId::new(text).unwrap()
}

fn check(snapshot: &Snapshot, events: &[Event]) {
    let model = Model::of(events);
    let order = &model.order;
    assert_eq!(&ids(snapshot.ordered().unwrap()), order);
    let mut backwards = ids(snapshot.ordered().unwrap().rev());
    backwards.reverse();
    assert_eq!(&backwards, order);
    for (position, event) in order.iter().enumerate() {
        assert_eq!(snapshot.position_of(&id(event)).unwrap(), Some(position as u64));
    }
    for from in [0, order.len() / 3, order.len(), order.len() + 4] {
        let rest = order.get(from..).unwrap_or_default();
        assert_eq!(ids(snapshot.ordered_from(from as u64).unwrap()), rest);
        if let Some(first) = rest.first() {
            assert_eq!(ids(snapshot.ordered_from(id(first)).unwrap()), rest);
        }
        let to = order.len().min(from + 5);
        let between = order.get(from..to).unwrap_or_default();
        assert_eq!(ids(snapshot.ordered_between(from as u64..to as u64).unwrap()), between);
    }
    // Both ends at once meet and leave nothing out.
    let mut both = snapshot.ordered().unwrap();
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while let Some(event) = both.next() {
        front.push(event.unwrap().id().to_string());
        back.extend(both.next_back().map(|event| event.unwrap().id().to_string()));
    }
    back.reverse();
    front.extend(back);
    assert_eq!(&front, order);

    let heads: BTreeSet<String> =
        order.iter().filter(|event| !model.names.contains_key(*event)).cloned().collect();
    assert_eq!(ids(snapshot.heads().unwrap()).into_iter().collect::<BTreeSet<_>>(), heads);
    assert_eq!(snapshot.heads_len().unwrap(), heads.len() as u64);
    let nobody: Vec<String> = (0..5).map(|n| format!("nobody{n}")).collect();
    for event in order.iter().chain(&nobody) {
        let named_by = model.names.get(event).cloned().unwrap_or_default();
        assert_eq!(ids(snapshot.dependents(&id(event)).unwrap()), named_by, "dependents of {event}");
    }
    for (at, later) in order.iter().enumerate() {
        for earlier in order.iter().skip(at % 3).step_by(3) {
            let precedes = snapshot.precedes(&id(earlier), &id(later)).unwrap();
            assert_eq!(precedes, model.rests_on(later, earlier), "{earlier} before {later}");
        }
    }
    assert!(!snapshot.precedes(&id("nobody0"), &id("e0")).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::env_number("CAUSELOG_MODEL_CASES", 24) as u32))]

    #[test]
    fn everything_asked_of_the_order_is_as_the_events_say(
        draws in draws(5, 1..40),
        cache in prop::sample::select(vec![0usize, 1 << 12, 64 << 20]),
        breaks in prop::collection::vec((0usize..40, 0u8..4), 0..6),
    ) {
        let vfs = MemoryVfs::new();
        let options = || small().order_cache_bytes(cache).vfs(Arc::new(vfs.clone()));
        let mut store = Store::create("/s", options()).unwrap();
        let mut held: Vec<Event> = Vec::new();
        let mut pages: Vec<(Snapshot, Vec<String>)> = Vec::new();
        for (number, event) in history(&draws).iter().enumerate() {
            let mut with = held.clone();
            with.push(event.clone());
            match store.append(event) {
                Ok(_) => held = with,
                Err(error) => {
                    prop_assert_eq!(error.code(), Code::Cycle, "{}", error);
                    prop_assert!(causelog::order::linearize(&with).is_err());
                }
            }
            for (_, how) in breaks.iter().filter(|(at, _)| *at == number) {
                match how {
                    0 => store.checkpoint().unwrap(),
                    1 => {
                        store.close().unwrap();
                        store = Store::open("/s", options()).unwrap();
                        prop_assert_eq!(&store.opening().order_rebuilt, &None);
                    }
                    2 => pages.push((store.snapshot().unwrap(), in_order(&sorted(&held)))),
                    _ => {
                        let reader = Store::open_read_only("/s", options()).unwrap();
                        check(&reader.snapshot().unwrap(), &held);
                    }
                }
            }
        }
        check(&store.snapshot().unwrap(), &held);
        for (snapshot, order) in pages {
            prop_assert_eq!(ids(snapshot.ordered().unwrap()), order);
        }
        store.close().unwrap();
        let report = causelog::verify("/s", &options(), &()).unwrap();
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
        prop_assert_eq!(report.ordered, Some(held.len() as u64));
    }
}

#[test]
fn pages_of_a_snapshot_neither_skip_nor_repeat() {
    let store = Store::in_memory(Options::new()).unwrap();
    let mut held = Vec::new();
    for seq in 1..200 {
        let event = named(id(&format!("m{seq}")), "m", seq, Vec::new());
        store.append(&event).unwrap();
        held.push(event);
    }
    let snapshot = store.snapshot().unwrap();
    let (mut listed, mut from) = (Vec::new(), 0);
    while listed.len() < held.len() {
        let page = ids(snapshot.ordered_between(from..from + 7).unwrap());
        from += page.len() as u64;
        listed.extend(page);
        // It lands before everything.
        let early = named(id(&format!("a{from}")), "a", from, Vec::new());
        store.append(&early).unwrap();
    }
    assert_eq!(listed, in_order(&held));
    assert!(store.ordered().unwrap().next().unwrap().unwrap().host() == "a");
    let missing = store.snapshot().unwrap().ordered_from(id("nobody")).unwrap_err();
    assert_eq!(missing.kind(), causelog::ErrorKind::NotFound);
}
