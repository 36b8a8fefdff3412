//! Where is the event with this id? Look-ups over the fingerprint tables of all sealed segments.
//!
//! Each segment has its own table; eight tables of one tier are merged into one of the next, so a look-up for
//! an id that is not held asks at most seven tables a tier, each with a filter.
//!
//! Invariants:
//! - The tables, oldest first, cover each segment exactly once: by its own table or by one tier file.
//! - A tier file that is missing, damaged, foreign, or overlaps a larger one changes no answer: the segments'
//!   own tables are asked.
//! - An [`IdTables`] never changes. Adding a segment or a tier makes another one; readers keep theirs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::{Fingerprint, offset_of};
use crate::contract::{ErrorKind, Result};
use crate::io::Vfs;

use super::checked::TableHits;
use super::sealed::{Hits, SealedSegment};
use super::tiers::{TEMPORARY, Tier, is_tier_file};
use super::trouble::io_error;

/// What opening may do with tier files that are of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierFiles {
    /// Leave them: this process only reads.
    Keep,
    /// Remove them: this process holds the writer's lock.
    Tidy,
}

/// The fingerprint tables of all sealed segments.
#[derive(Clone)]
pub struct IdTables {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    pub(super) store: [u8; 16],
    /// By number.
    pub(super) segments: Vec<Arc<SealedSegment>>,
    /// Oldest first.
    pub(super) tables: Vec<Table>,
}

impl std::fmt::Debug for IdTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.tables).finish()
    }
}

#[derive(Clone, Debug)]
pub(super) enum Table {
    Segment(Arc<SealedSegment>),
    Tier(Arc<Tier>),
}

impl Table {
    pub(super) fn range(&self) -> (u64, u64) {
        match self {
            Self::Segment(segment) => (segment.number(), segment.number()),
            Self::Tier(tier) => tier.range(),
        }
    }
}

impl IdTables {
    /// Opens the tables of a store's sealed segments: reads the head of each tier file in `dir`, which need
    /// not exist.
    ///
    /// # Errors
    /// `Io` when the directory cannot be listed. Tier files that are of no use are no error.
    pub fn open(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        store: [u8; 16],
        mut segments: Vec<Arc<SealedSegment>>,
        files: TierFiles,
    ) -> Result<Self> {
        segments.sort_unstable_by_key(|segment| segment.number());
        let mut useless = Vec::new();
        let mut found = Vec::new();
        for name in vfs.list(dir).map_err(|e| io_error("list", dir, e))? {
            let path = dir.join(&name);
            if name.ends_with(TEMPORARY) {
                useless.push(path);
            } else if is_tier_file(&name) {
                match Tier::open(vfs, &path, &store) {
                    Ok(tier) if tier.stands_for(&segments) => found.push(Arc::new(tier)),
                    Ok(_) => useless.push(path),
                    Err(error) if error.kind() == ErrorKind::Corrupt => useless.push(path),
                    // Out of descriptors, or just removed by the writer: the file may be fine.
                    Err(_) => {}
                }
            }
        }
        // A crash can leave a file beside those it was merged from: the larger one wins.
        found.sort_by_key(|tier| std::cmp::Reverse(tier.segments()));
        let mut chosen: Vec<Arc<Tier>> = Vec::new();
        for tier in found {
            let (first, last) = tier.range();
            let overlaps = |other: &Arc<Tier>| first <= other.range().1 && other.range().0 <= last;
            let holds_any = segments.iter().any(|segment| (first..=last).contains(&segment.number()));
            if holds_any && !chosen.iter().any(overlaps) {
                chosen.push(tier);
            } else {
                useless.push(tier.path().to_path_buf());
            }
        }
        if files == TierFiles::Tidy {
            for path in useless {
                // It stays useless; the next open tries again.
                let _ = vfs.remove(&path);
            }
        }
        let none = Self { vfs: Arc::clone(vfs), dir: dir.to_path_buf(), store, segments, tables: Vec::new() };
        Ok(none.with_tiers(chosen))
    }

    /// Returns the tables with one more segment.
    #[must_use]
    pub fn with_segment(&self, segment: Arc<SealedSegment>) -> Self {
        let mut next = self.clone();
        next.segments.retain(|held| held.number() != segment.number());
        let at = next.segments.partition_point(|held| held.number() < segment.number());
        next.segments.insert(at, segment);
        next.with_tiers(self.tiers().cloned().collect())
    }

    /// Returns the tables without a segment that was evicted.
    #[must_use]
    pub fn without_segment(&self, number: u64) -> Self {
        let mut next = self.clone();
        next.segments.retain(|held| held.number() != number);
        next.with_tiers(self.tiers().cloned().collect())
    }

