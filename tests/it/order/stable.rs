//! How much of the order is settled: tried by everything that could unsettle it.

use std::collections::BTreeMap;

use causelog::{Event, EventId, HostId, HostPromise, Options, StableReason, Store};
use proptest::prelude::*;

use crate::support::{ids, in_order, named, sorted};

const HOSTS: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Step {
    /// An event of a host, so far above its last `seq`, that names earlier events and perhaps an id that is not held.
    Append {
        host: usize,
        gap: u64,
        causes: Vec<u16>,
        missing: Option<u8>,
    },
    /// The event that others wait for.
    Arrive {
        host: usize,
        id: u8,
    },
    Declare {
        host: usize,
        chained: bool,
        closed: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let host = 0..HOSTS.len();
    let step = prop_oneof![
        10 => (host.clone(), prop_oneof![6 => Just(0u64), 1 => 1u64..3], prop::collection::vec(any::<u16>(), 0..3), prop::option::weighted(0.1, 0u8..4))
            .prop_map(|(host, gap, causes, missing)| Step::Append { host, gap, causes, missing }),
        1 => (host.clone(), 0u8..4).prop_map(|(host, id)| Step::Arrive { host, id }),
        2 => (host, any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(host, chained, closed)| Step::Declare { host, chained, closed }),
    ];
    prop::collection::vec(step, 1..60)
}

fn missing_id(id: u8) -> EventId {
    EventId::new(&format!("missing{id}")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::env_number("CAUSELOG_MODEL_CASES", 64) as u32))]

    #[test]
    fn nothing_that_is_let_in_unsettles_what_was_settled(steps in steps(), declared_first: bool) {
        let store = Store::in_memory(Options::new()).unwrap();
        let mut held: Vec<Event> = Vec::new();
        let mut newest: BTreeMap<usize, (u64, EventId)> = BTreeMap::new();
        let mut settled: Vec<String> = Vec::new();
        if declared_first {
            for host in HOSTS {
                store.declare_host(&HostId::new(host).unwrap(), HostPromise::default()).unwrap();
            }
        }
        for (number, step) in steps.iter().enumerate() {
            let mut offer = |host: usize, gap: u64, id: EventId, mut causes: Vec<EventId>, chain: bool| {
                let before = newest.get(&host).cloned();
                if chain {
                    causes.extend(before.iter().map(|(_, id)| id.clone()));
                }
                let event = named(id.clone(), HOSTS[host], before.map_or(1, |(seq, _)| seq + 1) + gap, causes);
                if store.append(&event) .is_ok_and(|appended| appended == causelog::Appended::Stored) {
                    newest.insert(host, (event.seq.get(), id));
                    held.push(event);
                }
            };
            match step {
                Step::Append { host, gap, causes, missing } => {
                    let id = EventId::new(&format!("e{number}")).unwrap();
                    let known: Vec<EventId> = (0..number).map(|n| EventId::new(&format!("e{n}")).unwrap()).collect();
                    let mut causes: Vec<EventId> =
                        causes.iter().filter_map(|at| known.get(usize::from(*at) % known.len().max(1)).cloned()).collect();
                    causes.retain(|cause| store.has(cause).unwrap());
                    causes.extend(missing.map(missing_id));
                    // Without naming the last one and with it: a chained host takes the second alone.
                    offer(*host, *gap, id.clone(), causes.clone(), false);
                    offer(*host, *gap, id, causes, true);
                }
                Step::Arrive { host, id } => {
                    offer(*host, 0, missing_id(*id), Vec::new(), false);
                    offer(*host, 0, missing_id(*id), Vec::new(), true);
                }
                Step::Declare { host, chained, closed } => {
                    let promise = HostPromise { chained: *chained, closed: *closed };
                    store.declare_host(&HostId::new(HOSTS[*host]).unwrap(), promise).unwrap();
                    // A further host, or one that is opened again, can come before what was settled.
                    settled.clear();
                }
            }
            let order = in_order(&sorted(&held));
            let snapshot = store.snapshot().unwrap();
            prop_assert_eq!(&ids(snapshot.ordered().unwrap()), &order);
            prop_assert_eq!(order.get(..settled.len()), Some(&settled[..]));
            let stable = snapshot.stable().unwrap();
            let len = usize::try_from(stable.len).unwrap();
            prop_assert!(!stable.reason.to_string().is_empty());
            // A new gap can bring the number down; what was settled stays so.
            if len > settled.len() {
                settled = order[..len].to_vec();
            }
        }
    }
}

fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

#[test]
fn reasons_are_told_and_all_is_settled_in_the_end() {
    let store = Store::in_memory(Options::new()).unwrap();
    let stable = || store.snapshot().unwrap().stable().unwrap();
    let append = |id: &str, host: &str, seq: u64, causes: &[&str]| {
        let causes = causes.iter().map(|cause| EventId::new(cause).unwrap()).collect();
        store.append(&named(EventId::new(id).unwrap(), host, seq, causes)).unwrap();
    };
    append("p1", "phone", 1, &[]);
    append("s1", "server", 1, &["p1"]);
    assert_eq!((stable().len, stable().reason), (0, StableReason::NothingDeclared));
    store.declare_host(&host("phone"), HostPromise::default()).unwrap();
    assert_eq!(stable().reason, StableReason::Undeclared { host: "server".to_owned() });
    assert_eq!(stable().len, 0);
    store.declare_host(&host("server"), HostPromise { chained: true, closed: false }).unwrap();
    // The phone's next event can come right behind its first.
    assert_eq!(stable().len, 1);
    assert!(stable().reason.to_string().contains("phone"), "{}", stable().reason);
    append("p92", "phone", 92, &["p1"]);
    store.declare_host(&host("phone"), HostPromise { chained: false, closed: true }).unwrap();
    assert_eq!(stable().reason.to_string(), "host phone has an unexplained gap at seq 2");
    assert_eq!(stable().len, 1);
    append("s2", "server", 2, &["s1", "nobody"]);
    store.declare_host(&host("server"), HostPromise { chained: true, closed: true }).unwrap();
    let closed = store.append(&named(EventId::new("s3").unwrap(), "server", 3, Vec::new())).unwrap_err();
    assert!(closed.to_string().contains("closed"), "{closed}");
    let stranger = store.append(&named(EventId::new("x").unwrap(), "desk", 1, Vec::new())).unwrap_err();
    assert!(stranger.to_string().contains("declare"), "{stranger}");

    let store = Store::in_memory(Options::new()).unwrap();
    for seq in 1..=5 {
        for name in ["a", "b"] {
            store.append(&crate::support::event(name, seq, &[])).unwrap();
        }
    }
    for name in ["a", "b"] {
        store.declare_host(&host(name), HostPromise { chained: false, closed: true }).unwrap();
    }
    let stable = store.snapshot().unwrap().stable().unwrap();
    assert_eq!((stable.len, stable.events, stable.reason), (10, 10, StableReason::Settled));
    assert_eq!(store.snapshot().unwrap().stable_len().unwrap(), 10);
    // Declarations are part of the log: a missing cause keeps what rests on it from being settled.
    store.declare_host(&host("b"), HostPromise::default()).unwrap();
    store.append(&named(EventId::new("late").unwrap(), "b", 6, vec![EventId::new("gone").unwrap()])).unwrap();
    store.declare_host(&host("b"), HostPromise { chained: false, closed: true }).unwrap();
    let stable = store.snapshot().unwrap().stable().unwrap();
    assert_eq!(stable.len, 10);
    assert!(matches!(stable.reason, StableReason::Missing { .. }), "{}", stable.reason);
}
