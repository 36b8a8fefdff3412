//! The budget: refusing, or dropping the oldest.

use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{BlobState, BudgetPolicy, ErrorKind, Options, PutOptions, Store};

use super::{AT, blake3_of, content, files, options_on};

const BLOB: usize = 10_000;

fn capped(vfs: &MemoryVfs, blobs: u64, policy: BudgetPolicy) -> Options {
    options_on(vfs).content_budget(blobs * (BLOB as u64 + 400), policy)
}

#[test]
fn a_full_budget_refuses_and_takes_more_once_there_is_room() {
    let vfs = MemoryVfs::new();
    let store = Store::create(AT, capped(&vfs, 3, BudgetPolicy::Refuse)).unwrap();
    let blobs = store.blobs();
    let all: Vec<_> = (0..4).map(|seed| content(seed, BLOB)).collect();
    for bytes in &all[..3] {
        blobs.put(bytes).unwrap();
    }
    assert_eq!(blobs.put(&all[3]).unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(blobs.put(&all[0]).unwrap(), blake3_of(&all[0]), "what is held takes no room");
    let large = content(9, 5 << 20);
    assert_eq!(blobs.put(&large).unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(blobs.put_reader(&*large, &PutOptions::new()).unwrap_err().kind(), ErrorKind::Full);
    assert!(files(&vfs, "blobs").iter().all(|name| !name.ends_with(".part")));
    blobs.evict(&blake3_of(&all[1])).unwrap();
    blobs.put(&all[3]).unwrap();
    drop((blobs, store));
    let store = Store::open(AT, capped(&vfs, 3, BudgetPolicy::Refuse)).unwrap();
    assert_eq!(store.blobs().put(&all[1]).unwrap_err().kind(), ErrorKind::Full);
}

#[test]
fn the_oldest_goes_first_and_what_is_pinned_stays() {
    let vfs = MemoryVfs::new();
    let store = Store::create(AT, capped(&vfs, 20, BudgetPolicy::DropOldest)).unwrap();
    let blobs = store.blobs();
    let all: Vec<_> = (0..100).map(|seed| content(seed, BLOB)).collect();
    for (n, bytes) in all.iter().enumerate() {
        let address = blobs.put(bytes).unwrap();
        if n == 5 {
            assert!(blobs.pin(&address).unwrap());
        }
        assert!(blobs.stats().unwrap().resident <= 20);
    }
    let states: Vec<_> = all.iter().map(|bytes| blobs.state(&blake3_of(bytes)).unwrap()).collect();
    assert_eq!(states[5], BlobState::Resident);
    let resident: Vec<_> = (0..100).filter(|n| states[*n] == BlobState::Resident).collect();
    assert_eq!(resident, [vec![5], (81..100).collect()].concat());
    assert!(states.iter().all(|state| matches!(state, BlobState::Resident | BlobState::Evicted)));
    // Packs that died as a whole gave their space back; the one with the pin did not.
    assert!(files(&vfs, "blobs").iter().filter(|name| name.ends_with(".gone")).count() > 5);
    assert!(blobs.stats().unwrap().pack_bytes < 5 * (64 << 10), "{:?}", blobs.stats());
    // A pin that is lifted counts at the next chance.
    blobs.unpin(&blake3_of(&all[5])).unwrap();
    for seed in 200..222 {
        blobs.put(&content(seed, BLOB)).unwrap();
    }
    assert_eq!(blobs.state(&blake3_of(&all[5])).unwrap(), BlobState::Evicted);
    drop((blobs, store));
    let store = Store::open(AT, options_on(&vfs)).unwrap();
    assert_eq!(store.blobs().state(&blake3_of(&all[0])).unwrap(), BlobState::Evicted);
}

#[test]
fn a_budget_that_is_all_pinned_refuses() {
    let vfs = MemoryVfs::new();
    let store = Store::create(AT, capped(&vfs, 2, BudgetPolicy::DropOldest)).unwrap();
    let blobs = store.blobs();
    for seed in 0..2 {
        let address = blobs.put(&content(seed, BLOB)).unwrap();
        blobs.pin(&address).unwrap();
    }
    assert_eq!(blobs.put(&content(2, BLOB)).unwrap_err().kind(), ErrorKind::Full);
    blobs.unpin(&blake3_of(&content(0, BLOB))).unwrap();
    blobs.put(&content(2, BLOB)).unwrap();
    assert_eq!(blobs.state(&blake3_of(&content(0, BLOB))).unwrap(), BlobState::Evicted);
    assert_eq!(blobs.state(&blake3_of(&content(1, BLOB))).unwrap(), BlobState::Resident);
}

#[test]
fn pins_outlive_the_process() {
    let vfs = MemoryVfs::new();
    let options = || capped(&vfs, 2, BudgetPolicy::DropOldest);
    let store = Store::create(AT, options()).unwrap();
    let pinned = store.blobs().put(&content(0, BLOB)).unwrap();
    store.blobs().pin(&pinned).unwrap();
    drop(store);
    let store = Store::open(AT, options().vfs(Arc::new(vfs.clone()))).unwrap();
    for seed in 1..5 {
        store.blobs().put(&content(seed, BLOB)).unwrap();
    }
    assert_eq!(store.blobs().state(&pinned).unwrap(), BlobState::Resident);
}
