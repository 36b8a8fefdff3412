//! What a power cut leaves, at each call.

use std::sync::Arc;

use super::fixture::{Fixture, address, data_key, paths, record, shredded, unwrapped};
use crate::blob::keys::{Access, End, Keys, SlotState};
use crate::io::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};

const SEEDS: u64 = 24;

fn images(faulty: &FaultyVfs) -> impl Iterator<Item = (u64, Fixture)> {
    (0..SEEDS).map(|seed| {
        let image: Arc<dyn Vfs> = Arc::new(faulty.crash(seed).unwrap());
        (seed, Fixture::on(image))
    })
}

/// Runs `act` on keys that were made before, with power gone at its n-th call, and hands over each image that is left and
/// whether `act` succeeded; until no call fails.
fn cut_at_each_call(act: impl Fn(&Fixture) -> bool, check: impl Fn(&Fixture, bool, &str)) {
    for nth in 1.. {
        let memory = Arc::new(MemoryVfs::new());
        Fixture::on(memory.clone()).create().unwrap();
        let faulty = FaultyVfs::recording(memory);
        let fixture = Fixture::on(Arc::new(faulty.clone()));
        faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
        let done = act(&fixture);
        for (seed, after) in images(&faulty) {
            check(&after, done, &format!("call {nth}, seed {seed}"));
        }
        if faulty.failed() == 0 {
            assert!(done && nth > 1);
            return;
        }
    }
}

#[test]
fn creating_is_taken_up_again() {
    for nth in 1.. {
        let faulty = FaultyVfs::recording(Arc::new(MemoryVfs::new()));
        let fixture = Fixture::on(Arc::new(faulty.clone()));
        faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
        let created = fixture.create();
        for (seed, after) in images(&faulty) {
            let complete = Keys::exists(&after.vfs, &paths()).unwrap();
            assert!(complete || created.is_err(), "call {nth}, seed {seed}");
            if complete {
                assert!(after.try_open(Access::Read).is_ok(), "call {nth}, seed {seed}");
            }
            after.create().unwrap();
            let keys = after.open();
            let slot = keys.allocate(record(1), 1, &data_key(1)).unwrap();
            assert_eq!(unwrapped(&after.reader(), slot, 1), Some(1), "call {nth}, seed {seed}");
            keys.verify(&mut Err).unwrap();
            assert_eq!(after.ledger().shredded(), 0);
        }
        if created.is_ok() {
            assert!(nth > 10, "only {nth} calls");
            break;
        }
    }
}

#[test]
fn a_subject_that_was_made_is_there() {
    cut_at_each_call(
        |fixture| {
            let Ok(keys) = fixture.try_open(Access::Write) else { return false };
            keys.subject_or_create(Some("Ada")).is_ok()
        },
        |after, done, place| {
            let keys = after.open();
            let found = keys.subject(Some("Ada")).unwrap();
            assert!(found == Some(2) || !done, "{place}");
            assert_eq!(keys.subject_or_create(Some("Bea")).unwrap(), found.map_or(2, |_| 3), "{place}");
            keys.verify(&mut Err).unwrap();
        },
    );
}

#[test]
fn keys_that_were_synced_are_there_and_keys_that_ended_are_not() {
    cut_at_each_call(
        |fixture| {
            let Ok(keys) = fixture.try_open(Access::Write) else { return false };
            let act = || {
                for n in 0..9 {
                    keys.allocate(record(n), 1, &data_key(n))?;
                }
                keys.sync()?;
                keys.end(4, record(4), End::Shredded)?;
                keys.sync()
            };
            act().is_ok()
        },
        |after, done, place| {
            let keys = after.open();
            keys.verify(&mut Err).unwrap();
            for n in 0..9u8 {
                let state = keys.state(n.into(), record(n)).unwrap();
                if done {
                    assert_eq!(state == SlotState::Shredded, n == 4, "{place}");
                    assert_eq!(unwrapped(&keys, n.into(), n), (n != 4).then_some(n), "{place}");
                } else {
                    assert!([None, Some(n)].contains(&unwrapped(&keys, n.into(), n)), "{place}");
                }
            }
            let next = keys.allocate(record(99), 1, &data_key(99)).unwrap();
            assert_eq!(unwrapped(&keys, next, 99), Some(99), "{place}");
        },
    );
}

/// A crash may take a wrap, but none that is left is out of reach of its record's end.
#[test]
fn no_wrap_is_left_behind() {
    cut_at_each_call(
        |fixture| {
            let Ok(keys) = fixture.try_open(Access::Write) else { return false };
            let act = || {
                let ada = keys.subject_or_create(Some("Ada"))?;
                for n in 0..5 {
                    keys.allocate(record(n), 1, &data_key(n))?;
                }
                for n in 0..5u8 {
                    keys.add_wrap(n.into(), record(n), ada, &data_key(n))?;
                }
                keys.sync()
            };
            act().is_ok()
        },
        |after, done, place| {
            let keys = after.open();
            for n in 0..5u8 {
                assert!(!done || keys.is_held_by(n.into(), record(n), 2).unwrap(), "{place}");
                keys.end(n.into(), record(n), End::Shredded).unwrap();
            }
            let file = after.read(&paths().slots());
            let live = file[4096..].chunks(128).filter(|slot| slot[40..80] != [0; 40]).count();
            assert_eq!(live, 0, "{place}");
        },
    );
}

#[test]
fn an_erasure_that_was_answered_is_there_and_whole() {
    cut_at_each_call(
        |fixture| {
            let act = || {
                let ledger = fixture.try_ledger(Access::Write)?;
                ledger.append(&[shredded(0)])?;
                ledger.append(&(1..15).map(shredded).collect::<Vec<_>>())?;
                ledger.append(&[shredded(15)])
            };
            act().is_ok()
        },
        |after, done, place| {
            let ledger = after.ledger();
            let there: Vec<u8> = (0..16).filter(|n| ledger.is_shredded(&address(*n))).collect();
            assert!([0, 1, 15, 16].contains(&there.len()), "{place}: {there:?}");
            assert!(there.iter().zip(0..).all(|(n, expected)| *n == expected), "{place}: {there:?}");
            assert!(!done || there.len() == 16, "{place}");
            ledger.append(&[shredded(77)]).unwrap();
            assert!(after.ledger().is_shredded(&address(77)), "{place}");
        },
    );
}

/// What a killed process wrote is synced before it is relied on.
#[test]
fn a_killed_process_leaves_nothing_unsynced() {
    let memory = Arc::new(MemoryVfs::new());
    Fixture::on(memory.clone()).create().unwrap();
    let faulty = FaultyVfs::recording(memory);
    let fixture = Fixture::on(Arc::new(faulty.clone()));
    fixture.open().allocate(record(1), 1, &data_key(1)).unwrap();
    fixture.open().end(0, record(1), End::Shredded).unwrap();
    let keys = fixture.open();
    keys.end(0, record(1), End::Shredded).unwrap();
    keys.sync().unwrap();
    for (seed, after) in images(&faulty) {
        assert_eq!(after.open().state(0, record(1)).unwrap(), SlotState::Shredded, "seed {seed}");
    }
}
