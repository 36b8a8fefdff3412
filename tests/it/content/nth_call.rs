//! Each call to the file system failing once, and for good: a clear error, and nothing half done.

use std::sync::Arc;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs};
use causelog::{BlobState, ErrorKind, Options, PutOptions, Store, verify};

use super::{AT, blake3_of, content, files, sha256_of};
use crate::support::{event, small};

fn options(vfs: &FaultyVfs) -> Options {
    small().pack_bytes_max(64 << 10).vfs(Arc::new(vfs.clone()))
}

/// The blobs that stores of this file begin with: enough to fill a pack.
fn base() -> (MemoryVfs, Vec<Vec<u8>>) {
    let vfs = MemoryVfs::new();
    let store = Store::create(AT, small().pack_bytes_max(64 << 10).vfs(Arc::new(vfs.clone()))).unwrap();
    let held: Vec<_> = (0..6).map(|seed| content(seed, 10_000)).collect();
    for bytes in &held {
        store.blobs().put(bytes).unwrap();
    }
    store.close().unwrap();
    (vfs, held)
}

/// How calls fail, by the number of the call.
type Failing = Box<dyn Fn(u64) -> Fault>;

fn failures() -> Vec<(&'static str, Failing)> {
    vec![
        ("once", Box::new(|nth| Fault::nth(Calls::Any, nth, Failure::MEDIUM))),
        ("for good", Box::new(|nth| Fault::nth(Calls::Any, nth, Failure::MEDIUM).for_good())),
        ("no space", Box::new(|nth| Fault::nth(Calls::Changing, nth, Failure::NO_SPACE).after_bytes(100))),
    ]
}

/// Runs `work` with each call failing in turn; `after` looks at what is left, on a healthy file system.
fn every_call(
    name: &str,
    work: impl Fn(&Store) -> causelog::Result<()>,
    after: impl Fn(&Store, &causelog::Result<()>, &str),
) {
    let (base, held) = base();
    let mut met = 0;
    for (how, fault) in failures() {
        for nth in 1.. {
            let what = format!("{name}, {how}, call {nth}");
            let vfs = base.fork();
            let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
            let store = Store::open(AT, options(&faulty)).unwrap();
            faulty.arm(fault(nth));
            let done = work(&store);
            let failed = faulty.failed() > 0;
            faulty.disarm();
            if let Err(error) = &done {
                assert!(failed, "{what}: {error:?}");
                assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Poisoned), "{what}: {error:?}");
            }
            // The same handle goes on, or says that it does not.
            match store.blobs().put(&content(500, 10_000)) {
                Ok(address) => {
                    assert_eq!(store.blobs().get(&address).unwrap().unwrap(), content(500, 10_000), "{what}")
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Poisoned, "{what}: {error:?}"),
            }
            for bytes in held.iter().skip(1) {
                assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes), "{what}");
            }
            let _ = store.close();
            let store = Store::open(AT, options(&faulty)).unwrap();
            assert!(
                store.opening().content_damage.is_empty(),
                "{what}: {:?}",
                store.opening().content_damage
            );
            for bytes in held.iter().skip(1) {
                assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes), "{what}");
            }
            after(&store, &done, &what);
            store.close().unwrap();
            let report = verify(AT, &options(&faulty), &()).unwrap();
            assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
            assert!(files(&vfs, "blobs").iter().all(|name| !name.ends_with(".part")), "{what}");
            if !failed {
                break;
            }
            met += 1;
        }
    }
    assert!(met > 10, "{name}: only {met} calls failed");
}

#[test]
fn of_a_put() {
    let bytes = content(100, 20_000);
    every_call(
        "put",
        |store| store.blobs().put(&bytes).map(drop),
        |store, done, what| {
            let held = store.blobs().get(&blake3_of(&bytes)).unwrap();
            assert!(held.is_none() || held.as_ref() == Some(&bytes), "{what}");
            assert!(done.is_err() || held.is_some(), "{what}");
            store.blobs().put(&bytes).unwrap();
            assert_eq!(store.blobs().get(&blake3_of(&bytes)).unwrap().as_ref(), Some(&bytes), "{what}");
        },
    );
}

#[test]
fn of_a_put_that_fills_a_pack_and_of_the_event_that_names_it() {
    let all: Vec<_> = (100..104).map(|seed| content(seed, 9000)).collect();
    every_call(
        "puts and an event",
        |store| {
            for bytes in &all {
                store.blobs().put(bytes)?;
            }
            store.append(&event("a", 1, &[])).map(drop)
        },
        |store, done, what| {
            for bytes in &all {
                let held = store.blobs().get(&blake3_of(bytes)).unwrap();
                assert!(done.is_err() || held.as_ref() == Some(bytes), "{what}");
            }
        },
    );
}

