//! A total order of arrival ordinals that can be cut and moved, kept as runs.
//!
//! Invariants:
//! - the runs `[start, end)` are disjoint and hold every arrival of `0..len` but such as were forgotten; what no run holds
//!   stands before everything else, is never moved, and nothing is put before it;
//! - the last arrival is in a run; at most one run holds forgotten arrivals alone;
//! - inside a run the order is that of arrival; runs order by tag, and tags are distinct;
//! - `by_start` and `by_tag` name the same runs.
//!
//! Tags solve the order-maintenance problem by spreading: a run goes between two others by taking a tag
//! between theirs, and where there is none, the smallest aligned range of tags around that is thin enough
//! spreads its runs evenly (Bender, Cole, Demaine, Farach-Colton and Zito, "Two simplified algorithms for
//! maintaining order in a list", 2002). Each insertion pays O(log n) re-tagged runs, amortised. Two trees
//! stand in for their linked list: neighbours are looked up, so no link can be wrong.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// Where an arrival stands; compares as the order does. Any change of the runs makes it stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    tag: u64,
    pub(super) arrival: u64,
}

impl Position {
    /// Reports whether `next` is the arrival after this one and directly behind it in the order.
    pub(super) fn joins(self, next: Self) -> bool {
        self.tag == next.tag && self.arrival + 1 == next.arrival
    }
}

#[derive(Clone, Copy, Debug)]
struct Run {
    tag: u64,
    end: u64,
}

/// The order. About 60 bytes a run; one run in all until an arrival takes a place other than the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    by_start: BTreeMap<u64, Run>,
    by_tag: BTreeMap<u64, u64>,
    /// Runs that were given another tag to make room.
    #[cfg(test)]
    retagged: usize,
}

/// The first run's tag; leaves room on both sides.
const FIRST_TAG: u64 = 1 << 62;

/// Distance of the tags of runs that are put last one after the other.
const STRIDE: u64 = 1 << 32;

/// A range of 2^n tags holds at most (10/7)^n runs, lest all of it has to be spread again soon. With all
/// 2^64 tags that is 8 * 10^9 runs.
const THIN: (u128, u128) = (10, 7);

impl Runs {
    /// Creates the order of arrival.
    pub(super) fn of_arrival(len: u64) -> Self {
        let mut runs = Self::default();
        if len > 0 {
            runs.put(0, Run { tag: FIRST_TAG, end: len });
        }
        runs
    }

