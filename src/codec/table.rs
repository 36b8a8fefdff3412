//! Fingerprint tables: sorted entries with filters, in partitions.
//!
//! An entry is a 64-bit fingerprint and one or two 32-bit columns. A table is cut into `2^bits` partitions by
//! the leading bits of the fingerprint, so that building one, and the first look into one, costs memory and
//! time for that partition alone, however large the table is.
//!
//! ```text
//! partitions, in order, each:
//!     f   filter of the distinct fingerprints (see `filter`), zeros up to a multiple of 8
//!    8n   fingerprints, u64, rising; equal ones are kept, rising by their columns
//!    4n   first column, u32
//!    4n   second column, u32, in tables of two columns
//!         zeros up to a multiple of 8
//! 2^bits descriptors of 40 bytes, each:
//!     0  8  offset of the partition from the table's start, u64
//!     8  4  entries, u32
//!    12  4  bytes of the filter without padding, u32; 0: no filter, every fingerprint may be held
//!    16  8  filter: seed, u64
//!    24  4  filter: length of a window, u32
//!    28  4  filter: length of all first places, u32
//!    32  4  CRC-32C of the filter with its padding
//!    36  4  CRC-32C of the entries with their padding
//! foot of 32 bytes:
//!     0  4  bits, u32, at most 24
//!     4  4  columns, u32, 1 or 2
//!     8  8  entries of the table, u64
//!    16  8  bytes of the whole table, u64
//!    24  4  CRC-32C of the descriptors
//!    28  4  CRC-32C of bytes 0 to 28 of the foot
//! ```
//!
//! Invariants:
//! - Little-endian. Partitions stand in order, without gaps, from the table's start.
//! - `bits` is a function of the count of entries, and so are all bytes of a table a function of its entries.
//! - Reading stays within the slice it is given and never panics, whatever the bytes say.

#[cfg(test)]
mod tests;
mod write;

use std::ops::Range;

use thiserror::Error;

use super::filter::FilterShape;
use super::fingerprint::Fingerprint;

pub use write::{TableWriter, write_table};

/// Bytes of the foot.
pub const TABLE_FOOT_BYTES: usize = 32;

const DESCRIPTOR_BYTES: usize = 40;
const BITS_MAX: u32 = 24;

/// Partitions hold half to all of this many entries, on average.
const PARTITION_ENTRIES: u64 = 1 << 16;

/// Why bytes are not a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// The foot or the descriptors do not match their checksum.
    #[error("the fingerprint table's {what} does not match its checksum")]
    Checksum {
        /// What does not match.
        what: &'static str,
    },
    /// A field cannot be.
    #[error("the fingerprint table is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
}

const fn damaged(what: &'static str) -> TableError {
    TableError::Damaged { what }
}

/// One entry; the second column is zero in tables of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableEntry {
    /// What it is found by.
    pub fingerprint: Fingerprint,
    /// The columns.
    pub columns: [u32; 2],
}

/// Where the parts of a checked table lie. Small, and independent of the bytes' lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLayout {
    bits: u32,
    columns: usize,
    entries: u64,
    descriptors: usize,
}

