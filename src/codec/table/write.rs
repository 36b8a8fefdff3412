//! Writing a fingerprint table.

use super::{
    BITS_MAX, DESCRIPTOR_BYTES, Descriptor, PARTITION_ENTRIES, TABLE_FOOT_BYTES, TableEntry, TableError,
    damaged, pair, partition_of, to_u64,
};
use crate::codec::filter::FilterShape;

/// Writes a table from entries in rising order, holding one partition at a time.
#[derive(Debug)]
pub struct TableWriter {
    bits: u32,
    columns: usize,
    expected: u64,
    entries: u64,
    offset: u64,
    last: Option<TableEntry>,
    partition: Vec<TableEntry>,
    descriptors: Vec<u8>,
}

impl TableWriter {
    /// Starts a table of exactly `expected` entries with one or two columns.
    #[must_use]
    pub fn new(expected: u64, columns: usize) -> Self {
        Self {
            bits: bits_for(expected),
            columns: columns.clamp(1, 2),
            expected,
            entries: 0,
            offset: 0,
            last: None,
            partition: Vec::new(),
            descriptors: Vec::new(),
        }
    }

    /// Adds an entry; appends finished partitions to `out`.
    ///
    /// # Errors
    /// When the entry does not rise over the one before.
    pub fn push(&mut self, entry: TableEntry, out: &mut Vec<u8>) -> Result<(), TableError> {
        if self.last.is_some_and(|last| last >= entry) {
            return Err(damaged("entries do not rise"));
        }
        let partition = partition_of(self.bits, entry.fingerprint);
        while self.descriptors.len() / DESCRIPTOR_BYTES < partition {
            self.flush(out)?;
        }
        self.last = Some(entry);
        self.partition.push(entry);
        self.entries += 1;
        Ok(())
    }

    /// Appends what is left, the descriptors and the foot.
    ///
    /// # Errors
    /// When there were not as many entries as promised.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), TableError> {
        while self.descriptors.len() / DESCRIPTOR_BYTES < 1 << self.bits {
            self.flush(out)?;
        }
        if self.entries != self.expected {
            return Err(damaged("another count of entries than promised"));
        }
        let whole = self.offset + to_u64(self.descriptors.len() + TABLE_FOOT_BYTES);
        let columns = if self.columns == 2 { 2u32 } else { 1 };
        out.extend_from_slice(&self.descriptors);
        let start = out.len();
        out.extend_from_slice(&pair(self.bits, columns));
        out.extend_from_slice(&self.entries.to_le_bytes());
        out.extend_from_slice(&whole.to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(&self.descriptors).to_le_bytes());
        let crc = crc32c::crc32c(out.get(start..).unwrap_or_default());
        out.extend_from_slice(&crc.to_le_bytes());
        Ok(())
    }

    fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), TableError> {
        let mut keys: Vec<u64> = self.partition.iter().map(|entry| entry.fingerprint.0).collect();
        keys.dedup();
        let (shape, filter) = FilterShape::build(&keys).unwrap_or_default();
        let start = out.len();
        out.extend_from_slice(&filter);
        out.resize(start + filter.len().next_multiple_of(8), 0);
        let entries = out.len();
        for entry in &self.partition {
            out.extend_from_slice(&entry.fingerprint.0.to_le_bytes());
        }
        for column in 0..self.columns {
            for entry in &self.partition {
                let value = entry.columns.get(column).copied().unwrap_or_default();
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        out.resize(start + (out.len() - start).next_multiple_of(8), 0);
        let too_large = damaged("a partition is too large");
        let descriptor = Descriptor {
            offset: self.offset,
            entries: u32::try_from(self.partition.len()).map_err(|_| too_large)?,
            filter_bytes: u32::try_from(filter.len()).map_err(|_| too_large)?,
            shape,
            filter_crc: crc32c::crc32c(out.get(start..entries).unwrap_or_default()),
            entries_crc: crc32c::crc32c(out.get(entries..).unwrap_or_default()),
        };
        self.descriptors.extend_from_slice(&descriptor.to_bytes());
        self.offset += to_u64(out.len() - start);
        self.partition.clear();
        Ok(())
    }
}

/// Writes a whole table.
///
/// # Errors
/// When the entries do not rise.
pub fn write_table(entries: &[TableEntry], columns: usize) -> Result<Vec<u8>, TableError> {
    let mut writer = TableWriter::new(to_u64(entries.len()), columns);
    let mut out = Vec::new();
    for entry in entries {
        writer.push(*entry, &mut out)?;
    }
    writer.finish(&mut out)?;
    Ok(out)
}

const fn bits_for(entries: u64) -> u32 {
    let partitions = entries.div_ceil(PARTITION_ENTRIES);
    let bits = if partitions <= 1 { 0 } else { u64::BITS - (partitions - 1).leading_zeros() };
    if bits > BITS_MAX { BITS_MAX } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_grow_with_the_count() {
        assert_eq!([0, 1, 65_536, 65_537, 131_072, 131_073, u64::MAX].map(bits_for), [0, 0, 0, 1, 1, 2, 24]);
    }
}
