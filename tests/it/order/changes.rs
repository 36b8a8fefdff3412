//! What changes in the order, and how consumers hear of it.

use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{Code, Event, EventFields, Options, OrderPoint, OrderStep, OrderSubscription, Store};
use proptest::prelude::*;

use super::history::{draws, history};
use crate::support::{in_order, small, sorted};

/// Applies all steps that are there.
fn apply(subscription: &mut OrderSubscription, state: &mut Vec<String>) {
    while let Some(step) = subscription.try_next().unwrap() {
        match step {
            OrderStep::Event { position, event } => {
                assert_eq!(position, state.len() as u64);
                state.push(event.id().to_string());
            }
            OrderStep::Reordered { from } => {
                assert!(from < state.len() as u64);
                state.truncate(usize::try_from(from).unwrap());
            }
        }
    }
    assert_eq!(subscription.point().position, state.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::env_number("CAUSELOG_MODEL_CASES", 32) as u32))]

    #[test]
    fn a_consumer_that_applies_what_moved_ends_as_a_fresh_replay_does(
        draws in draws(4, 1..60),
        moments in prop::collection::vec((0usize..60, 0u8..4), 0..20),
    ) {
        let vfs = MemoryVfs::new();
        let options = || small().order_cache_bytes(0).vfs(Arc::new(vfs.clone()));
        let mut store = Store::create("/s", options()).unwrap();
        let (mut held, mut state): (Vec<Event>, Vec<String>) = Default::default();
        let mut subscription = store.subscribe_ordered(None).unwrap();
        for (number, event) in history(&draws).iter().enumerate() {
            if store.append(event).is_ok() {
                held.push(event.clone());
            }
            for (_, how) in moments.iter().filter(|(at, _)| *at == number) {
                match how {
                    0 => {
                        // Some of it, as a slow consumer takes it.
                        if let Some(OrderStep::Event { event, .. }) = subscription.try_next().unwrap() {
                            state.push(event.id().to_string());
                        } else {
                            state.truncate(usize::try_from(subscription.point().position).unwrap());
                        }
                    }
                    1 => {
                        apply(&mut subscription, &mut state);
                        prop_assert_eq!(&state, &in_order(&sorted(&held)));
                    }
                    2 => {
                        let point = serde_json::to_string(&subscription.point()).unwrap();
                        drop(subscription);
                        store.close().unwrap();
                        store = Store::open("/s", options()).unwrap();
                        let point: OrderPoint = serde_json::from_str(&point).unwrap();
                        subscription = store.subscribe_ordered(point).unwrap();
                    }
                    _ => {
                        let reader = Store::open_read_only("/s", options()).unwrap();
                        let mut other = reader.subscribe_ordered(subscription.point()).unwrap();
                        let mut copy = state.clone();
                        apply(&mut other, &mut copy);
                        prop_assert_eq!(&copy, &in_order(&sorted(&held)));
                    }
                }
            }
        }
        apply(&mut subscription, &mut state);
        prop_assert_eq!(&state, &in_order(&sorted(&held)));
    }

    #[test]
    fn what_is_said_to_have_changed_is_all_that_changed(draws in draws(4, 2..50), marks in 1usize..12) {
        let store = Store::in_memory(Options::new()).unwrap();
        let (mut held, mut kept) = (Vec::new(), Vec::new());
        for (number, event) in history(&draws).iter().enumerate() {
            if number % marks == 0 {
                kept.push((store.snapshot().unwrap().order_mark().unwrap(), in_order(&sorted(&held))));
            }
            if store.append(event).is_ok() {
                held.push(event.clone());
            }
        }
        let (snapshot, now) = (store.snapshot().unwrap(), in_order(&sorted(&held)));
        for (mark, then) in kept {
            let same = then.iter().zip(&now).take_while(|(a, b)| a == b).count();
            match snapshot.order_changed_since(&mark).unwrap() {
                None => prop_assert_eq!(same, then.len()),
                // Behind the end of what was there then, nothing of it changed.
                Some(from) => prop_assert!(from <= same as u64 || same == then.len()),
            }
        }
    }
}

#[test]
fn a_mark_of_another_history_is_refused() {
    let (one, two) = (Store::in_memory(Options::new()).unwrap(), Store::in_memory(Options::new()).unwrap());
    let mark = one.snapshot().unwrap().order_mark().unwrap();
    let error = two.snapshot().unwrap().order_changed_since(&mark).unwrap_err();
    assert_eq!(error.code(), Code::Cursor);
    let before = one.snapshot().unwrap();
    one.append(&crate::support::event("h", 1, &[])).unwrap();
    let ahead = one.snapshot().unwrap().order_mark().unwrap();
    assert_eq!(before.order_changed_since(&ahead).unwrap_err().code(), Code::Cursor);
    assert_eq!(before.order_changed_since(&mark).unwrap(), None);
}

#[test]
fn a_subscription_waits_is_woken_and_ends_with_the_store() {
    let store = Store::in_memory(Options::new()).unwrap();
    let mut subscription = store.subscribe_ordered(None).unwrap();
    let reader = std::thread::spawn(move || {
        let mut steps = 0;
        while subscription.recv().unwrap().is_some() {
            steps += 1;
        }
        (steps, subscription.is_closed())
    });
    for seq in 1..=20 {
        store.append(&crate::support::event("h", seq, &[])).unwrap();
    }
    store.close().unwrap();
    assert_eq!(reader.join().unwrap(), (20, true));
}
