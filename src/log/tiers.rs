//! Tier files: one fingerprint table for many sealed segments.
//!
//! Invariants:
//! - A tier file is derived: it says what the id tables of its segments say, and can be made again from them.
//! - It is used only while each segment that is held in its range is in its list with the same root. So a
//!   segment that was missing when the file was written, or was replaced later, cannot be looked past.
//! - It is written to a temporary file, synced and renamed, and never rewritten.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::codec::{Fingerprint, TIER_HEADER_BYTES, TableError, TierHeader};
use crate::contract::{Error, Result};
use crate::io::{Mapping, OpenMode, Vfs};

use super::checked::{CheckedTable, TableHits};
use super::names::number_of;
use super::sealed::SealedSegment;
use super::trouble::{io_error, read_exactly, table_error, to_usize};

const EXTENSION: &str = "ids";

/// Ends the names of files that are being written.
pub(super) const TEMPORARY: &str = ".tmp";

/// Returns the name of a tier file.
pub(super) fn tier_file(tier: u16, first: u64, last: u64) -> String {
    format!("{tier}-{first:010}-{last:010}.{EXTENSION}")
}

/// Reports whether a name is one that [`tier_file`] makes.
pub(super) fn is_tier_file(name: &str) -> bool {
    let parts = || {
        let (tier, rest) = name.strip_suffix(EXTENSION)?.strip_suffix('.')?.split_once('-')?;
        let (first, last) = rest.split_once('-')?;
        Some(tier_file(tier.parse().ok()?, number_of(first)?, number_of(last)?))
    };
    parts().as_deref() == Some(name)
}

/// A tier file, open. Reads its head when it is opened; mapped at the first look-up.
pub struct Tier {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    header: TierHeader,
    bytes: u64,
    map: OnceLock<Map>,
    damaged: AtomicBool,
}

impl std::fmt::Debug for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (first, last) = self.range();
        write!(f, "Tier({} of segments {first} to {last})", self.tier())
    }
}

#[derive(Debug)]
struct Map {
    mapping: Mapping,
    table: CheckedTable,
}

impl Tier {
    /// Opens a tier file of a store.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged, cut or of another store; `Io` when it cannot be read.
    pub(super) fn open(vfs: &Arc<dyn Vfs>, path: &Path, store: &[u8; 16]) -> Result<Self> {
        let file = vfs.open(path, OpenMode::Read).map_err(|e| io_error("open", path, e))?;
        let bytes = file.size().map_err(|e| io_error("measure", path, e))?;
        let head = read_exactly(&*file, path, 0, TIER_HEADER_BYTES)?;
        let corrupt = |what: String| Error::corrupt(what).at_path(path);
        let head = head.first_chunk().ok_or_else(|| corrupt("the file is cut short".to_owned()))?;
        let length = TierHeader::peek_bytes(head, bytes).map_err(|e| corrupt(e.to_string()))?;
        let head = read_exactly(&*file, path, 0, to_usize(length))?;
        let header = TierHeader::from_bytes(&head, bytes).map_err(|e| corrupt(e.to_string()))?;
        let (first, last) = header.range();
        let name = path.file_name().and_then(|name| name.to_str());
        if header.store != *store || name != Some(&tier_file(header.tier, first, last)) {
            return Err(corrupt("the file is of another store or has another name".to_owned()));
        }
        let vfs = Arc::clone(vfs);
        let path = path.to_path_buf();
        Ok(Self { vfs, path, header, bytes, map: OnceLock::new(), damaged: AtomicBool::new(false) })
    }

    /// Returns the tier, from 1.
    #[must_use]
    pub const fn tier(&self) -> u16 {
        self.header.tier
    }

    /// Returns the first and the last segment it stands for.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        self.header.range()
    }

    /// Returns how many segments it was made of.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.header.covered.len()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reports whether it knows every one of these segments that is in its range, each with its root.
    pub(super) fn stands_for(&self, segments: &[Arc<SealedSegment>]) -> bool {
        let (first, last) = self.range();
        let mut in_range = segments.iter().filter(|segment| (first..=last).contains(&segment.number()));
        in_range.all(|segment| {
            let found =
                self.header.covered.binary_search_by_key(&segment.number(), |covered| covered.segment);
            let covered = found.ok().and_then(|index| self.header.covered.get(index));
            covered.is_some_and(|covered| covered.root == *segment.root())
        })
    }

    /// Reports whether a look-up found it damaged.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Finds the entries of a fingerprint: columns segment number and place, rising.
    ///
    /// # Errors
    /// When the file is gone, cannot be mapped or is damaged: the segments' own tables must be asked then.
    pub(super) fn find(&self, fingerprint: Fingerprint) -> Result<TableHits<'_>> {
        if self.is_damaged() {
            return Err(self.trouble(TableError::Damaged { what: "an earlier look-up found it so" }));
        }
        let map = match self.map.get() {
            Some(map) => map,
            None => self.map()?,
        };
        map.table.find(self.table_bytes(&map.mapping), fingerprint).map_err(|e| self.trouble(e))
    }

    fn table_bytes<'a>(&self, mapping: &'a Mapping) -> &'a [u8] {
        mapping.get(to_usize(self.header.table_start())..).unwrap_or_default()
    }

    /// Remembers that it is damaged, so that it is not asked again and a writer makes it anew.
    fn trouble(&self, error: TableError) -> Error {
        self.damaged.store(true, Ordering::Relaxed);
        table_error(error).at_path(&self.path)
    }

    fn map(&self) -> Result<&Map> {
        let file = self.vfs.open(&self.path, OpenMode::Read).map_err(|e| io_error("open", &self.path, e))?;
        let size = file.size().map_err(|e| io_error("measure", &self.path, e))?;
        if size != self.bytes {
            return Err(self.trouble(TableError::Damaged { what: "the file changed since it was opened" }));
        }
        let mapping = file.map().map_err(|e| io_error("map", &self.path, e))?;
        let head = self.header.to_bytes().unwrap_or_default();
        let table = CheckedTable::read(self.table_bytes(&mapping)).map_err(|e| self.trouble(e))?;
        let layout = table.layout();
        let agrees =
            mapping.starts_with(&head) && layout.columns() == 2 && layout.entries() == self.header.entries;
        if !agrees {
            return Err(self.trouble(TableError::Damaged { what: "head and table do not belong together" }));
        }
        Ok(self.map.get_or_init(|| Map { mapping, table }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        assert_eq!(tier_file(2, 1, 64), "2-0000000001-0000000064.ids");
        assert!(is_tier_file(&tier_file(2, 1, 64)));
        assert!(is_tier_file(&tier_file(u16::MAX, 1, u64::MAX - 1)));
        for name in
            ["2-1-64.ids", "02-0000000001-0000000064.ids", "2-0000000001-0000000064.ids.tmp", "x.ids", ".ids"]
        {
            assert!(!is_tier_file(name), "{name}");
        }
    }
}
