//! The erasure ledger: which content was shredded, for ever, and which was put again on purpose.
//!
//! Invariants:
//! - Entries are never changed. Behind the last one there are zeros, at least 32 KiB of them written and synced as long as
//!   the disk has room, so that shredding works on a full one.
//! - What is in memory is synced, and each append is there whole or not at all.
//! - What stands behind the last whole append and belongs to no other was never answered: the writer puts zeros there.
//!   A bad entry with another append behind it is damage.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::keys::KeyPaths;
use super::keys::file::{Access, KeyFile, Poison};
use crate::codec::{ENTRY_BYTES, Entry, EntryKind, KEY_HEAD_BYTES, KeyFault, KeyHead, LedgerEntry};
use crate::contract::{Address, Code, Error, ErrorKind, Result};
use crate::io::Vfs;

const LEDGER_MAGIC: [u8; 8] = *b"CLERASED";
/// What is kept free, at least.
const RESERVE_BYTES: u64 = 32 << 10;
/// By how much the file grows beyond what is needed.
const GROWTH_BYTES: u64 = 64 << 10;
/// How much is read at once.
const READ_BYTES: usize = 64 << 10;
/// Times a damaged ledger is read before it is called damaged: a writer may be in the midst of it.
const READS: u32 = 3;
/// One append holds at most this many entries.
const APPEND_MAX: usize = 1 << 20;

/// What the entries add up to.
#[derive(Default)]
struct Held {
    /// Every address with a tombstone, and whether it was revived since.
    tombstones: HashMap<Address, bool>,
    /// How many entries there are.
    entries: u64,
}

impl Held {
    fn take(&mut self, entry: &Entry) {
        // One subject's erasure leaves the content to the others.
        if entry.subject != [0; 32] {
            return;
        }
        match entry.kind {
            EntryKind::Shredded => {
                self.tombstones.insert(entry.address, false);
            }
            EntryKind::Revived => {
                if let Some(revived) = self.tombstones.get_mut(&entry.address) {
                    *revived = true;
                }
            }
        }
    }
}

/// Where reading stopped.
enum Stop {
    /// At free space.
    Free,
    /// At an append that is not whole: from an ordinal up to the one behind its last bytes.
    Torn {
        /// Its first entry.
        from: u64,
        /// Behind its last bytes.
        to: u64,
    },
}

/// The erasure ledger of a store.
pub struct Ledger {
    file: KeyFile,
    poison: Poison,
    store: [u8; 16],
    held: Mutex<Held>,
}

fn offset_of(ordinal: u64) -> u64 {
    ordinal.saturating_mul(ENTRY_BYTES as u64).saturating_add(KEY_HEAD_BYTES as u64)
}

impl Ledger {
    /// Makes the ledger if it is missing or zeros, with its reserve; the file is synced when it returns, its name is not.
    ///
    /// # Errors
    /// `Corrupt` for a file that is something else; what the system reports.
    pub(super) fn create(vfs: &dyn Vfs, path: PathBuf, store: &[u8; 16]) -> Result<()> {
        let file = KeyFile::made(vfs, path)?;
        let mut bytes = vec![0; KEY_HEAD_BYTES];
        file.read(&mut bytes, 0)?;
        let head = KeyHead { magic: LEDGER_MAGIC, store: *store };
        if bytes.iter().all(|byte| *byte == 0) {
            file.write_new(&zeros(GROWTH_BYTES), KEY_HEAD_BYTES as u64)?;
            file.write_new(&head.to_bytes(), 0)?;
        } else {
            head.check(&bytes).map_err(|fault| file.fault(fault, 0))?;
        }
        file.sync()
    }

    /// Opens the ledger and reads all of it; a writer puts zeros over an append that a crash cut short, and syncs. Cost:
    /// the file, read once; 40 bytes of memory for each address.
    ///
    /// # Errors
    /// `Corrupt` with path and offset: a bad entry with others behind it; `Unsupported`; what the system reports.
    pub fn open(vfs: &Arc<dyn Vfs>, paths: &KeyPaths, store: &[u8; 16], access: Access) -> Result<Self> {
        let poison = Poison::default();
        let file = KeyFile::held(&**vfs, paths.erasures(), access, &poison)?;
        let mut head = vec![0; KEY_HEAD_BYTES];
        file.read(&mut head, 0)?;
        KeyHead { magic: LEDGER_MAGIC, store: *store }.check(&head).map_err(|fault| file.fault(fault, 0))?;
        let ledger = Self { file, poison, store: *store, held: Mutex::default() };
        let mut reads = 1;
        let stop = loop {
            let mut held = Held::default();
            let stop = ledger.read(&mut held);
            *ledger.held.lock() = held;
            match stop {
                // A writer may be in the midst of it.
                Err(e) if e.kind() == ErrorKind::Corrupt && access == Access::Read && reads < READS => {
                    reads += 1;
                }
                stop => break stop?,
            }
        };
        if access == Access::Write {
            if let Stop::Torn { from, to } = stop {
                tracing::warn!(entries = to - from, "an erasure that was never answered is taken back");
                ledger.clear(from, to)?;
            }
            // A process that was killed may not have synced what is in memory now.
            ledger.file.sync()?;
        }
        Ok(ledger)
    }

