//! The active pack: takes records at its end, and finds them by address in memory.
//!
//! Invariants:
//! - Entries are published after their record is written whole, under one lock: whoever finds an entry can read it.
//! - One writer appends at a time; the vault's lock sees to that.
//! - Entries of one address are a chain from the newest to the oldest.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::scan::Source;
use super::trouble::io_error;
use crate::codec::FooterEntry;
use crate::contract::{Address, Result};
use crate::io::VfsFile;

/// The pack that takes records.
#[derive(Debug)]
pub(super) struct Active {
    number: u64,
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    /// Synced up to here.
    durable: AtomicU64,
    index: RwLock<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// By rising offset, each with the entry of the same address before it.
    entries: Vec<(FooterEntry, Option<u32>)>,
    newest: HashMap<Address, u32>,
    /// Where the next record goes.
    end: u64,
    records: u64,
    aliases: u64,
}

impl Active {
    pub(super) fn new(number: u64, path: PathBuf, file: Arc<dyn VfsFile>, end: u64) -> Self {
        Self {
            number,
            path,
            file,
            durable: AtomicU64::new(0),
            index: RwLock::new(Index { end, ..Index::default() }),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &Arc<dyn VfsFile> {
        &self.file
    }

    /// Returns where the next record goes.
    pub(super) fn end(&self) -> u64 {
        self.index.read().end
    }

    /// Returns up to where it is synced.
    pub(super) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Says that it is synced up to an end.
    pub(super) fn confirm(&self, end: u64) {
        self.durable.fetch_max(end, Ordering::AcqRel);
    }

    pub(super) fn records(&self) -> u64 {
        self.index.read().records
    }

    pub(super) fn aliases(&self) -> u64 {
        self.index.read().aliases
    }

    /// Publishes a record that was written at the end, whose next one goes to `end`.
    pub(super) fn publish(&self, entries: Vec<FooterEntry>, end: u64) {
        let mut index = self.index.write();
        index.end = end;
        index.records += 1;
        for entry in entries {
            let Ok(number) = u32::try_from(index.entries.len()) else { return };
            let before = index.newest.insert(entry.address, number);
            index.aliases += u64::from(entry.alias);
            index.entries.push((entry, before));
        }
    }

    /// Moves the end to where a scan found it: behind what is damaged or lost too.
    pub(super) fn publish_end(&self, end: u64) {
        self.index.write().end = end;
    }

    /// Returns the entries of an address, newest first.
    pub(super) fn find(&self, address: &Address) -> Vec<FooterEntry> {
        let index = self.index.read();
        let mut next = index.newest.get(address).copied();
        let mut found = Vec::new();
        while let Some((entry, before)) =
            next.and_then(|number| index.entries.get(usize::try_from(number).unwrap_or(usize::MAX)))
        {
            found.push(*entry);
            next = *before;
        }
        found
    }

    /// Returns all entries, by rising offset.
    pub(super) fn all(&self) -> Vec<FooterEntry> {
        self.index.read().entries.iter().map(|(entry, _)| *entry).collect()
    }

    /// Reads up to `buffer.len()` bytes at an offset.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.file.read_at(buffer, offset).map_err(|e| io_error("read a pack", &self.path, e))
    }
}

impl Source for Active {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        Active::read(self, buffer, offset)
    }
}
