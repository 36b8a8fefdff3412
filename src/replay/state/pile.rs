//! Records, gathered in any order and given back sorted: an external merge sort.
//!
//! Invariants:
//! - Memory holds records up to a budget. What goes beyond lies in one temporary file as sorted runs, each whole.
//! - What comes out is a function of what went in, whatever the budget.
//!
//! Format of a run: records end to end, each `key (16), position (8), length (2), value`, little-endian.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::contract::{Code, Error, Result};

use super::scratch::{Scratch, ScratchFile, cut};
use super::wire::{In, Out, Wire};

/// Memory that a record takes beside its value; budgets are counted in records of this size.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// Bytes of a record in a run before its value.
const HEAD_BYTES: usize = 26;

/// Memory that all runs share while they are merged, and what one has at the least and the most.
const MERGE_BYTES: usize = 1 << 21;
const WINDOW_BYTES: [usize; 2] = [1 << 12, 1 << 16];

/// A record: sorted by key, then by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::replay) struct Record {
    pub(in crate::replay) key: u128,
    pub(in crate::replay) position: u64,
    pub(in crate::replay) value: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u128,
    position: u64,
    start: u32,
    length: u16,
}

/// Gathers records.
#[derive(Debug)]
pub(in crate::replay) struct Pile {
    budget_bytes: usize,
    entries: Vec<Entry>,
    values: Vec<u8>,
    spilled: Option<ScratchFile>,
    runs: Vec<Range<u64>>,
    records: u64,
}

impl Pile {
    /// Starts an empty pile that keeps about so many records in memory; fewer where they have values.
    pub(in crate::replay) const fn new(records_max: usize) -> Self {
        let budget_bytes = records_max.saturating_mul(ENTRY_BYTES);
        Self {
            budget_bytes,
            entries: Vec::new(),
            values: Vec::new(),
            spilled: None,
            runs: Vec::new(),
            records: 0,
        }
    }

    /// Adds a record, and spills first if there is no room for it.
    pub(in crate::replay) fn push(
        &mut self,
        scratch: &Scratch,
        key: u128,
        position: u64,
        value: &[u8],
    ) -> Result<()> {
        let held = self.entries.len().saturating_mul(ENTRY_BYTES).saturating_add(self.values.len());
        let start = u32::try_from(self.values.len()).ok().filter(|_| held < self.budget_bytes);
        let start = match start {
            Some(start) => start,
            None => {
                self.spill(scratch)?;
                0
            }
        };
        let length = u16::try_from(value.len()).map_err(|_| too_long())?;
        self.values.extend_from_slice(value);
        self.entries.push(Entry { key, position, start, length });
        self.records += 1;
        Ok(())
    }

    /// Writes what is in memory as a sorted run, and gives the memory back.
    pub(in crate::replay) fn spill(&mut self, scratch: &Scratch) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.sort();
        let file = match &mut self.spilled {
            Some(file) => file,
            none => none.insert(scratch.create()?),
        };
        let start = file.len();
        for entry in std::mem::take(&mut self.entries) {
            file.append(&entry.key.to_le_bytes())?;
            file.append(&entry.position.to_le_bytes())?;
            file.append(&entry.length.to_le_bytes())?;
            file.append(value_of(&self.values, entry))?;
        }
        file.flush()?;
        self.runs.push(start..file.len());
        self.values = Vec::new();
        Ok(())
    }

    fn sort(&mut self) {
        self.entries.sort_unstable_by_key(|entry| (entry.key, entry.position));
    }

    /// Gives all records, sorted. Those of the same key and position come in any order.
    pub(in crate::replay) fn merged(&mut self) -> Result<Merged<'_>> {
        self.sort();
        let window = (MERGE_BYTES / self.runs.len().max(1)).clamp(WINDOW_BYTES[0], WINDOW_BYTES[1]);
        let mut merged = Merged {
            memory: (self.entries.iter(), &self.values),
            runs: self
                .spilled
                .iter()
                .flat_map(|file| self.runs.iter().map(move |run| Run::new(file, run, window)))
                .collect(),
            heads: BinaryHeap::new(),
        };
        merged.refill_memory();
        for number in 0..merged.runs.len() {
            merged.refill(number)?;
        }
        Ok(merged)
    }

    /// Writes all records, sorted.
    pub(in crate::replay) fn write(&mut self, out: &mut Out<'_>) -> Result<()> {
        self.records.write(out)?;
        let mut records = self.merged()?;
        while let Some(Record { key, position, value }) = records.next()? {
            key.write(out)?;
            position.write(out)?;
            out.bytes_with_length(&value)?;
        }
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(in crate::replay) fn read(records_max: usize, scratch: &Scratch, from: &mut In<'_>) -> Result<Self> {
        let mut pile = Self::new(records_max);
        for _ in 0..u64::read(from)? {
            let (key, position) = (u128::read(from)?, u64::read(from)?);
            pile.push(scratch, key, position, &from.bytes_with_length()?)?;
        }
        Ok(pile)
    }
}

fn too_long() -> Error {
    Error::invalid(Code::Limit, "a name in an event is too long for a replay")
}