impl TableLayout {
    /// Reads and checks the foot and the descriptors of the table that `bytes` are, no more and no less.
    ///
    /// # Errors
    /// [`TableError`] naming the first thing that is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let (body, foot) = bytes.split_last_chunk::<TABLE_FOOT_BYTES>().ok_or(damaged("no foot"))?;
        let ([bits, columns], rest) = take_u32s::<2>(foot).ok_or(damaged("no foot"))?;
        let ([entries, whole], rest) = take_u64s::<2>(rest).ok_or(damaged("no foot"))?;
        let ([descriptors_crc, foot_crc], _) = take_u32s::<2>(rest).ok_or(damaged("no foot"))?;
        let covered = foot.get(..TABLE_FOOT_BYTES - 4).unwrap_or_default();
        if crc32c::crc32c(covered) != foot_crc {
            return Err(TableError::Checksum { what: "foot" });
        }
        if bits > BITS_MAX || usize::try_from(whole) != Ok(bytes.len()) {
            return Err(damaged("its size"));
        }
        let columns = match columns {
            1 => 1,
            2 => 2,
            _ => return Err(damaged("its columns")),
        };
        let descriptors_bytes = (1usize << bits) * DESCRIPTOR_BYTES;
        let descriptors = body.len().checked_sub(descriptors_bytes).ok_or(damaged("its size"))?;
        let layout = Self { bits, columns, entries, descriptors };
        let table = body.get(descriptors..).unwrap_or_default();
        if crc32c::crc32c(table) != descriptors_crc {
            return Err(TableError::Checksum { what: "list of partitions" });
        }
        layout.check_partitions(table)?;
        Ok(layout)
    }

    fn check_partitions(&self, table: &[u8]) -> Result<(), TableError> {
        let (mut end, mut entries) = (0usize, 0u64);
        for descriptor in table.as_chunks::<DESCRIPTOR_BYTES>().0 {
            let Some(descriptor) = Descriptor::from_bytes(descriptor) else {
                return Err(damaged("a partition"));
            };
            if usize::try_from(descriptor.offset) != Ok(end) {
                return Err(damaged("partitions do not follow one another"));
            }
            let bytes = descriptor.bytes(self.columns).ok_or(damaged("a partition's size"))?;
            end = end.checked_add(bytes).ok_or(damaged("a partition's size"))?;
            entries = entries.saturating_add(u64::from(descriptor.entries));
        }
        if end != self.descriptors || entries != self.entries {
            return Err(damaged("partitions do not add up"));
        }
        Ok(())
    }

    /// Returns the count of entries.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the count of partitions.
    #[must_use]
    pub const fn partitions(&self) -> usize {
        1 << self.bits
    }

    /// Returns the number of columns.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of the partition that holds a fingerprint.
    #[must_use]
    pub fn partition_of(&self, fingerprint: Fingerprint) -> usize {
        partition_of(self.bits, fingerprint)
    }

    /// Returns a partition of the table that `bytes` are; `None` when they are not those that were checked.
    #[must_use]
    pub fn partition<'a>(&self, bytes: &'a [u8], number: usize) -> Option<Partition<'a>> {
        let descriptors = bytes.get(self.descriptors..)?.as_chunks::<DESCRIPTOR_BYTES>().0;
        let descriptor = Descriptor::from_bytes(descriptors.get(number)?)?;
        let start = usize::try_from(descriptor.offset).ok()?;
        let whole = bytes.get(start..)?.get(..descriptor.bytes(self.columns)?)?;
        let entries = usize::try_from(descriptor.entries).ok()?;
        let filter_bytes = usize::try_from(descriptor.filter_bytes).ok()?;
        let (padded_filter, padded_entries) = whole.split_at_checked(filter_bytes.next_multiple_of(8))?;
        let (fingerprints, columns) = padded_entries.split_at_checked(entries * 8)?;
        let (first, rest) = columns.split_at_checked(entries * 4)?;
        let second = if self.columns == 2 { rest.get(..entries * 4)? } else { &[] };
        Some(Partition {
            descriptor,
            padded_filter,
            padded_entries,
            filter: padded_filter.get(..filter_bytes)?,
            fingerprints: fingerprints.as_chunks().0,
            first: first.as_chunks().0,
            second: second.as_chunks().0,
        })
    }
}

fn partition_of(bits: u32, fingerprint: Fingerprint) -> usize {
    let number = fingerprint.0.checked_shr(u64::BITS - bits).unwrap_or(0);
    usize::try_from(number).unwrap_or(0)
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    offset: u64,
    entries: u32,
    filter_bytes: u32,
    shape: FilterShape,
    filter_crc: u32,
    entries_crc: u32,
}

impl Descriptor {
    fn to_bytes(self) -> [u8; DESCRIPTOR_BYTES] {
        let mut out = [0; DESCRIPTOR_BYTES];
        let fields = [
            self.offset.to_le_bytes(),
            pair(self.entries, self.filter_bytes),
            self.shape.seed.to_le_bytes(),
            pair(self.shape.length, self.shape.count_length),
            pair(self.filter_crc, self.entries_crc),
        ];
        for (slot, field) in out.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *slot = field;
        }
        out
    }

    fn from_bytes(bytes: &[u8; DESCRIPTOR_BYTES]) -> Option<Self> {
        let ([offset], rest) = take_u64s::<1>(bytes)?;
        let ([entries, filter_bytes], rest) = take_u32s::<2>(rest)?;
        let ([seed], rest) = take_u64s::<1>(rest)?;
        let ([length, count_length, filter_crc, entries_crc], _) = take_u32s::<4>(rest)?;
        let shape = FilterShape { seed, length, count_length };
        Some(Self { offset, entries, filter_bytes, shape, filter_crc, entries_crc })
    }

    /// Bytes of the partition; `None` when no address space holds them.
    fn bytes(&self, columns: usize) -> Option<usize> {
        let filter = usize::try_from(self.filter_bytes).ok()?.checked_next_multiple_of(8)?;
        let entries = usize::try_from(self.entries).ok()?.checked_mul(8 + 4 * columns)?;
        filter.checked_add(entries)?.checked_next_multiple_of(8)
    }
}

