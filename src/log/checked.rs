//! What was checked once and need not be again: frames by place, tables by partition.
//!
//! Invariant: a mark is set after a check passed, and bytes under a mapping do not change; so a mark may be
//! lost, but never wrong. Orderings are relaxed: the bytes were there before the mark was.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::codec::{Fingerprint, Partition, TableEntry, TableError, TableLayout};

use super::trouble::to_usize;

/// Bytes that share a mark. The shortest frame of an event is longer, so no two frames start within.
const MARK_BYTES: u64 = 64;

/// Words of a chunk of marks, which stand for 4 MiB of the file.
const CHUNK_WORDS: usize = 1024;

const CHUNK_BYTES: u64 = MARK_BYTES * 64 * 1024;

/// Marks for the frames of one file: a bit for 64 bytes, in chunks of 8 KiB where frames are read.
#[derive(Debug)]
pub(super) struct FrameMarks(Box<[OnceLock<Chunk>]>);

type Chunk = Box<[AtomicU64; CHUNK_WORDS]>;

impl FrameMarks {
    pub(super) fn new(file_bytes: u64) -> Self {
        let chunks = to_usize(file_bytes.div_ceil(CHUNK_BYTES));
        Self(std::iter::repeat_with(OnceLock::new).take(chunks).collect())
    }

    fn chunk(&self, offset: u64) -> Option<&OnceLock<Chunk>> {
        self.0.get(to_usize(offset / CHUNK_BYTES))
    }

    pub(super) fn is_set(&self, offset: u64) -> bool {
        let slot = self.chunk(offset).and_then(OnceLock::get).and_then(|chunk| slot(chunk, offset));
        slot.is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub(super) fn set(&self, offset: u64) {
        let chunk = self
            .chunk(offset)
            .map(|chunk| chunk.get_or_init(|| Box::new([const { AtomicU64::new(0) }; CHUNK_WORDS])));
        if let Some((word, bit)) = chunk.and_then(|chunk| slot(chunk, offset)) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }
}

fn slot(chunk: &Chunk, offset: u64) -> Option<(&AtomicU64, u64)> {
    let mark = offset % CHUNK_BYTES / MARK_BYTES;
    Some((chunk.get(to_usize(mark / 64))?, 1 << (mark % 64)))
}

const FILTER_CHECKED: u8 = 1;
const ENTRIES_CHECKED: u8 = 2;

/// A fingerprint table whose partitions are checked when they are first asked.
#[derive(Debug)]
pub(super) struct CheckedTable {
    layout: TableLayout,
    marks: Box<[AtomicU8]>,
}

impl CheckedTable {
    /// Checks foot and descriptors.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let layout = TableLayout::read(bytes)?;
        let marks = std::iter::repeat_with(AtomicU8::default).take(layout.partitions()).collect();
        Ok(Self { layout, marks })
    }

    pub(super) fn layout(&self) -> &TableLayout {
        &self.layout
    }

    /// Finds the entries of a fingerprint in the table that `bytes` are: the filter first, then the entries.
    pub(super) fn find<'a>(
        &self,
        bytes: &'a [u8],
        fingerprint: Fingerprint,
    ) -> Result<TableHits<'a>, TableError> {
        let number = self.layout.partition_of(fingerprint);
        let partition = self.checked_filter(bytes, number)?;
        if !partition.may_contain(fingerprint) {
            return Ok(TableHits::default());
        }
        self.check_entries(&partition, number)?;
        let range = partition.find(&self.layout, fingerprint);
        Ok(TableHits { partition: Some(partition), range })
    }

    /// Returns a partition with its entries checked.
    pub(super) fn partition<'a>(&self, bytes: &'a [u8], number: usize) -> Result<Partition<'a>, TableError> {
        let gone = TableError::Damaged { what: "a partition" };
        let partition = self.layout.partition(bytes, number).ok_or(gone)?;
        self.check_entries(&partition, number)?;
        Ok(partition)
    }

    fn checked_filter<'a>(&self, bytes: &'a [u8], number: usize) -> Result<Partition<'a>, TableError> {
        let gone = TableError::Damaged { what: "a partition" };
        let partition = self.layout.partition(bytes, number).ok_or(gone)?;
        self.once(number, FILTER_CHECKED, "filter", || partition.filter_checks())?;
        Ok(partition)
    }

    fn check_entries(&self, partition: &Partition<'_>, number: usize) -> Result<(), TableError> {
        self.once(number, ENTRIES_CHECKED, "partition", || partition.entries_check())
    }

    fn once(
        &self,
        number: usize,
        bit: u8,
        what: &'static str,
        check: impl FnOnce() -> bool,
    ) -> Result<(), TableError> {
        let marks = self.marks.get(number);
        if marks.is_some_and(|marks| marks.load(Ordering::Relaxed) & bit != 0) {
            return Ok(());
        }
        if !check() {
            return Err(TableError::Checksum { what });
        }
        if let Some(marks) = marks {
            marks.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Entries that share a fingerprint, rising by their columns.
#[derive(Clone, Debug, Default)]
pub(super) struct TableHits<'a> {
    partition: Option<Partition<'a>>,
    range: Range<usize>,
}

impl Iterator for TableHits<'_> {
    type Item = TableEntry;

    fn next(&mut self) -> Option<TableEntry> {
        let index = self.range.next()?;
        self.partition.as_ref()?.entry(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl DoubleEndedIterator for TableHits<'_> {
    fn next_back(&mut self) -> Option<TableEntry> {
        let index = self.range.next_back()?;
        self.partition.as_ref()?.entry(index)
    }
}