fn value_of(values: &[u8], entry: Entry) -> &[u8] {
    let start = usize::try_from(entry.start).unwrap_or(usize::MAX);
    values.get(start..start.saturating_add(usize::from(entry.length))).unwrap_or_default()
}

/// The records of a pile, sorted.
pub(in crate::replay) struct Merged<'p> {
    memory: (std::slice::Iter<'p, Entry>, &'p [u8]),
    runs: Vec<Run<'p>>,
    /// The next record of each source. The source behind the last run is memory.
    heads: BinaryHeap<Reverse<Head>>,
}

/// Key, position, source and value.
type Head = (u128, u64, usize, Vec<u8>);

impl Merged<'_> {
    /// Returns the next record.
    pub(in crate::replay) fn next(&mut self) -> Result<Option<Record>> {
        let Some(Reverse((key, position, source, value))) = self.heads.pop() else { return Ok(None) };
        if source == self.runs.len() {
            self.refill_memory();
        } else {
            self.refill(source)?;
        }
        Ok(Some(Record { key, position, value }))
    }

    fn refill_memory(&mut self) {
        let (entries, values) = &mut self.memory;
        if let Some(entry) = entries.next() {
            let value = value_of(values, *entry).to_vec();
            self.heads.push(Reverse((entry.key, entry.position, self.runs.len(), value)));
        }
    }

    fn refill(&mut self, number: usize) -> Result<()> {
        if let Some(Record { key, position, value }) =
            self.runs.get_mut(number).map_or(Ok(None), Run::next)?
        {
            self.heads.push(Reverse((key, position, number, value)));
        }
        Ok(())
    }
}

/// Reads one run through a window.
struct Run<'p> {
    file: &'p ScratchFile,
    at: u64,
    end: u64,
    window_bytes: usize,
    window: Vec<u8>,
    used: usize,
}

impl<'p> Run<'p> {
    fn new(file: &'p ScratchFile, run: &Range<u64>, window_bytes: usize) -> Self {
        Self { file, at: run.start, end: run.end, window_bytes, window: Vec::new(), used: 0 }
    }

    fn next(&mut self) -> Result<Option<Record>> {
        if self.used == self.window.len() && self.at == self.end {
            return Ok(None);
        }
        let key = u128::from_le_bytes(self.array()?);
        let position = u64::from_le_bytes(self.array()?);
        let length = usize::from(u16::from_le_bytes(self.array()?));
        Ok(Some(Record { key, position, value: self.take(length)?.to_vec() }))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.first_chunk().copied().ok_or_else(cut)
    }

    fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        if self.window.len() - self.used < bytes {
            self.window.drain(..self.used);
            self.used = 0;
            let rest = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let kept = self.window.len();
            let more = rest.min(self.window_bytes.max(HEAD_BYTES).max(bytes - kept));
            self.window.resize(kept + more, 0);
            self.file.read(self.at, self.window.get_mut(kept..).unwrap_or_default())?;
            self.at += u64::try_from(more).unwrap_or(u64::MAX);
        }
        let taken = self.window.get(self.used..self.used + bytes).ok_or_else(cut)?;
        self.used += bytes;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::io::{MemoryVfs, Vfs};

    fn scratch() -> Scratch {
        let vfs = MemoryVfs::new();
        vfs.create_dir_all(Path::new("/tmp")).unwrap();
        Scratch::new(Arc::new(vfs), "/tmp".into())
    }

    fn all(pile: &mut Pile) -> Vec<(u128, u64, Vec<u8>)> {
        let mut merged = pile.merged().unwrap();
        std::iter::from_fn(|| merged.next().unwrap()).map(|one| (one.key, one.position, one.value)).collect()
    }

    proptest! {
        #[test]
        fn a_pile_is_a_sorted_list(
            keys in prop::collection::vec((0..9_u128, 0..3000_usize), 0..60),
            records_max in 0..70_usize,
            spilled_at in 0..60_usize,
        ) {
            let scratch = scratch();
            let mut pile = Pile::new(records_max);
            let mut plain = Vec::new();
            for (position, (key, length)) in (0..).zip(keys) {
                let value = vec![u8::try_from(key).unwrap(); length * (length % 3)];
                pile.push(&scratch, key << 100, position, &value).unwrap();
                if usize::try_from(position).unwrap() == spilled_at {
                    pile.spill(&scratch).unwrap();
                }
                plain.push((key << 100, position, value));
            }
            plain.sort();
            prop_assert_eq!(&all(&mut pile), &plain);

            let mut bytes = Vec::new();
            let mut out = Out::new(&mut bytes);
            pile.write(&mut out).unwrap();
            out.finish().unwrap();
            let mut bytes = bytes.as_slice();
            let mut read = In::new(&mut bytes);
            let mut again = Pile::read(3, &scratch, &mut read).unwrap();
            read.finish().unwrap();
            prop_assert_eq!(all(&mut again), plain);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let scratch = scratch();
        let mut pile = Pile::new(100);
        for position in 0..10_000 {
            pile.push(&scratch, u128::from(position % 7), position, b"0123456789").unwrap();
            assert!(pile.entries.len() <= 100 && pile.values.len() <= 1000);
        }
        assert_eq!(size_of::<Entry>(), 32);
        assert!(pile.runs.len() >= 100);
    }
}
