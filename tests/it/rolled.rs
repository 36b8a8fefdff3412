//! Segments that are full and not sealed, or sealed and damaged: what opening and sealing make of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use causelog::vfs::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{Appended, ErrorKind, Event, Options, Store, VerifyOutcome, verify};

use crate::support::{
    active, bulky, event, frames, hashes, held, holds_exactly, overwrite, read, resize, sealed, small,
};

const CHECKPOINT: &str = "/s/log/0000000001.checkpoint";

fn on(vfs: &MemoryVfs) -> Options {
    small().vfs(Arc::new(vfs.clone()))
}

fn put(vfs: &MemoryVfs, path: &Path, bytes: &[u8]) {
    vfs.open(path, OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
}

/// A store that was killed once its segment number `last` had events, and all active forms as they were when they
/// were full.
struct Rolled {
    vfs: MemoryVfs,
    events: Vec<Event>,
    /// Events in the first segment.
    first: usize,
    full: BTreeMap<u64, Vec<u8>>,
}

fn rolled(last: u64) -> Rolled {
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", on(&vfs)).unwrap();
    let (mut events, mut full, mut first) = (Vec::new(), BTreeMap::new(), 0);
    for n in 0.. {
        let next = bulky(["a", "b"][usize::try_from(n % 2).unwrap()], n);
        assert_eq!(store.append(&next).unwrap(), Appended::Stored);
        events.push(next);
        for number in 1..=last {
            if vfs.exists(&active(number)).unwrap() {
                full.insert(number, read(&vfs, &active(number)));
                first = if number == 1 { events.len() } else { first };
            }
        }
        if full.contains_key(&last) {
            return Rolled { vfs: vfs.fork(), events, first, full };
        }
    }
    unreachable!("segments fill up");
}

fn holds_all(store: &Store, events: &[Event]) {
    assert!(store.opening().damage.is_empty(), "{:?}", store.opening());
    holds_exactly(store, events);
}

#[test]
fn a_rolled_segment_before_sealed_ones_stays_in_its_place() {
    let Rolled { vfs, events, full, .. } = rolled(4);
    for (number, bytes) in [(1, &full[&1]), (2, &full[&2])] {
        let vfs = vfs.fork();
        let root_of = |vfs: &MemoryVfs| blake3::hash(&read(vfs, &sealed(number)));
        let before = root_of(&vfs);
        let at = read(&vfs, &sealed(number)).len() / 2;
        overwrite(&vfs, &sealed(number), at, &[0xA5; 8]);
        put(&vfs, &active(number), bytes);
        let reader = Store::open_read_only("/s", on(&vfs)).unwrap();
        holds_all(&reader, &events);
        drop(reader);
        let store = Store::open("/s", on(&vfs)).unwrap();
        holds_all(&store, &events);
        assert_eq!(root_of(&vfs), before, "sealed again, to the byte");
        assert_eq!(store.append(&event("c", 1, &[])).unwrap(), Appended::Stored);
        drop(store);
        assert_eq!(verify("/s", &on(&vfs), &()).unwrap().outcome(), VerifyOutcome::Fine);
    }
}

#[test]
fn a_damaged_head_condemns_no_segment_but_its_own() {
    let Rolled { vfs, events, first, full } = rolled(2);
    vfs.remove(&sealed(1)).unwrap();
    put(&vfs, &active(1), &full[&1]);
    overwrite(&vfs, &active(2), 40, &[0xA5; 8]);
    let store = Store::open("/s", on(&vfs)).unwrap();
    let damaged: Vec<_> = store.opening().damage.iter().map(|found| found.segment).collect();
    assert_eq!(damaged, [Some(2)], "{:?}", store.opening());
    assert_eq!(held(&store).len(), first);
    drop(store);
    // What cannot be a full segment's end is its own damage all the same.
    let last = frames(&full[&1]).iter().rfind(|frame| frame.is_event).copied().unwrap();
    overwrite(&vfs, &active(1), last.offset + 20, &[0xA5; 8]);
    let store = Store::open("/s", on(&vfs)).unwrap();
    let mut damaged: Vec<_> = store.opening().damage.iter().map(|found| found.segment).collect();
    damaged.sort_unstable();
    assert_eq!(damaged, [Some(1), Some(2)], "{:?}", store.opening());
    assert_eq!(held(&store), crate::support::sorted(&events[..first - 1]));
}

#[test]
fn a_torn_tail_is_not_cut_in_a_store_that_is_damaged_elsewhere() {
    let Rolled { vfs, full, .. } = rolled(3);
    let last = *frames(&full[&3]).last().unwrap();
    resize(&vfs, &active(3), last.end - 4);
    let torn = vfs.fork();
    overwrite(&vfs, &sealed(1), 40, &[0xA5; 8]);
    let logs = |vfs: &MemoryVfs| -> BTreeMap<PathBuf, blake3::Hash> {
        hashes(vfs).into_iter().filter(|(path, _)| path.starts_with("/s/log")).collect()
    };
    let before = logs(&vfs);
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert_eq!(store.opening().torn.as_ref().map(|torn| torn.segment), Some(3));
    assert_eq!(store.append(&event("c", 1, &[])).unwrap_err().kind(), ErrorKind::ReadOnly);
    drop(store);
    assert_eq!(logs(&vfs), before, "nothing is cut");
    let cut = |vfs: &MemoryVfs| Store::open("/s", on(vfs)).unwrap().opening().torn.clone();
    assert_eq!(cut(&torn).map(|torn| torn.offset), Some(last.offset as u64), "without the damage it is");
    assert_eq!(cut(&torn), None);
}

#[test]
fn a_call_that_fails_does_not_make_a_sealed_segment_pass_for_damaged() {
    let Rolled { vfs, events, full, .. } = rolled(3);
    put(&vfs, &active(1), &full[&1]);
    let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
    // ENOMEM, at each map in turn.
    for nth in 1.. {
        let before = read(&vfs, &sealed(1));
        faulty.disarm();
        faulty.arm(Fault::nth(Calls::Only(Call::Map), nth, Failure::Os(12)));
        let failed = faulty.failed();
        let opened = Store::open("/s", small().vfs(Arc::new(faulty.clone())));
        let fired = faulty.failed() > failed;
        match opened {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io),
            Ok(store) => assert!(store.opening().damage.is_empty()),
        }
        assert_eq!(read(&vfs, &sealed(1)), before);
        if !fired {
            break;
        }
    }
    holds_all(&Store::open("/s", on(&vfs)).unwrap(), &events);
    assert!(!vfs.exists(&active(1)).unwrap());
}

