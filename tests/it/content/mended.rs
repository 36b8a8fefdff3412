//! Cases that were found by people who tried to break it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{
    AddressKind, BlobState, BudgetPolicy, ErrorKind, Options, PutOptions, PutReport, Store, VerifyOutcome,
    verify,
};

use super::{AT, blake3_of, content, options_on, sha256_of, store_on};
use crate::support::{event, overwrite, read, resize, small};

fn recording(base: &MemoryVfs) -> FaultyVfs {
    let faulty = FaultyVfs::recording(Arc::new(base.clone()));
    base.paths().iter().for_each(|path| drop(faulty.open(path, OpenMode::Read).unwrap()));
    faulty
}

fn on(vfs: &FaultyVfs) -> Options {
    small().pack_bytes_max(64 << 10).vfs(Arc::new(vfs.clone()))
}

#[test]
fn damage_of_the_active_pack_is_remembered_by_whoever_writes() {
    let active = PathBuf::from("/s/blobs/0000000001.active");
    for cut in [true, false] {
        let vfs = MemoryVfs::new();
        let store = store_on(&vfs);
        let address = store.blobs().put(b"acknowledged").unwrap();
        store.append(&event("a", 1, &[])).unwrap();
        store.close().unwrap();
        if cut {
            resize(&vfs, &active, 100);
        } else {
            overwrite(&vfs, &active, 110, b"X");
        }
        for round in 0..3 {
            let store = store_on(&vfs);
            assert!(!store.opening().content_damage.is_empty(), "cut {cut}, round {round}");
            assert!(store.opening().torn_content.is_none());
            store.append(&event("a", round + 2, &[])).unwrap();
            store.blobs().put(&round.to_le_bytes()).unwrap();
            assert_eq!(
                store.blobs().shred(&address).unwrap_err_or_false(),
                round == 0,
                "cut {cut}, round {round}"
            );
            assert_eq!(store.blobs().state(&address).unwrap(), BlobState::Shredded);
            store.close().unwrap();
            let report = verify(AT, &options_on(&vfs), &()).unwrap();
            assert_eq!(report.outcome(), VerifyOutcome::Damaged, "cut {cut}, round {round}");
        }
        causelog::repair(AT, &options_on(&vfs), causelog::RepairMode::Apply, &()).unwrap();
        let report = verify(AT, &options_on(&vfs), &()).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

/// Tells an error about damage from a plain `false`.
trait ErrOrFalse {
    fn unwrap_err_or_false(self) -> bool;
}

impl ErrOrFalse for causelog::Result<bool> {
    fn unwrap_err_or_false(self) -> bool {
        match self {
            Ok(done) => {
                assert!(!done);
                false
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
                true
            }
        }
    }
}

#[test]
fn power_that_goes_while_a_pack_is_sealed_loses_nothing_that_is_acknowledged_later() {
    for seed in 0..40 {
        for nth in 1..14 {
            let base = MemoryVfs::new();
            drop(Store::create(AT, on(&FaultyVfs::new(Arc::new(base.clone())))).unwrap());
            let faulty = recording(&base);
            let store = Store::open(AT, on(&faulty)).unwrap();
            let all: Vec<_> = (0..8).map(|n| content(seed * 10 + n, 9000)).collect();
            for bytes in &all[..6] {
                store.blobs().put(bytes).unwrap();
            }
            // The next ones do not fit any more.
            faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
            let _ = store.blobs().put(&all[6]).and_then(|_| store.blobs().put(&all[7]));
            let image = faulty.crash(seed * 100 + nth).unwrap();
            std::mem::forget(store);
            let store =
                Store::open(AT, small().pack_bytes_max(64 << 10).vfs(Arc::new(image.clone()))).unwrap();
            let what = format!("seed {seed}, call {nth}");
            assert!(
                store.opening().content_damage.is_empty(),
                "{what}: {:?}",
                store.opening().content_damage
            );
            for bytes in &all {
                store.blobs().put(bytes).unwrap();
            }
            store.append(&event("a", 1, &[])).unwrap();
            for bytes in &all {
                let held =
                    store.blobs().get(&blake3_of(bytes)).unwrap_or_else(|error| panic!("{what}: {error:?}"));
                assert_eq!(held.as_ref(), Some(bytes), "{what}");
            }
        }
    }
}

/// Kills a process at each call, opens the store in another one, and lets the power go after that acknowledged something.
fn kill_then_cut(work: impl Fn(&Store), after: impl Fn(&Store), check: impl Fn(&MemoryVfs, &Store, &str)) {
    for nth in 1..16 {
        for seed in 0..12 {
            let base = MemoryVfs::new();
            let first = Store::create(AT, on(&FaultyVfs::new(Arc::new(base.clone())))).unwrap();
            first.blobs().put(&content(1, 3000)).unwrap();
            first.close().unwrap();
            let faulty = recording(&base);
            // Around the one that records, so that a call that fails was never made: the process was killed before it.
            let killer = FaultyVfs::new(Arc::new(faulty.clone()));
            let store = Store::open(AT, on(&killer)).unwrap();
            killer.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
            work(&store);
            std::mem::forget(store);
            // The system frees the locks of a process that was killed.
            let unlocked = Unlocked(Arc::new(faulty.clone()));
            let options = small().pack_bytes_max(64 << 10).vfs(Arc::new(unlocked));
            let store = Store::open(AT, options).unwrap_or_else(|error| panic!("call {nth}: {error:?}"));
            after(&store);
            let image = faulty.crash(seed * 100 + nth).unwrap();
            std::mem::forget(store);
            let what = format!("call {nth}, seed {seed}");
            let cut = image.fork();
            let store =
                Store::open(AT, small().pack_bytes_max(64 << 10).vfs(Arc::new(image.clone()))).unwrap();
            assert!(
                store.opening().content_damage.is_empty(),
                "{what}: {:?}",
                store.opening().content_damage
            );
            check(&cut, &store, &what);
        }
    }
}

/// A file system whose locks are always free: those of processes that are gone.
#[derive(Debug)]
struct Unlocked(Arc<dyn Vfs>);

#[derive(Debug)]
struct Free;

impl causelog::vfs::VfsLock for Free {}

impl Vfs for Unlocked {
    fn open(&self, path: &Path, mode: OpenMode) -> std::io::Result<Arc<dyn causelog::vfs::VfsFile>> {
        self.0.open(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> std::io::Result<()> {
        self.0.remove(path)
    }
    fn create_dir_all(&self, path: &Path) -> std::io::Result<()> {
        self.0.create_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> std::io::Result<()> {
        self.0.sync_dir(path)
    }
    fn list(&self, path: &Path) -> std::io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn exists(&self, path: &Path) -> std::io::Result<bool> {
        self.0.exists(path)
    }
    fn try_lock(
        &self,
        _path: &Path,
        _mode: causelog::vfs::LockMode,
        _create: bool,
    ) -> std::io::Result<Option<Box<dyn causelog::vfs::VfsLock>>> {
        Ok(Some(Box::new(Free)))
    }
}

#[test]
fn a_kill_then_a_power_cut_lose_no_content_that_an_event_names() {
    let all = || (10..18).map(|seed| content(seed, 9000)).collect::<Vec<_>>();
    kill_then_cut(
        |store| {
            for bytes in all() {
                if store.blobs().put(&bytes).is_err() {
                    return;
                }
            }
        },
        |store| {
            for bytes in all() {
                store.blobs().put(&bytes).unwrap();
            }
            store.append(&event("a", 1, &[])).unwrap();
        },
        |_, store, what| {
            for bytes in all() {
                let held =
                    store.blobs().get(&blake3_of(&bytes)).unwrap_or_else(|error| panic!("{what}: {error:?}"));
                assert_eq!(held, Some(bytes), "{what}");
            }
        },
    );
}

#[test]
fn a_kill_then_a_power_cut_bring_no_shredded_key_back() {
    let bytes = content(1, 3000);
    kill_then_cut(
        |store| drop(store.blobs().shred(&blake3_of(&bytes))),
        |store| {
            let _ = store.blobs().shred(&blake3_of(&bytes)).unwrap();
            store.append(&event("a", 1, &[])).unwrap();
        },
        |image, store, what| {
            // The key itself, and not only what the tombstone hides.
            let slot = &read(image, Path::new("/s/keys/slots"))[4096..4096 + 128];
            assert_eq!((slot[0], &slot[40..80]), (2, &[0; 40][..]), "{what}");
            assert_eq!(store.blobs().state(&blake3_of(&bytes)).unwrap(), BlobState::Shredded, "{what}");
        },
    );
}

#[test]
fn a_put_that_is_refused_evicts_nothing() {
    let vfs = MemoryVfs::new();
    let options = options_on(&vfs).content_budget(20_000, BudgetPolicy::DropOldest);
    let store = Store::create(AT, options).unwrap();
    let blobs = store.blobs();
    let (pinned, other) = (blobs.put(&content(1, 10_000)).unwrap(), blobs.put(&content(2, 5000)).unwrap());
    blobs.pin(&pinned).unwrap();
    assert_eq!(blobs.put(&content(3, 15_000)).unwrap_err().kind(), ErrorKind::Full);
    let bad = PutOptions::new().subject("");
    assert_eq!(blobs.put_with(&content(4, 9000), &bad).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(blobs.state(&other).unwrap(), BlobState::Resident);
    // And once there can be room, the oldest goes.
    blobs.put(&content(5, 8000)).unwrap();
    assert_eq!(blobs.state(&other).unwrap(), BlobState::Evicted);
}

#[test]
fn an_empty_place_among_subjects_costs_no_other_key() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let of = |name: &str| PutOptions::new().subject(name);
    let all = [content(1, 100), content(2, 100), content(3, 100)];
    store.blobs().put_with(&all[0], &of("first")).unwrap();
    store.blobs().put_with(&all[1], &of("second")).unwrap();
    store.close().unwrap();
    overwrite(&vfs, Path::new("/s/keys/subjects"), 1024 * 3, &[0; 1024]);
    let store = store_on(&vfs);
    for name in ["third", "fourth"] {
        assert_eq!(store.blobs().put_with(&all[2], &of(name)).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert_eq!(store.blobs().get(&blake3_of(&all[1])).unwrap().as_ref(), Some(&all[1]));
}

#[test]
fn a_damaged_slot_can_be_shredded_and_stops_nothing_else() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let all = [content(1, 100), content(2, 100)];
    for bytes in &all {
        store.blobs().put(bytes).unwrap();
    }
    store.close().unwrap();
    let slots = Path::new("/s/keys/slots");
    let wrapped = read(&vfs, slots)[4096 + 40..4096 + 80].to_vec();
    overwrite(&vfs, slots, 4096 + 24, &[9]);
    let store = store_on(&vfs);
    assert_eq!(store.blobs().stats().unwrap().resident, 1);
    let mut seen = 0;
    store
        .blobs()
        .for_each(|_, _| {
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, 1);
    assert_eq!(store.blobs().get(&blake3_of(&all[0])).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.blobs().state(&blake3_of(&all[0])).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.blobs().get(&blake3_of(&all[1])).unwrap().as_ref(), Some(&all[1]));
    assert!(verify(AT, &options_on(&vfs), &()).unwrap().outcome() == VerifyOutcome::Damaged);
    assert!(store.blobs().shred(&blake3_of(&all[0])).unwrap());
    assert!(!read(&vfs, slots).windows(40).any(|window| window == wrapped));
    // A slot that is damaged after that does not keep the content from being opened.
    store.close().unwrap();
    overwrite(&vfs, slots, 4096 + 24, &[7]);
    let store = store_on(&vfs);
    assert!(store.opening().content_damage.is_empty(), "{:?}", store.opening().content_damage);
    assert_eq!(store.blobs().get(&blake3_of(&all[1])).unwrap().as_ref(), Some(&all[1]));
}

#[test]
fn every_address_comes_back_with_the_content() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let bytes = content(1, 3000);
    blobs.put(&bytes).unwrap();
    blobs.put_with(&bytes, &PutOptions::new().address(AddressKind::Sha256)).unwrap();
    assert_eq!(blobs.len_of(&sha256_of(&bytes)).unwrap(), Some(3000));
    blobs.evict(&blake3_of(&bytes)).unwrap();
    blobs.put(&bytes).unwrap();
    assert_eq!(blobs.get(&sha256_of(&bytes)).unwrap().as_ref(), Some(&bytes));
    blobs.shred(&sha256_of(&bytes)).unwrap();
    blobs.put(&bytes).unwrap();
    for address in [blake3_of(&bytes), sha256_of(&bytes)] {
        assert_eq!(blobs.get(&address).unwrap().as_ref(), Some(&bytes));
    }
}

#[test]
fn a_damaged_alias_is_made_whole_by_putting_again() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let bytes = content(1, 3000);
    let sha256 = PutOptions::new().address(AddressKind::Sha256);
    store.blobs().put(&bytes).unwrap();
    let alias = store.blobs().stats().unwrap().pack_bytes;
    store.blobs().put_with(&bytes, &sha256).unwrap();
    store.close().unwrap();
    let file = Path::new("/s/blobs/0000000001.active");
    let at = usize::try_from(alias).unwrap() + 64 + 80 + 3;
    let byte = read(&vfs, file)[at];
    overwrite(&vfs, file, at, &[byte ^ 1]);
    let store = store_on(&vfs);
    assert_eq!(store.blobs().get(&sha256_of(&bytes)).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.blobs().get(&blake3_of(&bytes)).unwrap().as_ref(), Some(&bytes));
    let report = store.blobs().put_with(&bytes, &sha256.recheck(true)).unwrap();
    assert!(matches!(report, PutReport::Held(_)));
    assert_eq!(store.blobs().get(&sha256_of(&bytes)).unwrap().as_ref(), Some(&bytes));
}

#[test]
fn nothing_is_written_through_a_handle_whose_store_was_closed() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let address = blobs.put(b"held").unwrap();
    store.close().unwrap();
    let second = store_on(&vfs);
    assert_eq!(blobs.put(b"late").unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(blobs.shred(&address).unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(blobs.evict(&address).unwrap_err().kind(), ErrorKind::Poisoned);
    assert_eq!(blobs.sync().map_err(|error| error.kind()), Ok(()), "nothing is left to sync");
    assert_eq!(blobs.get(&address).unwrap().unwrap(), b"held");
    second.blobs().put(b"of the second").unwrap();
}

#[test]
fn puts_that_race_a_close_are_refused_or_whole() {
    for round in 0..30 {
        let vfs = MemoryVfs::new();
        let store = store_on(&vfs);
        let blobs = store.blobs();
        let done = std::thread::scope(|scope| {
            let putting = scope.spawn(|| {
                let mut done = Vec::new();
                for seed in 0..50 {
                    match blobs.put(&content(seed, 2000)) {
                        Ok(_) => done.push(seed),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Poisoned);
                            break;
                        }
                    }
                }
                done
            });
            std::thread::sleep(std::time::Duration::from_micros(round * 50));
            store.close().unwrap();
            let second = store_on(&vfs);
            second.blobs().put(b"of the second").unwrap();
            second.close().unwrap();
            putting.join().unwrap()
        });
        let store = store_on(&vfs);
        assert!(store.opening().content_damage.is_empty());
        for seed in done {
            let bytes = content(seed, 2000);
            assert_eq!(store.blobs().get(&blake3_of(&bytes)).unwrap(), Some(bytes), "round {round}");
        }
        let second = causelog::Address::new(AddressKind::Blake3, *blake3::hash(b"of the second").as_bytes());
        assert!(store.blobs().get(&second).unwrap().is_some());
    }
}

#[test]
fn readers_get_along_with_packs_that_come_and_go() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let steady = content(0, 3000);
    store.blobs().put(&steady).unwrap();
    store.append(&event("a", 1, &[])).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let reader = Store::open_read_only(AT, options_on(&vfs)).unwrap();
                    assert!(
                        reader.opening().content_damage.is_empty(),
                        "{:?}",
                        reader.opening().content_damage
                    );
                    for _ in 0..5 {
                        assert_eq!(reader.blobs().get(&blake3_of(&steady)).unwrap().as_ref(), Some(&steady));
                        reader.blobs().stats().unwrap();
                    }
                }
            });
        }
        for seed in 1..60 {
            let bytes = content(seed, (4 << 20) + 1);
            let address = store.blobs().put(&bytes).unwrap();
            store.blobs().sync().unwrap();
            assert!(store.blobs().evict(&address).unwrap());
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
