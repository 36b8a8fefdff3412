//! Room between runs.
//!
//! Tags solve the order-maintenance problem by spreading: a run goes between two others by taking a tag between theirs,
//! and where there is none, the smallest aligned range of tags around that is thin enough spreads its runs evenly
//! (Bender, Cole, Demaine, Farach-Colton and Zito, "Two simplified algorithms for maintaining order in a list", 2002).
//! Each insertion pays O(log n) runs with another tag, amortised. Two trees stand in for their linked list:
//! neighbours are looked up, so no link can be wrong.

use crate::contract::{Code, Error, ErrorKind, Result};

use super::edit::Edit;
use super::key::Run;
use super::kinds::{Places, Runs};
use super::layout::contradiction;

/// The first run's tag; leaves room on both sides.
const FIRST_TAG: u64 = 1 << 62;

/// Distance of the tags of runs that are put last one after the other, or first. By default there is room for some 10^8 of them
/// before the end gets narrow, and between two of them for 36 that each halve what is left. Nothing but cost depends
/// on it: tests take a small one, so that room runs out all the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride(pub(super) u64);

impl Default for Stride {
    fn default() -> Self {
        Self(1 << 36)
    }
}

/// A range of 2^n tags holds at most (10/7)^n runs, lest all of it has to be spread again soon. With all 2^64 tags that
/// is 8 * 10^9 runs.
const THIN: (u128, u128) = (10, 7);

impl Edit<'_> {
    /// Returns a free tag directly behind a run, or before all runs, given the tags on both sides. Where there is none between
    /// them, other runs get other tags, these two as well.
    pub(super) fn room_between(&mut self, before: Option<(u64, Run)>, behind: Option<u64>) -> Result<u64> {
        let Stride(stride) = self.tables.stride;
        let (mut low, mut high) = (before.map(|(tag, _)| tag), behind);
        loop {
            match (low, high) {
                (None, None) => return Ok(FIRST_TAG),
                (None, Some(high)) if high > 0 => return Ok(high - high.div_ceil(2).min(stride)),
                (Some(low), Some(high)) if high - low >= 2 => return Ok(low + (high - low) / 2),
                (Some(low), None) if low < u64::MAX => {
                    let half = (u64::MAX - low).div_ceil(2);
                    return Ok(low + half.min(stride));
                }
                (_, Some(tag)) | (Some(tag), None) => self.spread(tag)?,
            }
            low = match before {
                None => None,
                // That it is held there is checked: a place that leads elsewhere would have us spread for ever.
                Some((_, run)) => {
                    let spot = self.tables.layout.locate(self.shelf, run.first_key())?;
                    Some(spot.ok_or_else(contradiction)?.tag)
                }
            };
            high = self.tag_behind(low)?;
        }
    }

    /// Returns the tag of the run behind a tag, or of the first.
    pub(super) fn tag_behind(&self, tag: Option<u64>) -> Result<Option<u64>> {
        let runs = &self.tables.layout.runs;
        let behind = match tag {
            None => runs.first(self.shelf)?,
            Some(tag) => runs.after(self.shelf, &tag)?,
        };
        Ok(behind.map(|(tag, _)| tag))
    }

    /// Spreads the runs around a tag so that there is room on each side of each.
    fn spread(&mut self, tag: u64) -> Result<()> {
        let mut most: u128 = 1 << 32; // in units of 2^-32 runs
        let mut runs: Vec<(u64, Run)> = Vec::new();
        for bits in 1..=u64::BITS {
            most = most * THIN.0 / THIN.1;
            let mask = u64::MAX >> (u64::BITS - bits);
            let (first, last) = (tag & !mask, tag | mask);
            // From 2^3 tags on, what is thin enough leaves at least 4 tags to each run.
            if bits < 3 {
                continue;
            }
            let most = usize::try_from(most >> 32).unwrap_or(usize::MAX);
            runs.clear();
            let mut cursor = self.tables.layout.runs.cursor();
            cursor.seek(self.shelf, &first)?;
            while let Some((tag, run)) = cursor.next(self.shelf)?
                && tag <= last
                && runs.len() <= most
            {
                runs.push((tag, run));
            }
            drop(cursor);
            if runs.len() <= most {
                return self.retag(&runs, first, mask);
            }
        }
        Err(Error::new(ErrorKind::Unsupported, Code::Limit, "the order has more runs than can be told apart"))
    }

    /// Gives the runs tags at even distances in a range.
    fn retag(&mut self, runs: &[(u64, Run)], first: u64, mask: u64) -> Result<()> {
        for (tag, _) in runs {
            self.set::<Runs>(*tag, None)?;
        }
        let step = (u128::from(mask) + 1) / runs.len().max(1) as u128;
        let step = u64::try_from(step).unwrap_or(u64::MAX);
        let mut tag = first + step / 2;
        for (_, run) in runs {
            self.set::<Runs>(tag, Some(*run))?;
            self.set::<Places>(run.first_key(), Some(tag))?;
            tag = tag.saturating_add(step);
        }
        Ok(())
    }
}
