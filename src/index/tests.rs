//! The index against damage, faults and power cuts.

use super::*;
use crate::contract::ErrorKind;
use crate::io::{Call, Calls, Failure, Fault as Injected, FaultyVfs, MemoryVfs, RealVfs};

const STORE: [u8; 16] = [7; 16];

fn path() -> &'static Path {
    Path::new("index.redb")
}

/// A checkpoint that is a function of its arguments.
fn batch(generation: u64, hosts: u64, segments: u64) -> CheckpointBatch {
    let checkpoint = Checkpoint {
        store_id: STORE,
        arrivals: generation,
        active_segment: segments + 1,
        durable_end: generation * 1000,
        events: generation * 10,
    };
    let host = |n: u64| {
        // Some rows differ between generations, some do not; some names sort otherwise in bytes.
        let name = if n.is_multiple_of(5) { format!("\u{10000}{n}") } else { format!("\u{ffee}{n}") };
        let seq = if n.is_multiple_of(3) { generation } else { n };
        let last_id = if n.is_multiple_of(2) {
            EventId::from_uuid_bytes([u8::try_from(n % 256).unwrap(); 16])
        } else {
            EventId::new(&"x".repeat(1 + usize::try_from(n).unwrap())).unwrap()
        };
        (HostId::new(&name).unwrap(), HostRow { seq: Seq::new(seq).unwrap(), last_id, events: n })
    };
    let segment = |n: u64| {
        let root = [u8::try_from(n % 256).unwrap(); 32];
        (n, SegmentRow { path: format!("{n:08}.seg"), root, events: n * 2, bytes: n * 3 })
    };
    CheckpointBatch {
        checkpoint,
        hosts: (0..hosts).map(host).collect(),
        segments: (generation..generation + segments).map(segment).collect(),
    }
}

fn open(vfs: &dyn Vfs) -> (Index, IndexState) {
    Index::open(vfs, path(), &STORE).unwrap()
}

/// Asserts the one thing that matters: what was written, or nothing and a reason.
fn check(vfs: &dyn Vfs, expected: &[&CheckpointBatch], context: &dyn fmt::Debug) -> IndexState {
    let (index, state) = open(vfs);
    let held = index.load().unwrap();
    match state {
        IndexState::Loaded => {
            assert!(expected.contains(&held.as_ref().unwrap()), "{context:?}: wrong rows");
        }
        _ => assert_eq!(held, None, "{context:?}"),
    }
    // Whatever it was before, it takes a checkpoint now; or says that it must be made anew.
    let fresh = batch(99, 3, 3);
    match index.write_checkpoint(&fresh) {
        Ok(()) => index.close().unwrap(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{context:?}: {error:?}");
            drop(index);
            Index::recreate(vfs, path()).unwrap().write_checkpoint(&fresh).unwrap();
        }
    }
    assert_eq!(open(vfs).0.load().unwrap(), Some(fresh), "{context:?}");
    state
}

/// The bytes of a database after its close, and of one that was killed.
fn databases(held: &CheckpointBatch) -> [Vec<u8>; 2] {
    let vfs = MemoryVfs::new();
    let (index, state) = open(&vfs);
    assert_eq!(state, IndexState::Fresh);
    index.write_checkpoint(&batch(1, 30, 5)).unwrap();
    index.write_checkpoint(held).unwrap();
    let killed = bytes(&vfs);
    index.close().unwrap();
    [bytes(&vfs), killed]
}

fn bytes(vfs: &MemoryVfs) -> Vec<u8> {
    vfs.open(path(), OpenMode::Read).unwrap().map().unwrap().to_vec()
}

fn with(bytes: &[u8]) -> MemoryVfs {
    let vfs = MemoryVfs::new();
    vfs.open(path(), OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    vfs
}

/// A number that depends on nothing but its arguments.
fn random(seed: u64, n: u64) -> usize {
    let hash = blake3::hash(&[seed.to_le_bytes(), n.to_le_bytes()].concat());
    usize::try_from(u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()) >> 1).unwrap()
}

#[test]
fn what_was_written_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index.redb");
    let mut held = None;
    for (generation, hosts, segments) in [(1, 0, 0), (2, 100, 10), (3, 40, 20), (4, 1000, 0), (5, 2, 200)] {
        let (index, state) = Index::open(&RealVfs, &path, &STORE).unwrap();
        assert_eq!(state, if held.is_some() { IndexState::Loaded } else { IndexState::Fresh });
        assert_eq!(index.load().unwrap(), held);
        let next = batch(generation, hosts, segments);
        index.write_checkpoint(&next).unwrap();
        assert_eq!(index.load().unwrap().as_ref(), Some(&next));
        index.write_checkpoint(&next).unwrap();
        held = Some(next);
        if generation % 2 == 0 {
            index.close().unwrap();
        }
    }
}

