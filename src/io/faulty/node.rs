//! The contents of one file: what is durable of them, and what happened since.
//!
//! Invariants:
//! - The durable bytes, with all pending changes applied in order, are what the file holds, unless a
//!   sync of it failed before one that succeeded.
//! - After a power cut, every sector is what the file held there at some moment since its last
//!   sync, and the length is one that it had since then.

use std::ops::Range;

use super::random::SplitMix64;

/// The unit a medium writes whole or not at all.
const SECTOR: usize = 512;

/// Names a file's contents, as an inode number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) usize);

#[derive(Default)]
pub(super) struct Node {
    durable: Vec<u8>,
    pending: Vec<DataChange>,
    /// How many changes came before the pending ones.
    settled: u64,
    /// How many of the first pending changes a failed sync may have lost.
    doubtful: usize,
}

/// Contents can be what users typed: their length alone is shown.
impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({} durable bytes, {} pending changes)", self.durable.len(), self.pending.len())
    }
}

enum DataChange {
    Write { offset: usize, bytes: Vec<u8> },
    SetSize(usize),
}

impl DataChange {
    /// Applies it, and returns the range of bytes it touched.
    fn apply(&self, bytes: &mut Vec<u8>) -> Range<usize> {
        match self {
            Self::Write { offset, bytes: new } => {
                let range = *offset..offset.saturating_add(new.len());
                if bytes.len() < range.end {
                    bytes.resize(range.end, 0);
                }
                if let Some(target) = bytes.get_mut(range.clone()) {
                    target.copy_from_slice(new);
                }
                range
            }
            Self::SetSize(size) => {
                let old = bytes.len();
                bytes.resize(*size, 0);
                old.min(*size)..old.max(*size)
            }
        }
    }
}

/// What becomes of one change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
    /// Its first sectors are kept.
    Cut,
    /// Any of its sectors are kept.
    Torn,
}

impl Node {
    /// A file that was there before anything was recorded.
    pub(super) fn durable(durable: Vec<u8>) -> Self {
        Self { durable, ..Self::default() }
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        if let (false, Ok(offset)) = (bytes.is_empty(), usize::try_from(offset)) {
            self.pending.push(DataChange::Write { offset, bytes: bytes.to_vec() });
        }
    }

    pub(super) fn set_size(&mut self, size: u64) {
        if let Ok(size) = usize::try_from(size) {
            self.pending.push(DataChange::SetSize(size));
        }
    }

    /// How many changes there ever were; a sync that starts now covers these.
    pub(super) fn written(&self) -> u64 {
        self.settled.saturating_add(u64::try_from(self.pending.len()).unwrap_or(u64::MAX))
    }

    /// Notes that a sync failed which would have covered the first `written` changes.
    pub(super) fn doubt(&mut self, written: u64) {
        self.doubtful = self.doubtful.max(self.covered(written));
    }

    /// How many of the pending changes are among the first `written` of all.
    fn covered(&self, written: u64) -> usize {
        let covered = usize::try_from(written.saturating_sub(self.settled)).unwrap_or(usize::MAX);
        covered.min(self.pending.len())
    }

    /// Notes that a sync succeeded which covers the first `written` changes.
    pub(super) fn settle(&mut self, written: u64) {
        let covered = self.covered(written);
        self.settled = self.settled.saturating_add(u64::try_from(covered).unwrap_or(u64::MAX));
        if self.doubtful == 0 {
            for change in self.pending.drain(..covered) {
                change.apply(&mut self.durable);
            }
            return;
        }
        let mut now = self.durable.clone();
        for (i, change) in self.pending.drain(..covered).enumerate() {
            let touched = change.apply(&mut now);
            // Linux takes pages for clean after a failed sync, so the next one passes them over
            // unless they were written again.
            if i >= self.doubtful {
                sectors(touched).for_each(|sector| copy(&now, &mut self.durable, sector));
            }
        }
        self.durable.resize(now.len(), 0);
        self.doubtful = self.doubtful.saturating_sub(covered);
    }

    /// Chooses what a power cut leaves of the contents.
    pub(super) fn crash(&self, random: &mut SplitMix64) -> Vec<u8> {
        let mut left = self.durable.clone();
        let mut now = self.durable.clone();
        let mut size = now.len();
        for (change, fate) in self.pending.iter().zip(self.fates(random)) {
            let touched = change.apply(&mut now);
            let sectors: Vec<Range<usize>> = sectors(touched).collect();
            let first_lost = random.below(sectors.len().saturating_add(1));
            for (i, sector) in sectors.into_iter().enumerate() {
                let keep = match fate {
                    Fate::Kept => true,
                    Fate::Dropped => false,
                    Fate::Cut => i < first_lost,
                    Fate::Torn => random.coin(),
                };
                if keep {
                    copy(&now, &mut left, sector);
                }
            }
            // The length is kept apart from the bytes, so the two may part in a cut.
            if fate == Fate::Kept || (fate != Fate::Dropped && random.coin()) {
                size = now.len();
            }
        }
        left.resize(size, 0);
        left
    }

    fn fates(&self, random: &mut SplitMix64) -> Vec<Fate> {
        let n = self.pending.len();
        match random.below(5) {
            0 => vec![Fate::Dropped; n],
            1 => vec![Fate::Kept; n],
            // In order, up to a moment in the midst of one change.
            2 => {
                let cut = random.below(n.saturating_add(1));
                let fate = |i: usize| match i.cmp(&cut) {
                    std::cmp::Ordering::Less => Fate::Kept,
                    std::cmp::Ordering::Equal => Fate::Cut,
                    std::cmp::Ordering::Greater => Fate::Dropped,
                };
                (0..n).map(fate).collect()
            }
            _ => {
                let fate = |i| match i {
                    0 => Fate::Kept,
                    1 => Fate::Dropped,
                    2 => Fate::Cut,
                    _ => Fate::Torn,
                };
                (0..n).map(|_| fate(random.below(4))).collect()
            }
        }
    }
}

/// Returns the sectors that a range of bytes touches.
fn sectors(touched: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let first = touched.start / SECTOR;
    let end = if touched.is_empty() { first } else { touched.end.div_ceil(SECTOR) };
    (first..end).map(|i| i.saturating_mul(SECTOR)..i.saturating_add(1).saturating_mul(SECTOR))
}

/// Copies a sector; behind the end of either file there are zeros.
fn copy(from: &[u8], to: &mut Vec<u8>, sector: Range<usize>) {
    if to.len() < sector.end {
        to.resize(sector.end, 0);
    }
    let there = sector.start.min(from.len())..sector.end.min(from.len());
    if let (Some(to), Some(from)) = (to.get_mut(sector), from.get(there)) {
        to.fill(0);
        if let Some(to) = to.get_mut(..from.len()) {
            to.copy_from_slice(from);
        }
    }
}