    /// Reads on from the entries that are held, and takes up each append that is whole.
    fn read(&self, held: &mut Held) -> Result<Stop> {
        let mut append: Vec<Entry> = Vec::new();
        let mut places = Places::new(self, held.entries);
        while let Some((ordinal, bytes)) = places.next()? {
            let offset = offset_of(ordinal);
            let read = LedgerEntry::from_bytes(&bytes, &self.store, ordinal);
            let Some(found) = read.map_err(|fault| self.file.fault(fault, offset))? else {
                return self.read_behind(held.entries, ordinal, &bytes, places);
            };
            if u64::from(found.index) != ordinal - held.entries || append.len() >= APPEND_MAX {
                let fault = KeyFault::Damaged("an entry of the ledger does not follow the one before");
                return Err(self.file.fault(fault, offset));
            }
            append.push(found.entry);
            if found.is_last {
                append.drain(..).for_each(|entry| held.take(&entry));
                held.entries = ordinal + 1;
            }
        }
        let to = held.entries + append.len() as u64;
        Ok(if append.is_empty() { Stop::Free } else { Stop::Torn { from: held.entries, to } })
    }

    /// Judges the first place that holds no entry, by what stands behind it: nothing, or the rest of one append that
    /// starts at `from`.
    fn read_behind(
        &self,
        from: u64,
        bad: u64,
        bytes: &[u8; ENTRY_BYTES],
        mut places: Places<'_>,
    ) -> Result<Stop> {
        let is_free = |bytes: &[u8; ENTRY_BYTES]| bytes.iter().all(|byte| *byte == 0);
        let mut to = if is_free(bytes) { bad } else { bad + 1 };
        while let Some((ordinal, bytes)) =
            places.next()?.filter(|(ordinal, _)| ordinal - from < APPEND_MAX as u64)
        {
            match LedgerEntry::from_bytes(&bytes, &self.store, ordinal) {
                Ok(None) if is_free(&bytes) => {}
                Ok(None) => to = ordinal + 1,
                Ok(Some(found)) if ordinal - u64::from(found.index) == from => to = ordinal + 1,
                _ => {
                    let fault =
                        KeyFault::Damaged("an entry of the ledger is damaged, and others stand behind it");
                    return Err(self.file.fault(fault, offset_of(bad)));
                }
            }
        }
        Ok(if to == from { Stop::Free } else { Stop::Torn { from, to } })
    }

    fn clear(&self, from: u64, to: u64) -> Result<()> {
        let (mut at, end) = (offset_of(from), offset_of(to));
        while at < end {
            let zeros = zeros((end - at).min(GROWTH_BYTES));
            self.file.write(&zeros, at)?;
            at += zeros.len() as u64;
        }
        Ok(())
    }

    /// Reports whether an address has a tombstone, revived or not.
    pub fn is_shredded(&self, address: &Address) -> bool {
        self.held.lock().tombstones.contains_key(address)
    }

    /// Reports whether an address has a tombstone and was not revived since.
    pub fn blocks(&self, address: &Address) -> bool {
        self.held.lock().tombstones.get(address).is_some_and(|revived| !revived)
    }

    /// Returns how many addresses have a tombstone.
    pub fn shredded(&self) -> u64 {
        self.held.lock().tombstones.len() as u64
    }

    /// Appends entries, all of them or none; synced when it returns. Works on a full disk as long as the reserve lasts.
    /// Cost: a write and a sync.
    ///
    /// # Errors
    /// `Invalid` for more than 2^20 entries; `ReadOnly`, `Poisoned`, what the system reports. None is there then, unless
    /// the sync failed: whether they are is known once the store is opened again.
    pub fn append(&self, entries: &[Entry]) -> Result<()> {
        let Some(last) = entries.len().checked_sub(1) else { return Ok(()) };
        if entries.len() > APPEND_MAX {
            return Err(Error::invalid(
                Code::Limit,
                format!("one append takes {APPEND_MAX} erasures at most"),
            ));
        }
        let mut held = self.held.lock();
        self.file.check_writable()?;
        let mut bytes = Vec::with_capacity(entries.len() * ENTRY_BYTES);
        for ((index, entry), ordinal) in entries.iter().enumerate().zip(held.entries..) {
            let (is_last, index) = (index == last, u32::try_from(index).unwrap_or(u32::MAX));
            let entry = LedgerEntry { ordinal, entry: *entry, index, is_last };
            bytes.extend_from_slice(&entry.to_bytes(&self.store));
        }
        let start = offset_of(held.entries);
        let size = self.reserve(start + bytes.len() as u64)?;
        if let Err(e) = self.file.write(&bytes, start) {
            // Part of an append in front of the next one would be damage.
            if !self.file.take_back(start, bytes.len(), size) {
                self.poison.set();
            }
            return Err(e);
        }
        self.file.sync()?;
        held.entries += entries.len() as u64;
        for entry in entries {
            held.take(entry);
        }
        Ok(())
    }

