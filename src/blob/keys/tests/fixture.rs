//! A store's keys in memory, with randomness that repeats.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zeroize::Zeroizing;

use crate::blob::key::{FillRandom, Key};
use crate::blob::keys::{Access, KeyPaths, Keys, Unwrapped};
use crate::blob::ledger::Ledger;
use crate::codec::{Entry, EntryKind, RecordId};
use crate::contract::{Address, AddressKind, Result};
use crate::io::{MemoryVfs, OpenMode, Vfs};

pub(super) const STORE: [u8; 16] = [4; 16];

pub(super) fn paths() -> KeyPaths {
    KeyPaths::new("/s/keys", None)
}

/// Bytes that differ from call to call, and are the same in each run.
pub(super) fn fill() -> FillRandom {
    let calls = AtomicU64::new(0);
    Arc::new(move |bytes: &mut [u8]| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        blake3::Hasher::new().update(&call.to_le_bytes()).finalize_xof().fill(bytes);
        Ok(())
    })
}

#[derive(Clone)]
pub(super) struct Fixture {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) fill: FillRandom,
}

impl Fixture {
    /// With all files made.
    pub(super) fn new() -> Self {
        let fixture = Self::on(Arc::new(MemoryVfs::new()));
        fixture.create().unwrap();
        fixture
    }

    pub(super) fn on(vfs: Arc<dyn Vfs>) -> Self {
        Self { vfs, fill: fill() }
    }

    pub(super) fn create(&self) -> Result<()> {
        Keys::create(&self.vfs, &paths(), &STORE, AddressKind::Sha256, &self.fill)
    }

    pub(super) fn try_open(&self, access: Access) -> Result<Keys> {
        Keys::open(&self.vfs, &paths(), &STORE, access, &self.fill)
    }

    pub(super) fn open(&self) -> Keys {
        self.try_open(Access::Write).unwrap()
    }

    pub(super) fn reader(&self) -> Keys {
        self.try_open(Access::Read).unwrap()
    }

    pub(super) fn try_ledger(&self, access: Access) -> Result<Ledger> {
        Ledger::open(&self.vfs, &paths(), &STORE, access)
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.try_ledger(Access::Write).unwrap()
    }

    pub(super) fn read(&self, path: &Path) -> Vec<u8> {
        let file = self.vfs.open(path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    }

    pub(super) fn write(&self, path: &Path, offset: usize, bytes: &[u8]) {
        let file = self.vfs.open(path, OpenMode::Write).unwrap();
        file.write_at(bytes, offset as u64).unwrap();
    }

    pub(super) fn all_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let all = [paths().master(), paths().subjects(), paths().slots(), paths().erasures()];
        all.into_iter().map(|path| (path.clone(), self.read(&path))).collect()
    }
}

pub(super) fn record(n: u8) -> RecordId {
    [n; 16]
}

pub(super) fn data_key(n: u8) -> Key {
    Key::of(Zeroizing::new([n; 32]))
}

/// The data key of a record, as a number; `None` when it is dead.
pub(super) fn unwrapped(keys: &Keys, slot: u32, n: u8) -> Option<u8> {
    match keys.unwrap(slot, record(n)).unwrap() {
        Unwrapped::Key(key) => {
            assert_eq!(key.bytes(), &[key.bytes()[0]; 32]);
            Some(key.bytes()[0])
        }
        Unwrapped::Dead(_) => None,
    }
}

pub(super) fn address(n: u8) -> Address {
    Address::new(AddressKind::Blake3, [n; 32])
}

pub(super) fn entry(kind: EntryKind, n: u8) -> Entry {
    let (subject, erasure) = ([0; 32], [n; 16]);
    Entry { kind, address: address(n), reason: 1, erasure, at: 7, subject, record: record(n), slot: 9 }
}

pub(super) fn shredded(n: u8) -> Entry {
    entry(EntryKind::Shredded, n)
}