#[test]
fn a_full_disk_keeps_no_store_with_a_rolled_segment_from_opening() {
    let Rolled { vfs, events, full, .. } = rolled(2);
    vfs.remove(&sealed(1)).unwrap();
    put(&vfs, &active(1), &full[&1]);
    let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
    let store = Store::open("/s", small().vfs(Arc::new(faulty.clone()))).unwrap();
    drop(store);
    vfs.remove(&sealed(1)).unwrap();
    put(&vfs, &active(1), &full[&1]);
    // The first file that is created is the mark file where it is missing, else the one that is sealed.
    faulty.arm(Fault::nth(Calls::Only(Call::Create), 1, Failure::NO_SPACE).for_good());
    let store = Store::open("/s", small().vfs(Arc::new(faulty.clone()))).unwrap();
    assert!(faulty.failed() > 0 && !vfs.exists(&sealed(1)).unwrap());
    holds_all(&store, &events);
    assert_eq!(store.append(&event("c", 1, &[])).unwrap(), Appended::Stored);
    faulty.disarm();
    store.close().unwrap();
    assert!(vfs.exists(&sealed(1)).unwrap(), "the next try succeeds");
}

/// A full first segment with a checkpoint that covers all its events, the next one begun.
fn checkpointed() -> (MemoryVfs, FrameDamage) {
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", on(&vfs)).unwrap();
    let mut n = 0;
    let (mut bytes, mut checkpoint) = (Vec::new(), Vec::new());
    while vfs.exists(&active(1)).unwrap() {
        store.checkpoint().unwrap();
        (bytes, checkpoint) = (read(&vfs, &active(1)), read(&vfs, Path::new(CHECKPOINT)));
        store.append(&bulky("a", n)).unwrap();
        n += 1;
    }
    let vfs = vfs.fork();
    vfs.remove(&sealed(1)).unwrap();
    put(&vfs, &active(1), &bytes);
    put(&vfs, Path::new(CHECKPOINT), &checkpoint);
    let frame = frames(&bytes).into_iter().filter(|frame| frame.is_event).nth(3).unwrap();
    (vfs, FrameDamage(frame.offset))
}

struct FrameDamage(usize);

impl FrameDamage {
    fn inflict(&self, vfs: &MemoryVfs) {
        overwrite(vfs, &active(1), self.0 + 24, &[0xA5; 8]);
    }
}

#[test]
fn damage_that_a_checkpoint_hid_is_found_before_a_segment_is_sealed() {
    let (vfs, damage) = checkpointed();
    drop(Store::open("/s", on(&vfs.fork())).unwrap());
    damage.inflict(&vfs);
    let before = read(&vfs, &active(1));
    let store = Store::open("/s", on(&vfs)).unwrap();
    let found = &store.opening().damage;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].segment, found[0].offset), (Some(1), Some(damage.0 as u64)));
    assert_eq!(store.append(&event("c", 1, &[])).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(read(&vfs, &active(1)), before);
    assert!(!vfs.exists(&sealed(1)).unwrap());
}

#[test]
fn a_segment_that_was_damaged_under_a_live_store_is_reported_and_kept() {
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", on(&vfs)).unwrap();
    for n in 0..6 {
        store.append(&bulky("a", n)).unwrap();
    }
    let third = frames(&read(&vfs, &active(1))).into_iter().filter(|frame| frame.is_event).nth(2).unwrap();
    overwrite(&vfs, &active(1), third.offset + 24, &[0xA5; 8]);
    for n in 6..200 {
        assert_eq!(store.append(&bulky("a", n)).unwrap(), Appended::Stored);
    }
    assert!(vfs.exists(&active(1)).unwrap());
    assert!(!vfs.exists(&sealed(1)).unwrap() && !vfs.exists(&sealed(2)).unwrap());
    let error = store.close().unwrap_err();
    assert_eq!((error.kind(), error.place().segment), (ErrorKind::Corrupt, Some(1)));
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert!(store.opening().read_only.is_some());
    assert_eq!(store.get(&bulky("a", 199).id).unwrap().unwrap().to_event().unwrap(), bulky("a", 199));
}
