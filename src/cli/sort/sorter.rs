//! Gathers records, spills them as sorted runs, and gives them back in order.
//!
//! Format of a run: records end to end, each `key (3 u64, little-endian), length (u32), value`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::merge::{FAN_IN, merge};
use super::spill::{Spill, SpillWriter, Window, cut};
use crate::contract::{Code, Error, Result};

/// What records are sorted by: the numbers from left to right, the first one through a ranking.
pub(crate) type Key = [u64; 3];

/// Length of key and value length.
const HEADER_BYTES: usize = 28;
/// Memory of a record beyond its value.
const ENTRY_BYTES: usize = size_of::<Entry>();
/// Window of a front-to-back read.
const READ_BYTES: usize = 1 << 18;

/// A record in memory: its key and where its value lies.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    start: usize,
    len: u32,
}

/// A sorted stretch of a temporary file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) end: u64,
    first: Key,
    last: Key,
}

/// Gathers records. Memory: the budget, and one record beyond it.
#[derive(Debug)]
pub(crate) struct Sorter {
    dir: PathBuf,
    budget_bytes: usize,
    values: Vec<u8>,
    entries: Vec<Entry>,
    spill: Option<SpillWriter>,
    runs: Vec<Run>,
    records: u64,
}

impl Sorter {
    /// Creates a sorter that spills to temporary files in `dir`.
    pub(crate) fn new(dir: &Path, budget_bytes: usize) -> Self {
        Self {
            dir: dir.to_path_buf(),
            budget_bytes,
            values: Vec::new(),
            entries: Vec::new(),
            spill: None,
            runs: Vec::new(),
            records: 0,
        }
    }

    /// Reports whether the budget is used up: call [`spill`](Self::spill) before the next push.
    pub(crate) fn is_full(&self) -> bool {
        self.values.len() + self.entries.len() * ENTRY_BYTES >= self.budget_bytes
    }

    /// Adds a record; `write` appends its value.
    ///
    /// # Errors
    /// `LIMIT` when the value is 4 GiB long.
    pub(crate) fn push(&mut self, key: Key, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.values.len();
        write(&mut self.values);
        let len = u32::try_from(self.values.len() - start)
            .map_err(|_| Error::invalid(Code::Limit, "a record is too long to sort"))?;
        self.entries.push(Entry { key, start, len });
        self.records += 1;
        Ok(())
    }

    /// Writes what memory holds as a sorted run.
    ///
    /// `rank` maps the first number of a key to its rank. Between calls it may change, as long as no
    /// two numbers that it knew before change places.
    ///
    /// # Errors
    /// Kind `Io` when the temporary file cannot be written.
    pub(crate) fn spill(&mut self, rank: impl Fn(u64) -> u64) -> Result<()> {
        self.entries.sort_unstable_by_key(|entry| ranked(entry.key, &rank));
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return Ok(()) };
        let (first, last) = (first.key, last.key);
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(SpillWriter::create(&self.dir)?),
        };
        let start = spill.len();
        for entry in &self.entries {
            let len = usize::try_from(entry.len).map_err(|_| cut())?;
            let value = self.values.get(entry.start..entry.start + len).ok_or_else(cut)?;
            append(spill, entry.key, value)?;
        }
        self.runs.push(Run { start, end: spill.len(), first, last });
        self.entries.clear();
        self.values.clear();
        Ok(())
    }

    /// Sorts everything. `rank` as in [`spill`](Self::spill).
    ///
    /// # Errors
    /// Kind `Io` when the temporary files cannot be written or read.
    pub(crate) fn finish(mut self, rank: impl Fn(u64) -> u64) -> Result<Sorted> {
        self.spill(&rank)?;
        (self.entries, self.values) = (Vec::new(), Vec::new());
        let mut writer = match self.spill {
            Some(writer) => writer,
            None => SpillWriter::create(&self.dir)?,
        };
        let mut runs = self.runs;
        while !in_order(&runs, &rank) {
            let from = writer.finish()?;
            writer = SpillWriter::create(&self.dir)?;
            let mut merged = Vec::with_capacity(runs.len() / FAN_IN + 1);
            for group in runs.chunks(FAN_IN) {
                let start = writer.len();
                merge(&from, group, &rank, &mut writer, self.budget_bytes)?;
                // Runs of a group are merged to one; its bounds are the least and the greatest of theirs.
                let first = group.iter().map(|run| run.first).min_by_key(|key| ranked(*key, &rank));
                let last = group.iter().map(|run| run.last).max_by_key(|key| ranked(*key, &rank));
                if let (Some(first), Some(last)) = (first, last) {
                    merged.push(Run { start, end: writer.len(), first, last });
                }
            }
            runs = merged;
        }
        Ok(Sorted { spill: writer.finish()?, records: self.records })
    }
}

