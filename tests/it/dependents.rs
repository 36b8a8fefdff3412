//! What names an event: beside a plain model, over segments in all forms, for events that come late or are gone.

use causelog::{EventFields, EventId, Options, Store};

use crate::support::{Random, bulky, ids, small, sorted};

#[test]
fn dependents_are_those_of_the_model() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let store = Store::in_memory(small()).unwrap();
        let hosts = ["a", "\u{10000}", "\u{ffff}"];
        // Each event may name earlier ones, and some that are yet to come: by the id that they will have.
        let mut plan: Vec<_> = (0..240).map(|n| bulky(hosts[n % 3], (n / 3) as u64)).collect();
        for n in 0..plan.len() {
            let causes: Vec<EventId> = (0..random.below(4))
                .map(|_| plan[random.below(n + 1)].id.clone())
                .filter(|id| *id != plan[n].id)
                .collect();
            plan[n].causes = causes;
        }
        // Some come late: after those that name them.
        let mut order: Vec<usize> = (0..plan.len()).collect();
        let late: Vec<usize> = order.extract_if(.., |n| *n % 3 == 1 && *n > 120).collect();
        order.extend(late);
        for n in &order {
            store.append(&plan[*n]).unwrap();
        }
        assert!(store.stats().unwrap().segments.len() > 4);
        let all = sorted(&plan);
        for event in plan.iter().chain([&bulky("never", 0)]) {
            let wanted: Vec<String> = all
                .iter()
                .filter(|other| other.causes.contains(&event.id))
                .map(|other| other.id.to_string())
                .collect();
            assert_eq!(ids(store.dependents(&event.id).unwrap()), wanted, "of {:?}", event.id);
        }
    }
}

#[test]
fn dependents_of_what_was_dropped_are_found() {
    let store = Store::in_memory(Options::new().background(false).events_max(80)).unwrap();
    let first = bulky("a", 0);
    store.append(&first).unwrap();
    for seq in 0..500 {
        let mut event = bulky("b", seq);
        event.causes = vec![first.id.clone(); usize::from(seq % 50 == 0)];
        store.append(&event).unwrap();
    }
    assert!(!store.has(&first.id).unwrap());
    let held: Vec<String> = store
        .events()
        .unwrap()
        .map(|event| event.unwrap())
        .filter(|event| event.causes_len() > 0)
        .map(|event| event.id().to_string())
        .collect();
    assert!(!held.is_empty());
    assert_eq!(ids(store.dependents(&first.id).unwrap()), held);
}