    /// Returns the tables with a tier that [`MergePlan::merge`](super::MergePlan::merge) made, and the files that nothing
    /// needs any more: readers of older tables that come too late for one ask the segments.
    #[must_use]
    pub fn with_tier(&self, tier: Arc<Tier>) -> (Self, Vec<PathBuf>) {
        let (first, last) = tier.range();
        let (replaced, mut kept): (Vec<_>, Vec<_>) = self.tiers().cloned().partition(|old| {
            let (old_first, old_last) = old.range();
            old_first <= last && first <= old_last
        });
        let others = replaced.iter().map(|old| old.path()).filter(|path| *path != tier.path());
        let useless = others.map(Path::to_path_buf).collect();
        kept.push(tier);
        (self.clone().with_tiers(kept), useless)
    }

    /// Rebuilds the list of tables from tiers that do not overlap; those that do not fit the segments are
    /// left out.
    fn with_tiers(mut self, mut tiers: Vec<Arc<Tier>>) -> Self {
        tiers.retain(|tier| tier.stands_for(&self.segments));
        let covered = |segment: &Arc<SealedSegment>| {
            tiers.iter().any(|tier| (tier.range().0..=tier.range().1).contains(&segment.number()))
        };
        let own = self.segments.iter().filter(|segment| !covered(segment)).cloned().map(Table::Segment);
        self.tables = own.chain(tiers.iter().cloned().map(Table::Tier)).collect();
        self.tables.sort_unstable_by_key(Table::range);
        self
    }

    /// Iterates over the tier files in use.
    pub fn tiers(&self) -> impl Iterator<Item = &Arc<Tier>> {
        self.tables.iter().filter_map(|table| match table {
            Table::Tier(tier) => Some(tier),
            Table::Segment(_) => None,
        })
    }

    /// Returns a sealed segment.
    #[must_use]
    pub fn segment(&self, number: u64) -> Option<&Arc<SealedSegment>> {
        let found = self.segments.binary_search_by_key(&number, |segment| segment.number()).ok()?;
        self.segments.get(found)
    }

    /// Iterates over `(segment, offset)` of all events whose id has this fingerprint, newest segment first;
    /// the ids are still to be compared.
    ///
    /// An id that is not held costs one filter a table, some 100 ns each when it is not in the cache.
    #[must_use]
    pub fn candidates(&self, fingerprint: Fingerprint) -> Candidates<'_> {
        Candidates {
            tables: self,
            fingerprint,
            left: &self.tables,
            tier: TableHits::default(),
            fallback: &[],
            segment: 0,
            own: Hits::default(),
        }
    }

    /// Returns the segments in a range of numbers.
    pub(super) fn segments_of(&self, (first, last): (u64, u64)) -> &[Arc<SealedSegment>] {
        let start = self.segments.partition_point(|segment| segment.number() < first);
        let end = self.segments.partition_point(|segment| segment.number() <= last);
        self.segments.get(start..end).unwrap_or_default()
    }
}

/// Places where an id may be; see [`IdTables::candidates`].
pub struct Candidates<'a> {
    tables: &'a IdTables,
    fingerprint: Fingerprint,
    /// Tables that were not asked yet; the last one is next.
    left: &'a [Table],
    /// Hits of the tier file that was asked last.
    tier: TableHits<'a>,
    /// Segments to ask instead of a tier file; the last one is next.
    fallback: &'a [Arc<SealedSegment>],
    /// The segment of `own`.
    segment: u64,
    /// Hits of the segment that was asked last.
    own: Hits<'a>,
}

impl std::fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Candidates({:?}, {} tables left)", self.fingerprint, self.left.len())
    }
}

impl<'a> Candidates<'a> {
    fn ask(&mut self, segment: &'a SealedSegment) -> Result<()> {
        self.segment = segment.number();
        self.own = segment.candidates(self.fingerprint)?;
        Ok(())
    }
}

impl Iterator for Candidates<'_> {
    type Item = Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(offset) = self.own.next_back() {
                return Some(Ok((self.segment, offset)));
            }
            if let Some(entry) = self.tier.next_back() {
                let [segment, place] = entry.columns;
                let segment = u64::from(segment);
                // A segment that was evicted since is no place to look.
                if self.tables.segment(segment).is_some() {
                    return Some(Ok((segment, offset_of(place))));
                }
                continue;
            }
            let segment = if let Some((segment, older)) = self.fallback.split_last() {
                self.fallback = older;
                segment
            } else {
                let (table, older) = self.left.split_last()?;
                self.left = older;
                match table {
                    Table::Segment(segment) => segment,
                    Table::Tier(tier) => {
                        match tier.find(self.fingerprint) {
                            Ok(hits) => self.tier = hits,
                            Err(_) => self.fallback = self.tables.segments_of(tier.range()),
                        }
                        continue;
                    }
                }
            };
            if let Err(error) = self.ask(segment) {
                return Some(Err(error));
            }
        }
    }
}