    /// Sees to it that the file reaches beyond `end`, and returns its size. It may be refused room for the reserve, but
    /// not what is needed now.
    fn reserve(&self, end: u64) -> Result<u64> {
        let size = self.file.size()?;
        if size >= end.saturating_add(RESERVE_BYTES) {
            return Ok(size);
        }
        let room = end.saturating_add(GROWTH_BYTES).saturating_sub(size);
        let Err(e) = self.file.write(&zeros(room), size) else { return Ok(size + room) };
        let grown = self.file.size()?;
        if grown >= end {
            tracing::warn!(error = %e, "the reserve of the erasure ledger did not grow");
            return Ok(grown);
        }
        self.file.try_set_size(size);
        Err(e)
    }

    /// Takes up what another process appended since. Cost: one read of 128 bytes when nothing was.
    ///
    /// # Errors
    /// What the system reports.
    pub fn refresh(&self) -> Result<()> {
        let mut held = self.held.lock();
        let mut next = [0; ENTRY_BYTES];
        self.file.read(&mut next, offset_of(held.entries))?;
        if next.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        match self.read(&mut held) {
            // The writer is in the midst of it, or damage that the next opening tells of.
            Err(e) if e.kind() == ErrorKind::Corrupt => Ok(()),
            read => read.map(drop),
        }
    }

    /// Returns all entries in their order, read from the file.
    pub fn entries(&self) -> Entries<'_> {
        let end = self.held.lock().entries;
        Entries { end, places: Some(Places::new(self, 0)) }
    }
}

fn zeros(bytes: u64) -> Vec<u8> {
    vec![0; usize::try_from(bytes).unwrap_or(0)]
}

/// The bytes of entries, one place after the other, up to the end of the file.
struct Places<'a> {
    ledger: &'a Ledger,
    next: u64,
    buffer: Vec<u8>,
    /// Where in the buffer the next place stands, and where the bytes read end.
    at: usize,
    end: usize,
}

impl<'a> Places<'a> {
    fn new(ledger: &'a Ledger, next: u64) -> Self {
        Self { ledger, next, buffer: Vec::new(), at: 0, end: 0 }
    }

    fn next(&mut self) -> Result<Option<(u64, [u8; ENTRY_BYTES])>> {
        if self.at >= self.end {
            self.buffer.resize(READ_BYTES, 0);
            self.end = self.ledger.file.read(&mut self.buffer, offset_of(self.next))?;
            self.at = 0;
        }
        let bytes = self.buffer.get(self.at..).and_then(|rest| rest.first_chunk::<ENTRY_BYTES>());
        // The last place may be cut by the end of the file: zeros stand behind it in the buffer.
        let Some(bytes) = bytes.filter(|_| self.at < self.end).copied() else { return Ok(None) };
        let ordinal = self.next;
        self.next += 1;
        self.at += ENTRY_BYTES;
        Ok(Some((ordinal, bytes)))
    }
}

/// All entries of a ledger, in their order.
pub struct Entries<'a> {
    end: u64,
    /// `None` once it failed.
    places: Option<Places<'a>>,
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let places = self.places.as_mut().filter(|places| places.next < self.end)?;
        let ledger = places.ledger;
        let damaged = |ordinal| {
            let fault = KeyFault::Damaged("an entry of the ledger is damaged");
            ledger.file.fault(fault, offset_of(ordinal))
        };
        let ordinal = places.next;
        let read = places.next().and_then(|found| {
            let (ordinal, bytes) = found.ok_or_else(|| damaged(ordinal))?;
            match LedgerEntry::from_bytes(&bytes, &ledger.store, ordinal) {
                Ok(Some(found)) => Ok(found.entry),
                Ok(None) => Err(damaged(ordinal)),
                Err(fault) => Err(ledger.file.fault(fault, offset_of(ordinal))),
            }
        });
        if read.is_err() {
            self.places = None;
        }
        Some(read)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held.lock();
        f.debug_struct("Ledger")
            .field("file", &self.file)
            .field("entries", &held.entries)
            .field("shredded", &held.tombstones.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entries(up to {})", self.end)
    }
}