#[test]
fn of_a_stream() {
    let bytes = content(100, (4 << 20) + 70_000);
    every_call(
        "stream",
        |store| store.blobs().put_reader(&*bytes, &PutOptions::new().subject("p")).map(drop),
        |store, done, what| {
            let held = store.blobs().get(&blake3_of(&bytes)).unwrap();
            assert!(held.is_none() || held.as_ref() == Some(&bytes), "{what}");
            assert!(done.is_err() || held.is_some(), "{what}");
        },
    );
}

#[test]
fn of_a_further_address_and_subject() {
    let (_, held) = base();
    let further = PutOptions::new().subject("p").address(causelog::AddressKind::Sha256);
    every_call(
        "alias",
        |store| store.blobs().put_with(&held[1], &further).map(drop),
        |store, done, what| {
            let found = store.blobs().get(&sha256_of(&held[1])).unwrap();
            assert!(done.is_err() || found.as_ref() == Some(&held[1]), "{what}");
        },
    );
}

#[test]
fn of_a_shred() {
    let (_, held) = base();
    let address = blake3_of(&held[0]);
    every_call(
        "shred",
        |store| store.blobs().shred(&address).map(drop),
        |store, done, what| {
            let state = store.blobs().state(&address).unwrap();
            match done {
                Ok(()) => assert_eq!(state, BlobState::Shredded, "{what}"),
                Err(error) if error.message().contains("pending") => {
                    assert_eq!(state, BlobState::Shredded, "{what}");
                }
                Err(_) => assert!(matches!(state, BlobState::Shredded | BlobState::Resident), "{what}"),
            }
            store.blobs().shred(&address).unwrap();
            assert_eq!(store.blobs().get(&address).unwrap(), None, "{what}");
        },
    );
}

#[test]
fn of_an_eviction_and_a_close() {
    let (_, held) = base();
    let address = blake3_of(&held[0]);
    every_call(
        "evict",
        |store| {
            store.blobs().evict(&address)?;
            store.blobs().sync()
        },
        |store, done, what| {
            let state = store.blobs().state(&address).unwrap();
            assert!(matches!(state, BlobState::Evicted | BlobState::Resident), "{what}");
            assert!(done.is_err() || state == BlobState::Evicted, "{what}");
        },
    );
}

#[test]
fn opening_and_creating() {
    let (base, held) = base();
    for (how, fault) in failures() {
        for nth in 1.. {
            let what = format!("open, {how}, call {nth}");
            let faulty = FaultyVfs::new(Arc::new(base.fork()));
            faulty.arm(fault(nth));
            let opened = Store::open(AT, options(&faulty));
            let failed = faulty.failed() > 0;
            faulty.disarm();
            if let Ok(store) = &opened {
                assert!(
                    store.opening().content_damage.is_empty(),
                    "{what}: {:?}",
                    store.opening().content_damage
                );
            }
            drop(opened);
            let store = Store::open(AT, options(&faulty)).unwrap();
            for bytes in &held {
                assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes), "{what}");
            }
            if !failed {
                break;
            }
        }
        for nth in 1.. {
            let what = format!("create, {how}, call {nth}");
            let faulty = FaultyVfs::new(Arc::new(MemoryVfs::new()));
            faulty.arm(fault(nth));
            let created = Store::create(AT, options(&faulty));
            let failed = faulty.failed() > 0;
            faulty.disarm();
            drop(created);
            let store = Store::open_or_create(AT, options(&faulty))
                .unwrap_or_else(|error| panic!("{what}: {error:?}"));
            let address = store.blobs().put(b"it works").unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert_eq!(store.blobs().get(&address).unwrap().unwrap(), b"it works");
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_loses_nothing_and_shredding_still_works() {
    let (base, held) = base();
    for free in [0, 64, 200, 5000, 12_000, 30_000, 100_000] {
        let what = format!("{free} bytes free");
        let vfs = base.fork();
        let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
        let store = Store::open(AT, options(&faulty)).unwrap();
        faulty.limit_space(Some(free));
        let mut acked = Vec::new();
        for seed in 100..120 {
            for size in [20_000, (4 << 20) + 1] {
                let bytes = content(seed, size);
                match store.blobs().put(&bytes) {
                    Ok(_) => acked.push(bytes),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{what}: {error:?}"),
                }
            }
        }
        assert!(store.blobs().shred(&blake3_of(&held[0])).unwrap(), "{what}");
        assert_eq!(store.blobs().get(&blake3_of(&held[0])).unwrap(), None);
        faulty.limit_space(None);
        acked.extend(held.iter().skip(1).cloned());
        let after = content(999, 9000);
        store.blobs().put(&after).unwrap();
        acked.push(after);
        store.close().unwrap();
        let store = Store::open(AT, options(&faulty)).unwrap();
        for bytes in &acked {
            assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes), "{what}");
        }
        drop(store);
        let report = verify(AT, &options(&faulty), &()).unwrap();
        assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
        assert!(files(&vfs, "blobs").iter().all(|name| !name.ends_with(".part")), "{what}");
    }
}