#[test]
fn an_index_without_a_checkpoint_is_fresh() {
    let vfs = MemoryVfs::new();
    open(&vfs).0.close().unwrap();
    assert_eq!(open(&vfs).1, IndexState::Fresh);
    assert_eq!(open(&with(b"")).1, IndexState::Fresh);
}

#[test]
fn an_unclean_end_is_noticed() {
    let unclean = |bytes: &[u8]| {
        let file = with(bytes).open(path(), OpenMode::Read).unwrap();
        Blocks::open(file, FirstCause::default()).unwrap().is_unclean()
    };
    let [closed, killed] = databases(&batch(2, 3, 3));
    assert_eq!([unclean(&closed), unclean(&killed), unclean(b"")], [false, true, false]);
}

#[test]
fn a_foreign_index_is_dropped() {
    let [closed, _] = databases(&batch(2, 3, 3));
    let vfs = with(&closed);
    let (index, state) = Index::open(&vfs, path(), &[8; 16]).unwrap();
    assert_eq!(state, IndexState::Rebuilt { reason: RebuildReason::Foreign });
    assert_eq!(index.load().unwrap(), None);
}

#[test]
fn another_version_is_dropped() {
    let set = |change: fn(&redb::WriteTransaction)| {
        let vfs = MemoryVfs::new();
        let (index, _) = open(&vfs);
        index.write_checkpoint(&batch(2, 3, 3)).unwrap();
        let transaction = index.database.as_ref().unwrap().begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
        drop(index);
        open(&vfs).1
    };
    let version = |transaction: &redb::WriteTransaction| {
        transaction.open_table(FORMAT_TABLE).unwrap().insert((), FORMAT + 1).unwrap();
    };
    let types = |transaction: &redb::WriteTransaction| {
        transaction.delete_table(SEGMENTS).unwrap();
        transaction.open_table(TableDefinition::<u64, u64>::new("segments")).unwrap();
    };
    let missing = |transaction: &redb::WriteTransaction| {
        transaction.delete_table(HOSTS).unwrap();
    };
    let row = |transaction: &redb::WriteTransaction| {
        transaction.open_table(HOSTS).unwrap().insert("h", (1 << 60, "id", 0)).unwrap();
    };
    let digest = |transaction: &redb::WriteTransaction| {
        transaction.open_table(HOSTS).unwrap().insert("h", (1, "id", 0)).unwrap();
    };
    assert_eq!(set(version), IndexState::Rebuilt { reason: RebuildReason::Version });
    assert_eq!(set(types), IndexState::Rebuilt { reason: RebuildReason::Version });
    for change in [missing, row, digest] {
        let state = set(change);
        assert!(matches!(state, IndexState::Rebuilt { reason: RebuildReason::Damaged(_) }), "{state:?}");
    }
}

#[test]
fn flipped_bits() {
    let held = batch(2, 40, 12);
    for (kind, whole) in databases(&held).into_iter().enumerate() {
        let mut rebuilt = 0;
        for n in 0..200 {
            let mut bytes = whole.clone();
            // Every second one hits the start, where the header is.
            let range = if n % 2 == 0 { bytes.len() } else { 700 };
            let at = random(kind as u64, n) % range;
            bytes[at] ^= 1 << (random(9, n) % 8);
            let state = check(&with(&bytes), &[&held, &batch(1, 30, 5)], &(kind, n, at));
            rebuilt += u32::from(state != IndexState::Loaded);
        }
        assert!(rebuilt > 0, "no flip was noticed");
    }
}

#[test]
fn blocks_of_another_time() {
    let held = batch(2, 40, 12);
    let [closed, killed] = databases(&held);
    let older = {
        let vfs = with(&killed);
        let (index, _) = open(&vfs);
        index.write_checkpoint(&batch(3, 50, 12)).unwrap();
        index.write_checkpoint(&batch(4, 50, 12)).unwrap();
        index.close().unwrap();
        bytes(&vfs)
    };
    let slot = 4112;
    for at in (0..closed.len().min(older.len()) / slot).map(|n| n * slot) {
        let mut bytes = closed.clone();
        bytes[at..at + slot].copy_from_slice(&older[at..at + slot]);
        let all = [&held, &batch(1, 30, 5), &batch(3, 50, 12), &batch(4, 50, 12)];
        check(&with(&bytes), &all, &("newer", at));
        // As a medium does that lost a write, or a file system that forgot one.
        let mut bytes = closed.clone();
        bytes[at..at + slot].fill(0);
        check(&with(&bytes), &all, &("zeroed", at));
        // A block in the place of its neighbour is no block.
        let next = (at + slot) % (closed.len() / slot * slot);
        let mut bytes = closed.clone();
        bytes.copy_within(next..next + slot, at);
        check(&with(&bytes), &all, &("moved", at));
    }
}