/// Reports whether the runs, end to end, are one sorted run.
fn in_order(runs: &[Run], rank: impl Fn(u64) -> u64) -> bool {
    runs.is_sorted_by(|a, b| ranked(a.last, &rank) <= ranked(b.first, &rank))
}

/// Returns the key that compares as the ranking says.
pub(super) fn ranked([first, second, third]: Key, rank: impl Fn(u64) -> u64) -> Key {
    [rank(first), second, third]
}

/// Writes a record.
pub(super) fn append(spill: &mut SpillWriter, key: Key, value: &[u8]) -> Result<()> {
    let mut header = [0; HEADER_BYTES];
    let (words, len) = header.split_at_mut(24);
    for (place, word) in words.chunks_exact_mut(8).zip(key) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    len.copy_from_slice(&u32::try_from(value.len()).map_err(|_| cut())?.to_le_bytes());
    spill.append(&header)?;
    spill.append(value)
}

/// Records in their order, on disk.
#[derive(Clone, Debug)]
pub(crate) struct Sorted {
    spill: Arc<Spill>,
    records: u64,
}

impl Sorted {
    /// Returns the number of records.
    pub(crate) fn len(&self) -> u64 {
        self.records
    }

    /// Returns the position behind the last record.
    pub(crate) fn bytes(&self) -> u64 {
        self.spill.len()
    }

    /// Reads all records.
    pub(crate) fn records(&self) -> Records {
        self.part(0, self.spill.len(), READ_BYTES)
    }

    /// Reads the records from one position up to another, through a window of its own.
    pub(crate) fn part(&self, start: u64, end: u64, window_bytes: usize) -> Records {
        Records::new(Arc::clone(&self.spill), start, end, window_bytes)
    }
}

/// The records of a sorted stretch, front to back: first the [`header`](Self::header) of each, then,
/// where it is wanted, its [`value`](Self::value).
#[derive(Debug)]
pub(crate) struct Records {
    window: Window,
    /// Length of the value that the window stands before.
    pending: usize,
}

/// A record's key, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// What it is sorted by.
    pub(crate) key: Key,
    /// Where the record starts; [`Sorted::part`] reads from there.
    pub(crate) position: u64,
}

impl Records {
    pub(super) fn new(spill: Arc<Spill>, start: u64, end: u64, window_bytes: usize) -> Self {
        Self { window: Window::new(spill, start, end, window_bytes), pending: 0 }
    }

    /// Goes to the next record, past the value of the current one if nobody took it.
    ///
    /// # Errors
    /// Kind `Io` when the temporary file cannot be read.
    pub(crate) fn header(&mut self) -> Result<Option<Record>> {
        let pending = std::mem::take(&mut self.pending);
        self.window.skip(pending)?;
        if self.window.is_at_end() {
            return Ok(None);
        }
        let position = self.window.position();
        let (words, len) = self.window.take(HEADER_BYTES)?.split_at(24);
        let mut key = [0; 3];
        for (word, bytes) in key.iter_mut().zip(words.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let len = len.first_chunk().copied().map(u32::from_le_bytes).ok_or_else(cut)?;
        self.pending = usize::try_from(len).map_err(|_| cut())?;
        Ok(Some(Record { key, position }))
    }

    /// Takes the value of the current record; empty when it was taken before.
    ///
    /// # Errors
    /// Kind `Io` when the temporary file cannot be read.
    pub(crate) fn value(&mut self) -> Result<&[u8]> {
        let pending = std::mem::take(&mut self.pending);
        self.window.take(pending)
    }

    /// Goes to the record at a position.
    pub(crate) fn seek(&mut self, position: u64) {
        self.pending = 0;
        self.window.seek(position);
    }

    /// Returns the window's memory.
    #[cfg(test)]
    pub(crate) fn window_bytes(&self) -> usize {
        self.window.bytes()
    }

    /// Gives the window's memory back until the next read.
    pub(crate) fn release(&mut self) {
        self.window.release();
    }
}
