//! The stored order: derived, never believed, made anew where it is not of its log.

use std::path::PathBuf;
use std::sync::Arc;

use causelog::vfs::{FaultyVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{Event, Options, Store};
use proptest::prelude::*;

use super::history::{draws, history};
use crate::support::{ids, in_order, overwrite, read, small, sorted};

fn on(vfs: &MemoryVfs) -> Options {
    small().vfs(Arc::new(vfs.clone()))
}

fn node_files(vfs: &MemoryVfs) -> Vec<PathBuf> {
    vfs.paths().into_iter().filter(|path| path.starts_with("/s/order")).collect()
}

/// Fills a store, closes it, and returns what it holds.
fn filled(vfs: &MemoryVfs, draws: &[super::history::Draw]) -> Vec<Event> {
    let store = Store::create("/s", on(vfs)).unwrap();
    let events = history(draws);
    let held = events.into_iter().filter(|event| store.append(event).is_ok()).collect();
    store.close().unwrap();
    held
}

fn some() -> Vec<super::history::Draw> {
    (0..120u16).map(|n| ((n % 5) as u8, (n % 9) as u8, vec![(n * 7, (n % 11) as u8)])).collect()
}

#[test]
fn without_its_files_the_order_is_made_anew_and_says_so() {
    let vfs = MemoryVfs::new();
    let held = filled(&vfs, &some());
    let order = in_order(&sorted(&held));
    assert_eq!(Store::open("/s", on(&vfs)).unwrap().opening().order_rebuilt, None);
    for path in node_files(&vfs) {
        vfs.remove(&path).unwrap();
    }
    // A reading process makes its own and writes nothing.
    let reader = Store::open_read_only("/s", on(&vfs)).unwrap();
    assert_eq!(ids(reader.ordered().unwrap()), order);
    assert!(node_files(&vfs).is_empty());
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert!(store.opening().order_rebuilt.is_some());
    assert_eq!(ids(store.ordered().unwrap()), order);
    store.close().unwrap();
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert_eq!(store.opening().order_rebuilt, None);
    assert_eq!(ids(store.ordered().unwrap()), order);
}

#[test]
fn the_files_of_another_state_of_the_store_are_not_used() {
    let vfs = MemoryVfs::new();
    let held = filled(&vfs, &some());
    let early: Vec<(PathBuf, Vec<u8>)> =
        node_files(&vfs).into_iter().map(|path| (path.clone(), read(&vfs, &path))).collect();
    let store = Store::open("/s", on(&vfs)).unwrap();
    let more = crate::support::event("zz", 1, &[&held[3]]);
    store.append(&more).unwrap();
    store.close().unwrap();
    let mut all = held.clone();
    all.push(more);
    // An older root is of the same log, and is followed up to its end.
    for path in node_files(&vfs) {
        vfs.remove(&path).unwrap();
    }
    for (path, bytes) in early {
        vfs.open(&path, OpenMode::Create).unwrap().write_at(&bytes, 0).unwrap();
    }
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert_eq!(store.opening().order_rebuilt, None);
    assert_eq!(ids(store.ordered().unwrap()), in_order(&sorted(&all)));
    store.close().unwrap();
    // Those of another store with as many events are not.
    let other = MemoryVfs::new();
    filled(&other, &some());
    for path in node_files(&vfs) {
        vfs.remove(&path).unwrap();
    }
    for path in node_files(&other) {
        vfs.open(&path, OpenMode::Create).unwrap().write_at(&read(&other, &path), 0).unwrap();
    }
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert!(store.opening().order_rebuilt.is_some());
    assert_eq!(ids(store.ordered().unwrap()), in_order(&sorted(&all)));
}

#[test]
fn a_flipped_bit_gives_an_error_or_the_right_order() {
    let vfs = MemoryVfs::new();
    let held = filled(&vfs, &some());
    let order = in_order(&sorted(&held));
    let paths = node_files(&vfs);
    let (mut errors, mut rebuilt) = (0, 0);
    for path in &paths {
        let bytes = read(&vfs, path);
        let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        for at in used.into_iter().step_by(37) {
            let image = MemoryVfs::new();
            for path in vfs.paths() {
                image.create_dir_all(path.parent().unwrap()).unwrap();
                image.open(&path, OpenMode::Create).unwrap().write_at(&read(&vfs, &path), 0).unwrap();
            }
            overwrite(&image, path, at, &[bytes[at] ^ 4]);
            let reader = Store::open_read_only("/s", on(&image)).unwrap();
            let read: Result<Vec<String>, _> = reader.ordered().and_then(|events| {
                events.map(|event| event.map(|event| causelog::EventFields::id(&event).to_string())).collect()
            });
            match read {
                Ok(read) => assert_eq!(read, order, "byte {at}"),
                Err(error) => {
                    errors += 1;
                    assert_eq!(error.kind(), causelog::ErrorKind::Corrupt, "{error}");
                    let report = causelog::verify("/s", &on(&image), &()).unwrap();
                    assert_eq!(report.outcome(), causelog::VerifyOutcome::Damaged);
                    assert!(error.place().path.is_some(), "{error}");
                    causelog::reindex("/s", &on(&image), &()).unwrap();
                    let store = Store::open("/s", on(&image)).unwrap();
                    assert_eq!(ids(store.ordered().unwrap()), order, "byte {at}, made anew");
                }
            }
            if let Ok(store) = Store::open("/s", on(&image)) {
                rebuilt += u32::from(store.opening().order_rebuilt.is_some());
                if let Ok(events) = store.ordered()
                    && let Ok(read) = events.collect::<Result<Vec<_>, _>>()
                {
                    let read: Vec<String> =
                        read.iter().map(|event| causelog::EventFields::id(event).to_string()).collect();
                    assert_eq!(read, order, "byte {at}, for writing");
                }
            }
        }
    }
    assert!(errors > 0 || rebuilt > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::env_number("CAUSELOG_MODEL_CASES", 40) as u32))]

    #[test]
    fn after_a_power_cut_the_order_is_that_of_what_is_left(
        draws in draws(4, 1..60), stops in prop::collection::vec(0usize..60, 0..5), cut in 0usize..60, seed: u64,
    ) {
        let vfs = FaultyVfs::recording(Arc::new(MemoryVfs::new()));
        let options = || small().order_cache_bytes(0).vfs(Arc::new(vfs.clone()));
        let store = Store::create("/s", options()).unwrap();
        let mut acked = Vec::new();
        for (number, event) in history(&draws).iter().enumerate() {
            if number == cut {
                break;
            }
            if store.append(event).is_ok() {
                acked.push(event.clone());
            }
            if stops.contains(&number) {
                store.checkpoint().unwrap();
            }
        }
        let image = vfs.crash(seed).unwrap();
        drop(store);
        let after = || small().vfs(Arc::new(image.clone()));
        let reader = Store::open_read_only("/s", after()).unwrap();
        prop_assert_eq!(ids(reader.ordered().unwrap()), in_order(&sorted(&acked)));
        drop(reader);
        let store = Store::open("/s", after()).unwrap();
        prop_assert_eq!(ids(store.ordered().unwrap()), in_order(&sorted(&acked)));
        store.close().unwrap();
        let report = causelog::verify("/s", &after(), &()).unwrap();
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}
