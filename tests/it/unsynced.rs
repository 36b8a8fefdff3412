//! Kills between a change of names and the sync that makes it last, then a power cut after the store went on: what the
//! next process found was only in the kernel's memory.

use std::path::Path;
use std::sync::Arc;

use causelog::vfs::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};
use causelog::{Options, Store};

use crate::support::{bulky, event, small};

const SEEDS: u64 = 40;

fn on(vfs: &FaultyVfs) -> Options {
    small().vfs(Arc::new(vfs.clone()))
}

fn recording() -> FaultyVfs {
    FaultyVfs::recording(Arc::new(MemoryVfs::new()))
}

/// Fails the `nth` sync of a directory and everything after it that syncs one: the process was killed there.
fn kill_at_dir_sync(vfs: &FaultyVfs, nth: u64) {
    vfs.arm(Fault::nth(Calls::Only(Call::SyncDir), nth, Failure::MEDIUM).for_good());
}

fn survives(vfs: &FaultyVfs, seed: u64, path: &str, acked: &[causelog::Event]) {
    let image = vfs.crash(seed).unwrap();
    let store = Store::open(path, small().vfs(Arc::new(image.clone())))
        .unwrap_or_else(|error| panic!("seed {seed}: {error}, of {:?}", image.paths()));
    assert!(store.opening().damage.is_empty(), "seed {seed}: {:?}", store.opening());
    for event in acked {
        assert!(store.has(&event.id).unwrap(), "seed {seed}: {:?} is gone", event.id);
    }
}

#[test]
fn a_store_below_new_directories_survives() {
    for seed in 0..SEEDS {
        let vfs = recording();
        let store = Store::create("/a/b/c/s", on(&vfs)).unwrap();
        let first = event("a", 0, &[]);
        store.append(&first).unwrap();
        survives(&vfs, seed, "/a/b/c/s", &[first]);
    }
}

#[test]
fn a_store_whose_creation_was_killed_survives_what_comes_next() {
    for nth in 1.. {
        let mut killed = false;
        for seed in 0..SEEDS {
            let vfs = recording();
            kill_at_dir_sync(&vfs, nth);
            killed = Store::create("/s", on(&vfs)).is_err();
            vfs.disarm();
            let store = Store::open_or_create("/s", on(&vfs)).unwrap();
            let first = event("a", 0, &[]);
            store.append(&first).unwrap();
            survives(&vfs, seed, "/s", &[first]);
        }
        if !killed {
            assert!(nth > 2, "creating syncs directories");
            return;
        }
    }
}

#[test]
fn a_store_whose_sealing_was_killed_survives_what_comes_next() {
    for nth in 1..=4 {
        for seed in 0..SEEDS {
            let vfs = recording();
            let store = Store::create("/s", on(&vfs)).unwrap();
            kill_at_dir_sync(&vfs, nth);
            let mut acked = Vec::new();
            for seq in 0..80 {
                let next = bulky("a", seq);
                if store.append(&next).is_ok() {
                    acked.push(next);
                }
                if vfs.failed() > 0 {
                    break;
                }
            }
            assert!(vfs.failed() > 0, "it rolled");
            // Killed: nothing closes it, and the system drops its locks.
            std::mem::forget(store);
            vfs.disarm();
            for lock in ["/s/writer.lock", "/s/reader.lock"] {
                vfs.remove(Path::new(lock)).unwrap();
            }
            let store = Store::open("/s", on(&vfs)).unwrap();
            let next = event("b", 0, &[]);
            store.append(&next).unwrap();
            acked.push(next);
            survives(&vfs, seed, "/s", &acked);
        }
    }
}
