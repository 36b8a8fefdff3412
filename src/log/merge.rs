//! Merging fingerprint tables into tier files.
//!
//! A tier file is always made of its segments' own tables, never of smaller tier files: they are what it
//! must agree with, and a damaged tier file then spoils no other. Memory: one partition of the result and a
//! few hundred bytes a segment; the inputs are mapped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::codec::{Covered, Partition, Section, TableEntry, TableWriter, TierHeader};
use crate::contract::{Error, Result};
use crate::io::{OpenMode, Vfs, VfsFile};

use super::checked::CheckedTable;
use super::ids::{IdTables, Table};
use super::sealed::SealedSegment;
use super::tiers::{TEMPORARY, Tier, tier_file};
use super::trouble::{io_error, table_error, to_u64};

/// Tables that are merged into one of the next tier.
const FAN_IN: usize = 8;

/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// A merge that is due. Hand it to a background thread; it refers to nothing that changes.
#[derive(Clone)]
pub struct MergePlan {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    store: [u8; 16],
    tier: u16,
    segments: Vec<Arc<SealedSegment>>,
}

impl std::fmt::Debug for MergePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MergePlan(tier {} of {} segments)", self.tier, self.segments.len())
    }
}

impl IdTables {
    /// Returns the merge that is due, if one is: the largest that ends up with the oldest segments.
    ///
    /// Segments whose tier files are missing or damaged are merged anew, straight into the largest tier
    /// that their number allows.
    #[must_use]
    pub fn plan_merge(&self) -> Option<MergePlan> {
        // Damaged tiers stand for nothing.
        let units: Vec<(u16, &[Arc<SealedSegment>])> = self
            .tables
            .iter()
            .flat_map(|table| match table {
                Table::Tier(tier) if tier.is_damaged() => {
                    self.segments_of(tier.range()).chunks(1).map(|one| (0, one)).collect()
                }
                Table::Tier(tier) => vec![(tier.tier(), self.segments_of(tier.range()))],
                Table::Segment(segment) => {
                    vec![(0, self.segments_of((segment.number(), segment.number())))]
                }
            })
            .collect();
        (0..units.len()).find_map(|start| {
            let (tier, count) = largest(units.get(start..)?)?;
            let segments =
                units.iter().skip(start).take(count).flat_map(|(_, segments)| segments.iter().cloned());
            self.plan(tier, segments.collect())
        })
    }

    fn plan(&self, tier: u16, segments: Vec<Arc<SealedSegment>>) -> Option<MergePlan> {
        // A column holds 32 bits of a segment's number.
        segments.iter().all(|segment| u32::try_from(segment.number()).is_ok()).then(|| MergePlan {
            vfs: Arc::clone(&self.vfs),
            dir: self.dir.clone(),
            store: self.store,
            tier,
            segments,
        })
    }
}

/// Returns the largest tier that the first tables can be merged into, and how many of them it takes.
///
/// A tier counts as `8^tier` tables of segments, also after some of them were evicted.
fn largest(units: &[(u16, &[Arc<SealedSegment>])]) -> Option<(u16, usize)> {
    let mut best = None;
    let (mut weight, mut highest) = (0usize, 0u16);
    let mut target = (1u16, FAN_IN);
    for (index, (tier, _)) in units.iter().enumerate() {
        highest = highest.max(*tier);
        weight = weight.saturating_add(FAN_IN.saturating_pow(u32::from(*tier)));
        while target.1 < weight {
            target = (target.0 + 1, target.1.saturating_mul(FAN_IN));
        }
        if weight == target.1 && highest < target.0 {
            best = Some((target.0, index + 1));
        }
    }
    best
}

impl MergePlan {
    /// Writes the tier file, makes it durable and opens it. Give the result to [`IdTables::with_tier`] of the
    /// tables that are current then.
    ///
    /// Some 4 million entries a second; nothing is locked.
    ///
    /// # Errors
    /// `Corrupt` when a segment's own table is damaged, `Io` when a file operation fails. No tier file is
    /// left then, and look-ups go on as before.
    pub fn merge(&self) -> Result<Arc<Tier>> {
        self.vfs.create_dir_all(&self.dir).map_err(|e| io_error("create", &self.dir, e))?;
        let number = |segment: Option<&Arc<SealedSegment>>| segment.map_or(0, |segment| segment.number());
        let name = tier_file(self.tier, number(self.segments.first()), number(self.segments.last()));
        let temporary = self.dir.join(format!("{name}{TEMPORARY}"));
        let path = self.dir.join(name);
        let exists = self.vfs.exists(&temporary).map_err(|e| io_error("look for", &temporary, e))?;
        if exists {
            self.vfs.remove(&temporary).map_err(|e| io_error("remove", &temporary, e))?;
        }
        let file =
            self.vfs.open(&temporary, OpenMode::Create).map_err(|e| io_error("create", &temporary, e))?;
        let written = self.write(&*file).map_err(|e| e.at_path(&temporary)).and_then(|()| {
            file.sync().map_err(|e| io_error("sync", &temporary, e))?;
            drop(file);
            self.vfs.rename(&temporary, &path).map_err(|e| io_error("rename", &temporary, e))?;
            self.vfs.sync_dir(&self.dir).map_err(|e| io_error("sync the directory", &self.dir, e))
        });
        if let Err(error) = written {
            // The error that stopped the work is the one to report; a leftover is removed at the next open.
            let _ = self.vfs.remove(&temporary);
            return Err(error);
        }
        Tier::open(&self.vfs, &path, &self.store).map(Arc::new)
    }

