//! `seq` of which nobody knows whether they are missing.
//!
//! The `seq` of a host count from its first event, which is its 0 or 1. A `seq` below a held one that is not held is missing
//! unless something explains it: that the event behind it follows the one before it, or an eviction.
//! Kept for each host is the first unexplained one, and a bound below which all is explained; a host
//! that never left one out has no entry.
//!
//! Invariants: what is missing is above what is explained, is not held, and a greater `seq` is held. While nothing
//! is missing, every `seq` left out is at or below what is explained. While something is missing, what follows behind it is
//! not written down: should an eviction explain the first gap, a later one counts as missing even if it was told
//! to follow. That errs towards telling less of the order stable.

use crate::contract::Result;
use crate::order::tree::Shelf;

use super::edit::Edit;
use super::key::{EventKey, Gap};
use super::kinds::Hosts;
use super::{OrderIndex, Tables};

impl Edit<'_> {
    /// Notes what a new event leaves out between itself and the host's last held one before.
    pub(super) fn note_gap(&mut self, new: EventKey, last: Option<u64>, follows: bool) -> Result<()> {
        if last.and_then(|last| last.checked_add(1)) == Some(new.seq) {
            return Ok(());
        }
        let mut gaps = self.tables.hosts.get(self.shelf, &new.host)?.unwrap_or_default();
        let before = last.unwrap_or(0).max(gaps.explained);
        let Some(missing) = before.checked_add(1).filter(|first| *first < new.seq) else { return Ok(()) };
        match (gaps.missing, follows) {
            (Some(_), _) => return Ok(()),
            (None, true) => gaps.explained = new.seq.saturating_sub(1),
            (None, false) => gaps.missing = Some(missing),
        }
        self.set::<Hosts>(new.host, Some(gaps)).map(|_| ())
    }

    /// Explains everything of a host up to a `seq`, once events up to there are cut out. O(runs of the host behind it),
    /// and only where its first gap was at or before that.
    pub(super) fn explain(&mut self, host: u32, up_to: u64) -> Result<()> {
        let mut gaps = self.tables.hosts.get(self.shelf, &host)?.unwrap_or_default();
        if up_to <= gaps.explained {
            return Ok(());
        }
        gaps.explained = up_to;
        if gaps.missing.is_some_and(|missing| missing <= up_to) {
            gaps.missing = self.tables.missing_behind(self.shelf, host, up_to)?;
        }
        self.set::<Hosts>(host, Some(gaps)).map(|_| ())
    }
}

impl Tables {
    /// Returns the first `seq` of a host above one that is not held although a greater one is.
    fn missing_behind(&self, shelf: &Shelf, host: u32, explained: u64) -> Result<Option<u64>> {
        let mut next = explained.checked_add(1);
        while let Some(seq) = next {
            let Some(spot) = self.layout.from(shelf, EventKey::new(host, seq))? else { return Ok(None) };
            if spot.seq > seq {
                return Ok(Some(seq));
            }
            next = spot.run.last().checked_add(1);
        }
        Ok(None)
    }
}

impl OrderIndex {
    /// Returns the first gap of a host that nothing explains. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn gap_of(&self, shelf: &Shelf, host: u32) -> Result<Option<Gap>> {
        let tables = self.sound()?;
        let gaps = tables.hosts.get(shelf, &host)?;
        let Some(missing) = gaps.and_then(|gaps| gaps.missing) else { return Ok(None) };
        let after = tables.layout.up_to(shelf, EventKey::new(host, missing))?.map(|spot| spot.seq);
        Ok(Some(Gap { after, missing }))
    }
}
