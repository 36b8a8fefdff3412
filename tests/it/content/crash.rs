//! What a power cut leaves: nothing that an acknowledged event names is lost, and nothing that was shredded comes back.

use std::sync::Arc;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{BlobState, Options, Store, verify};

use super::{AT, blake3_of, content};
use crate::support::{env_number, event, small};

fn recording(base: &MemoryVfs) -> FaultyVfs {
    let faulty = FaultyVfs::recording(Arc::new(base.clone()));
    // What was there before is durable; it has to have been seen for that.
    base.paths().iter().for_each(|path| drop(faulty.open(path, OpenMode::Read).unwrap()));
    faulty
}

fn options(vfs: Arc<dyn Vfs>) -> Options {
    small().pack_bytes_max(64 << 10).vfs(vfs)
}

/// Opens what a power cut left and checks what was promised of each blob.
fn check(image: &MemoryVfs, acked: &[Vec<u8>], maybe: &[Vec<u8>], shredded: &[Vec<u8>], what: &str) {
    for round in 0..2 {
        let store = Store::open(AT, options(Arc::new(image.clone()))).unwrap();
        let opening = store.opening();
        assert!(opening.content_damage.is_empty(), "{what}: {:?}", opening.content_damage);
        assert!(round == 0 || opening.torn_content.is_none(), "{what}: cut twice");
        let blobs = store.blobs();
        for bytes in acked {
            let held = blobs.get(&blake3_of(bytes)).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert_eq!(held.as_ref(), Some(bytes), "{what}: acknowledged content is gone");
        }
        for bytes in shredded {
            assert_eq!(blobs.get(&blake3_of(bytes)).unwrap(), None, "{what}: shredded content is back");
            assert_eq!(blobs.state(&blake3_of(bytes)).unwrap(), BlobState::Shredded, "{what}");
        }
        for bytes in maybe {
            let held = blobs.get(&blake3_of(bytes)).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert!(held.is_none() || held.as_ref() == Some(bytes), "{what}");
        }
        store.close().unwrap();
        let report = verify(AT, &options(Arc::new(image.clone())), &()).unwrap();
        assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
    }
    // Putting it again is as good as new, whatever was left.
    let store = Store::open(AT, options(Arc::new(image.clone()))).unwrap();
    for bytes in maybe {
        store.blobs().put(bytes).unwrap();
        assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes), "{what}");
    }
}

#[test]
fn an_acknowledged_event_never_names_content_that_a_power_cut_removed() {
    for seed in 0..env_number("CAUSELOG_CRASH_SEEDS", 60) {
        let base = MemoryVfs::new();
        drop(Store::create(AT, options(Arc::new(base.clone()))).unwrap());
        let faulty = recording(&base);
        let store = Store::open(AT, options(Arc::new(faulty.clone()))).unwrap();
        let (mut acked, mut maybe) = (Vec::new(), Vec::new());
        for n in 0..(seed % 7 + 1) {
            let size = [0, 100, 5000, 40_000, 70_000][(seed + n) as usize % 5];
            let bytes = content(seed * 100 + n, size);
            store.blobs().put(&bytes).unwrap();
            maybe.push(bytes);
            if (seed + n) % 3 != 0 {
                store.append(&event("a", n + 1, &[])).unwrap();
                acked.append(&mut maybe);
            }
        }
        // Handles stay open, as at a power cut.
        for cut in 0..4 {
            let image = faulty.crash(seed * 10 + cut).unwrap();
            check(&image, &acked, &maybe, &[], &format!("seed {seed}, cut {cut}"));
        }
    }
}

#[test]
fn large_content_is_whole_or_not_there() {
    let base = MemoryVfs::new();
    drop(Store::create(AT, options(Arc::new(base.clone()))).unwrap());
    let faulty = recording(&base);
    let store = Store::open(AT, options(Arc::new(faulty.clone()))).unwrap();
    let (first, second) = (content(1, (4 << 20) + 1), content(2, (4 << 20) + 70_000));
    store.blobs().put(&first).unwrap();
    store.append(&event("a", 1, &[])).unwrap();
    store.blobs().put(&second).unwrap();
    for cut in 0..20 {
        let image = faulty.crash(cut).unwrap();
        check(
            &image,
            std::slice::from_ref(&first),
            std::slice::from_ref(&second),
            &[],
            &format!("cut {cut}"),
        );
    }
}

#[test]
fn what_was_shredded_does_not_come_back_whenever_the_power_goes() {
    for seed in 0..env_number("CAUSELOG_CRASH_SEEDS", 60) {
        let base = MemoryVfs::new();
        let store = Store::create(AT, options(Arc::new(base.clone()))).unwrap();
        let all: Vec<_> = (0..6).map(|n| content(seed * 100 + n, 3000)).collect();
        for bytes in &all {
            store.blobs().put(bytes).unwrap();
        }
        store.close().unwrap();
        // Cut at each call of the shred that changes something.
        for nth in 1..8 {
            let base = base.fork();
            let faulty = recording(&base);
            let store = Store::open(AT, options(Arc::new(faulty.clone()))).unwrap();
            assert!(store.blobs().shred(&blake3_of(&all[0])).unwrap());
            faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
            let second = store.blobs().shred(&blake3_of(&all[1]));
            let image = faulty.crash(seed * 10 + nth).unwrap();
            let what = format!("seed {seed}, call {nth}");
            let mut shredded = vec![all[0].clone()];
            let mut maybe = Vec::new();
            match second {
                Ok(done) => {
                    assert!(done);
                    shredded.push(all[1].clone());
                }
                Err(_) => maybe.push(all[1].clone()),
            }
            check(&image, &all[2..], &maybe, &shredded, &what);
        }
    }
}

#[test]
fn a_shred_that_was_cut_short_is_finished_when_the_store_is_opened() {
    let base = MemoryVfs::new();
    let store = Store::create(AT, options(Arc::new(base.clone()))).unwrap();
    let bytes = content(1, 3000);
    let address = store.blobs().put(&bytes).unwrap();
    store.close().unwrap();
    let mut pending = 0;
    for nth in 1..10 {
        let base = base.fork();
        let faulty = FaultyVfs::new(Arc::new(base.clone()));
        let store = Store::open(AT, options(Arc::new(faulty.clone()))).unwrap();
        faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
        let Err(error) = store.blobs().shred(&address) else { break };
        let is_pending = error.message().contains("pending");
        // Pending: nobody reads it from here on.
        assert_eq!(store.blobs().state(&address).unwrap() == BlobState::Shredded, is_pending, "{error:?}");
        faulty.disarm();
        std::mem::forget(store);
        let image = base.fork();
        let store = Store::open(AT, options(Arc::new(image))).unwrap();
        let state = store.blobs().state(&address).unwrap();
        if is_pending {
            pending += 1;
            assert_eq!(state, BlobState::Shredded, "call {nth}");
        }
        assert_eq!(store.blobs().get(&address).unwrap().is_some(), state == BlobState::Resident);
    }
    assert!(pending > 0, "no call fell between the tombstone and the answer");
}