    fn write(&self, file: &dyn VfsFile) -> Result<()> {
        let mut inputs = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            inputs.push(Input::new(segment)?);
        }
        let entries = inputs.iter().map(|input| input.table.layout().entries()).sum();
        let covered = self
            .segments
            .iter()
            .map(|segment| Covered { segment: segment.number(), root: *segment.root() })
            .collect();
        let mut header = TierHeader { tier: self.tier, store: self.store, entries, table_bytes: 0, covered };
        let start = header.table_start();
        // The head is written last: a file that was cut off has none.
        let mut at = start;
        let mut out = Vec::with_capacity(2 * WRITE_BYTES);
        let mut write = |out: &mut Vec<u8>, least: usize| -> Result<u64> {
            if out.len() >= least {
                file.write_at(out, at).map_err(|e| Error::io("cannot write", e))?;
                at += to_u64(out.len());
                out.clear();
            }
            Ok(at)
        };
        let mut writer = TableWriter::new(entries, 2);
        let mut heap = BinaryHeap::with_capacity(inputs.len());
        for (index, input) in inputs.iter_mut().enumerate() {
            heap.extend(input.next()?.map(|entry| Reverse((entry, index))));
        }
        while let Some(Reverse((entry, index))) = heap.pop() {
            writer.push(entry, &mut out).map_err(table_error)?;
            write(&mut out, WRITE_BYTES)?;
            if let Some(input) = inputs.get_mut(index) {
                heap.extend(input.next()?.map(|entry| Reverse((entry, index))));
            }
        }
        writer.finish(&mut out).map_err(table_error)?;
        header.table_bytes = write(&mut out, 0)? - start;
        let head = header.to_bytes().map_err(|e| Error::corrupt(e.to_string()))?;
        file.write_at(&head, 0).map_err(|e| Error::io("cannot write", e))
    }
}

/// The entries of one segment's table, rising.
struct Input<'a> {
    segment: &'a SealedSegment,
    number: u32,
    table: &'a CheckedTable,
    bytes: &'a [u8],
    partition: Option<Partition<'a>>,
    next_partition: usize,
    index: usize,
}

impl<'a> Input<'a> {
    fn new(segment: &'a SealedSegment) -> Result<Self> {
        let (table, bytes) = segment.id_entries()?;
        let number = u32::try_from(segment.number()).unwrap_or(u32::MAX);
        Ok(Self { segment, number, table, bytes, partition: None, next_partition: 0, index: 0 })
    }

    fn next(&mut self) -> Result<Option<TableEntry>> {
        loop {
            if let Some(entry) = self.partition.as_ref().and_then(|partition| partition.entry(self.index)) {
                self.index += 1;
                let [place, _] = entry.columns;
                return Ok(Some(TableEntry { columns: [self.number, place], ..entry }));
            }
            if self.next_partition >= self.table.layout().partitions() {
                return Ok(None);
            }
            let partition = self.table.partition(self.bytes, self.next_partition);
            self.partition = Some(partition.map_err(|e| self.segment.table_trouble(e, Section::Ids))?);
            self.next_partition += 1;
            self.index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tiers: &[u16]) -> Option<(u16, usize)> {
        let units: Vec<(u16, &[Arc<SealedSegment>])> =
            tiers.iter().map(|tier| (*tier, [].as_slice())).collect();
        largest(&units)
    }

    #[test]
    fn eight_tables_of_a_tier_make_one_of_the_next() {
        assert_eq!(plan(&[0; 7]), None);
        assert_eq!(plan(&[0; 8]), Some((1, 8)));
        assert_eq!(plan(&[0; 63]), Some((1, 8)));
        assert_eq!(plan(&[0; 64]), Some((2, 64)));
        assert_eq!(plan(&[1; 8]), Some((2, 8)));
        assert_eq!(plan(&[2, 1, 1, 1, 1, 1, 1, 1, 0, 0]), None);
        // Damage in the middle: 7 tiers and the 8 segments of the eighth.
        assert_eq!(plan(&[1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]), Some((2, 15)));
    }
}