#[test]
fn cut_files() {
    let held = batch(2, 40, 12);
    for whole in databases(&held) {
        let lengths = (0..whole.len()).filter(|n| n % 4112 < 2 || n % 509 == 0 || n + 20 > whole.len());
        for len in lengths.collect::<Vec<_>>() {
            let state = check(&with(&whole[..len]), &[&held, &batch(1, 30, 5)], &len);
            if len % 4112 != 0 {
                assert_ne!(state, IndexState::Loaded, "{len}");
            }
        }
        let mut longer = whole.clone();
        longer.extend([1; 5000]);
        check(&with(&longer), &[&held], &"longer");
    }
    check(&with(&vec![0xA5; 50_000]), &[], &"garbage");
    check(&with(&vec![0; 50_000]), &[], &"zeros");
}

/// Two checkpoints in one life, with a fault somewhere.
fn life(vfs: &dyn Vfs) -> Result<()> {
    let (index, _) = Index::open(vfs, path(), &STORE)?;
    index.write_checkpoint(&batch(1, 30, 5))?;
    index.write_checkpoint(&batch(2, 40, 12))?;
    index.close()
}

#[test]
fn every_call_fails_once_and_for_good() {
    let (first, second) = (batch(1, 30, 5), batch(2, 40, 12));
    for failure in [Failure::MEDIUM, Failure::NO_SPACE] {
        for for_good in [false, true] {
            for n in 1.. {
                let inner = MemoryVfs::new();
                let vfs = FaultyVfs::new(Arc::new(inner.clone()));
                let fault = Injected::nth(Calls::Any, n, failure).after_bytes(n * 37 % 5000);
                vfs.arm(if for_good { fault.for_good() } else { fault });
                let outcome = life(&vfs);
                if vfs.failed() == 0 {
                    assert!(outcome.is_ok() && n > 20, "{n}");
                    break;
                }
                if let Err(error) = outcome {
                    assert_eq!(error.kind(), ErrorKind::Io, "{n}: {error:?}");
                }
                check(&inner, &[&first, &second], &(failure, for_good, n));
            }
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    let held = batch(2, 40, 12);
    let [closed, _] = databases(&held);
    for n in 1..8 {
        let inner = with(&closed);
        let vfs = FaultyVfs::new(Arc::new(inner.clone()));
        vfs.arm(Injected::nth(Calls::Only(Call::Read), n, Failure::MEDIUM).for_good());
        match Index::open(&vfs, path(), &STORE) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io),
            Ok((_, state)) => assert_eq!((state, vfs.failed()), (IndexState::Loaded, 0)),
        }
        assert_eq!(check(&inner, &[&held], &n), IndexState::Loaded);
    }
}

#[test]
fn power_cuts() {
    let all: Vec<CheckpointBatch> = (1..=4).map(|n| batch(n, 20 * n, 10 - n)).collect();
    let [closed, killed] = {
        let vfs = MemoryVfs::new();
        let (index, _) = open(&vfs);
        index.write_checkpoint(&all[0]).unwrap();
        let killed = bytes(&vfs);
        drop(index);
        [bytes(&vfs), killed]
    };
    // An index that is not there yet, one that was closed, and one that was not.
    let (mut states, mut rebuilt) = ([0; 2], 0);
    for (before, start) in [None, Some(closed), Some(killed)].into_iter().enumerate() {
        for n in 1.. {
            let inner = start.as_deref().map_or_else(MemoryVfs::new, with);
            let vfs = FaultyVfs::recording(Arc::new(inner));
            vfs.arm(Injected::nth(Calls::Changing, n, Failure::MEDIUM).for_good());
            let mut acked = usize::from(start.is_some());
            let mut live = || -> Result<()> {
                for life in [1..2, 2..4] {
                    let (index, _) = Index::open(&vfs, path(), &STORE)?;
                    for n in life {
                        index.write_checkpoint(&all[n])?;
                        acked = n + 1;
                    }
                    if acked == 4 {
                        index.close()?;
                    }
                }
                Ok(())
            };
            let done = live().is_ok();
            for seed in 0..5 {
                // What was acknowledged is there, or the one after it; never an older one.
                let expected: Vec<&CheckpointBatch> =
                    all.iter().skip(acked.saturating_sub(1)).take(2).collect();
                match check(&vfs.crash(seed).unwrap(), &expected, &(before, n, seed)) {
                    IndexState::Loaded => states[0] += 1,
                    // The name of the file was never synced, so it may be gone.
                    IndexState::Fresh => {
                        assert!(start.is_none());
                        states[1] += 1;
                    }
                    IndexState::Rebuilt { .. } => rebuilt += 1,
                }
            }
            if done {
                assert!(n > 20);
                break;
            }
        }
    }
    println!("loaded and fresh {states:?}, rebuilt {rebuilt}");
    assert!(states.into_iter().all(|n| n > 50));
    assert!(rebuilt * 50 < states[0], "{rebuilt} of {states:?} were lost");
}