    /// Creates a given order; `None` if it does not name each of `0..len` once.
    pub(super) fn of_order(order: impl IntoIterator<Item = u64>, len: u64) -> Option<Self> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut left = len;
        for arrival in order {
            left = left.checked_sub(1)?;
            match ranges.last_mut() {
                _ if arrival >= len => return None,
                Some(last) if last.end == arrival => last.end += 1,
                _ => ranges.push(arrival..arrival + 1),
            }
        }
        let stride = u64::MAX / (u64::try_from(ranges.len()).ok()?.checked_add(1)?);
        let mut runs = Self::default();
        let mut tag = 0;
        for range in ranges {
            tag += stride;
            runs.put(range.start, Run { tag, end: range.end });
        }
        let mut expected = 0;
        for (&start, run) in &runs.by_start {
            if start != expected {
                return None;
            }
            expected = run.end;
        }
        (expected == len && runs.by_tag.len() == runs.by_start.len()).then_some(runs)
    }

    /// Returns the number of runs.
    pub(super) fn count(&self) -> usize {
        self.by_start.len()
    }

    /// Returns where an arrival stands. O(log runs).
    pub(super) fn position(&self, arrival: u64) -> Position {
        Position { tag: self.run_of(arrival).map_or(0, |(_, run)| run.tag), arrival }
    }

    /// Forgets runs that hold arrivals before `oldest` alone. O(log runs) for each.
    pub(super) fn forget(&mut self, oldest: u64) {
        while self.by_start.len() > 1
            && let Some((start, run)) = self.by_start.first_key_value()
            && run.end <= oldest
        {
            let range = *start..run.end;
            self.cut(range);
        }
    }

    /// Puts the next arrival last.
    pub(super) fn push_last(&mut self, arrival: u64) {
        let last = self.by_tag.last_key_value().map(|(_, start)| *start);
        self.put_behind(last, arrival..arrival + 1);
    }

    /// Puts the next arrival directly behind the one before it.
    pub(super) fn extend(&mut self, arrival: u64) {
        match self.by_start.last_entry() {
            Some(mut last) => last.get_mut().end = arrival + 1,
            None => self.push_last(arrival),
        }
    }

    /// Moves arrivals, given by their positions in rising order, to directly before `at`, and the next
    /// arrival behind them. `at` is not among them.
    pub(super) fn move_before(&mut self, at: u64, moved: &[Position], arrival: u64) {
        let parts: Vec<Range<u64>> = moved
            .chunk_by(|a, b| a.joins(*b))
            .filter_map(|part| Some(part.first()?.arrival..part.last()?.arrival + 1))
            .collect();
        for part in parts {
            self.cut(part.clone());
            self.put_before(at, part);
        }
        self.put_before(at, arrival..arrival + 1);
    }

    fn run_of(&self, arrival: u64) -> Option<(u64, Run)> {
        let found = self.by_start.range(..=arrival).next_back().map(|(start, run)| (*start, *run));
        found.filter(|(_, run)| arrival < run.end)
    }

    /// Returns the start of the run before that of a tag.
    fn before(&self, tag: u64) -> Option<u64> {
        self.by_tag.range(..tag).next_back().map(|(_, start)| *start)
    }

    fn put(&mut self, start: u64, run: Run) {
        self.by_start.insert(start, run);
        self.by_tag.insert(run.tag, start);
    }

    fn remove(&mut self, start: u64) {
        if let Some(run) = self.by_start.remove(&start) {
            self.by_tag.remove(&run.tag);
        }
    }

    /// Takes a range, all of it in one run, out of the order.
    fn cut(&mut self, range: Range<u64>) {
        self.split(range.start);
        self.split(range.end);
        let before = self.run_of(range.start).and_then(|(_, run)| self.before(run.tag));
        self.remove(range.start);
        self.join(before);
    }

    /// Makes `arrival` the first of its run. Does nothing where no run holds it.
    fn split(&mut self, arrival: u64) {
        let Some((start, run)) = self.run_of(arrival).filter(|(start, _)| *start < arrival) else {
            return;
        };
        if let Some(left) = self.by_start.get_mut(&start) {
            left.end = arrival;
        }
        let tag = self.tag_behind(Some(start));
        self.put(arrival, Run { tag, end: run.end });
    }

    /// Makes one run of a run and the one behind it where they belong together.
    fn join(&mut self, start: Option<u64>) {
        let Some((start, run)) = start.and_then(|start| Some((start, *self.by_start.get(&start)?))) else {
            return;
        };
        let behind = self.tag_after(run.tag).and_then(|tag| self.by_tag.get(&tag)).copied();
        if behind == Some(run.end)
            && let Some(next) = self.by_start.get(&run.end).copied()
        {
            self.remove(run.end);
            self.by_start.insert(start, Run { tag: run.tag, end: next.end });
        }
    }

    /// Puts a range that is in no run directly before an arrival.
    fn put_before(&mut self, at: u64, range: Range<u64>) {
        self.split(at);
        let before = self.run_of(at).and_then(|(_, run)| self.before(run.tag));
        self.put_behind(before, range);
    }

    /// Puts a range that is in no run behind a run, or first.
    fn put_behind(&mut self, before: Option<u64>, range: Range<u64>) {
        let tag = self.tag_behind(before);
        self.put(range.start, Run { tag, end: range.end });
        self.join(Some(range.start));
        self.join(before);
    }

    /// Returns a free tag directly behind a run, or before all runs.
    fn tag_behind(&mut self, before: Option<u64>) -> u64 {
        loop {
            let low = before.and_then(|start| self.by_start.get(&start)).map_or(0, |run| run.tag);
            match self.tag_after(low) {
                Some(high) if high - low >= 2 => return low + (high - low) / 2,
                Some(high) => self.spread(high),
                None if self.by_tag.is_empty() => return FIRST_TAG,
                None if low < u64::MAX => {
                    let half = (u64::MAX - low).div_ceil(2);
                    return low + half.min(STRIDE);
                }
                None => self.spread(low),
            }
        }
    }

    /// Returns the least tag above one.
    fn tag_after(&self, tag: u64) -> Option<u64> {
        self.by_tag.range((Bound::Excluded(tag), Bound::Unbounded)).next().map(|(tag, _)| *tag)
    }

    /// Spreads the runs around a tag so that there is room on each side of each.
    fn spread(&mut self, tag: u64) {
        let mut most: u128 = 1 << 32; // in units of 2^-32 runs
        for bits in 1..=u64::BITS {
            most = most * THIN.0 / THIN.1;
            let mask = u64::MAX >> (u64::BITS - bits);
            let range = tag & !mask..=tag | mask;
            // From 2^3 tags on, what is thin enough leaves at least 4 tags to each run.
            if bits < 3 {
                continue;
            }
            let most = usize::try_from(most >> 32).unwrap_or(usize::MAX);
            if self.by_tag.range(range.clone()).take(most + 1).count() > most {
                continue;
            }
            let first = *range.start();
            let old: Vec<(u64, u64)> = self.by_tag.range(range).map(|(tag, start)| (*tag, *start)).collect();
            #[cfg(test)]
            {
                self.retagged += old.len();
            }
            for (tag, _) in &old {
                self.by_tag.remove(tag);
            }
            let step = u64::try_from((u128::from(mask) + 1) / old.len().max(1) as u128).unwrap_or(u64::MAX);
            let mut tag = first + step / 2;
            for (_, start) in old {
                if let Some(run) = self.by_start.get_mut(&start) {
                    run.tag = tag;
                    self.by_tag.insert(tag, start);
                }
                tag = tag.saturating_add(step);
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests;