/// One partition of a table, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Partition<'a> {
    descriptor: Descriptor,
    padded_filter: &'a [u8],
    padded_entries: &'a [u8],
    filter: &'a [u8],
    fingerprints: &'a [[u8; 8]],
    first: &'a [[u8; 4]],
    second: &'a [[u8; 4]],
}

impl Partition<'_> {
    /// Reports whether the filter's bytes match their checksum.
    #[must_use]
    pub fn filter_checks(&self) -> bool {
        crc32c::crc32c(self.padded_filter) == self.descriptor.filter_crc
    }

    /// Reports whether the entries' bytes match their checksum.
    #[must_use]
    pub fn entries_check(&self) -> bool {
        crc32c::crc32c(self.padded_entries) == self.descriptor.entries_crc
    }

    /// Asks the filter. `false` is certain.
    #[must_use]
    pub fn may_contain(&self, fingerprint: Fingerprint) -> bool {
        match (self.descriptor.entries, self.filter) {
            (0, _) => false,
            (_, []) => true,
            (_, filter) => self.descriptor.shape.may_contain(filter, fingerprint.0),
        }
    }

    /// Returns an entry, or `None` past the end.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<TableEntry> {
        let fingerprint = Fingerprint(u64::from_le_bytes(*self.fingerprints.get(index)?));
        let first = u32::from_le_bytes(*self.first.get(index)?);
        let second = self.second.get(index).map_or(0, |bytes| u32::from_le_bytes(*bytes));
        Some(TableEntry { fingerprint, columns: [first, second] })
    }

    /// Finds the entries of a fingerprint.
    ///
    /// Two or three places are read in a partition of 65,536: fingerprints are spread evenly, so the first
    /// guess is some hundred entries off and the second a few. Where they are not, halving ends the search.
    #[must_use]
    pub fn find(&self, bits: &TableLayout, fingerprint: Fingerprint) -> Range<usize> {
        let start = self.lower_bound(bits.bits, fingerprint.0);
        let mut end = start;
        while self.value(end) == Some(fingerprint.0) {
            end += 1;
        }
        start..end
    }

    fn value(&self, index: usize) -> Option<u64> {
        self.fingerprints.get(index).map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The first index whose value is at least `key`.
    fn lower_bound(&self, bits: u32, key: u64) -> usize {
        // Below `low` all values are smaller than the key, from `high` on none is.
        let (mut low, mut high) = (0, self.fingerprints.len());
        // How many entries a distance between values is worth: entries a 2^64th, times 2^bits.
        let worth = |distance: u64| -> usize {
            let scaled = (u128::from(distance) << bits) * u128::from(self.descriptor.entries);
            usize::try_from(scaled >> 64).unwrap_or(usize::MAX)
        };
        let mut guess = worth(key.checked_shl(bits).unwrap_or(0) >> bits);
        for _ in 0..GUESSES {
            if low >= high {
                return low;
            }
            let at = guess.clamp(low, high - 1);
            let Some(value) = self.value(at) else { return high };
            if value < key {
                low = at + 1;
                guess = at.saturating_add(worth(key - value)).max(low);
            } else {
                high = at;
                guess = at.saturating_sub(worth(value - key)).min(at.saturating_sub(1));
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.value(middle) {
                Some(value) if value < key => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

/// Guesses before the search falls back to halving what is left.
const GUESSES: usize = 16;

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn pair(a: u32, b: u32) -> [u8; 8] {
    (u64::from(a) | u64::from(b) << 32).to_le_bytes()
}

fn take_u32s<const N: usize>(bytes: &[u8]) -> Option<([u32; N], &[u8])> {
    let (head, rest) = bytes.split_at_checked(4 * N)?;
    let mut out = [0; N];
    for (slot, bytes) in out.iter_mut().zip(head.as_chunks().0) {
        *slot = u32::from_le_bytes(*bytes);
    }
    Some((out, rest))
}

fn take_u64s<const N: usize>(bytes: &[u8]) -> Option<([u64; N], &[u8])> {
    let (head, rest) = bytes.split_at_checked(8 * N)?;
    let mut out = [0; N];
    for (slot, bytes) in out.iter_mut().zip(head.as_chunks().0) {
        *slot = u64::from_le_bytes(*bytes);
    }
    Some((out, rest))
}
