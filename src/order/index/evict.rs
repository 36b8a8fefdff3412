//! Takes events out.

use std::ops::RangeInclusive;

use crate::contract::Result;
use crate::order::tree::Shelf;

use super::OrderIndex;
use super::edit::Edit;
use super::key::{EventKey, Facts, Ranks};
use super::kinds::{Dependents, Heads, Missing, Waiting};
use super::layout::Spot;
use super::links::{Causes, names};

/// Disjoint ranges of events, sorted.
#[derive(Debug, Default)]
struct Ranges {
    /// Host, first and last `seq`.
    parts: Vec<(u32, u64, u64)>,
}

impl Ranges {
    fn new(ranges: &[(u32, RangeInclusive<u64>)]) -> Self {
        let whole = ranges.iter().filter(|(_, range)| !range.is_empty());
        let mut given: Vec<_> = whole.map(|(host, range)| (*host, *range.start(), *range.end())).collect();
        given.sort_unstable();
        let mut parts: Vec<(u32, u64, u64)> = Vec::new();
        for (host, first, last) in given {
            match parts.last_mut() {
                Some(part) if part.0 == host && first <= part.2.saturating_add(1) => {
                    part.2 = part.2.max(last);
                }
                _ => parts.push((host, first, last)),
            }
        }
        Self { parts }
    }

    fn contain(&self, key: EventKey) -> bool {
        let behind = self.parts.partition_point(|part| (part.0, part.1) <= (key.host, key.seq));
        let part = behind.checked_sub(1).and_then(|at| self.parts.get(at));
        part.is_some_and(|part| part.0 == key.host && key.seq <= part.2)
    }
}

/// What an eviction leaves to be looked at.
#[derive(Debug, Default)]
struct Left {
    /// Events that named an evicted one.
    namers: Vec<EventKey>,
    /// Events that an evicted one named.
    named: Vec<EventKey>,
}

impl OrderIndex {
    /// Takes out every held event within the ranges, host and `seq`, and repairs the order; returns how many.
    ///
    /// What is left and named one of them misses it from now on, and waits for nothing. Gaps of a host up to the last `seq` of a range, as far as
    /// the host had events, are explained.
    ///
    /// O(log n) for each event taken out, for each of its links, and for each event that the repair looks at; the causes
    /// of each of them are asked for.
    ///
    /// # Errors
    /// Those of reading nodes and facts. This value may then be half changed: keep a clone.
    pub fn evict(
        &mut self,
        shelf: &Shelf,
        ranks: &Ranks,
        ranges: &[(u32, RangeInclusive<u64>)],
        facts: &mut dyn Facts,
    ) -> Result<u64> {
        self.sound()?;
        let ranges = Ranges::new(ranges);
        let mut edit = Edit::new(shelf, ranks, &mut self.tables, None);
        let mut left = Left::default();
        // Links first, while what is evicted still has its place: which of them are implied depends on that.
        for part in &ranges.parts {
            edit.unlink(*part, &ranges, &mut left, facts)?;
        }
        let mut taken = 0u64;
        for part in &ranges.parts {
            taken = taken.saturating_add(edit.cut_out(*part)?);
        }
        left.named.sort_unstable();
        left.named.dedup();
        for cause in left.named {
            if edit.tables.next_dependent(shelf, cause, None, facts)?.is_none() {
                edit.set::<Heads>(cause, Some(()))?;
            }
        }
        left.namers.sort_unstable();
        left.namers.dedup();
        edit.repair(left.namers.into_iter(), None, facts)?;
        let changed = edit.changed();
        self.events = self.events.saturating_sub(taken);
        self.generation = self.generation.saturating_add(1);
        if let Some(from) = changed {
            self.changes.note(self.generation, from);
        }
        Ok(taken)
    }
}

impl Edit<'_> {
    /// Takes the links of all held events of a range out of the tables.
    fn unlink(
        &mut self,
        (host, first, last): (u32, u64, u64),
        ranges: &Ranges,
        left: &mut Left,
        facts: &mut dyn Facts,
    ) -> Result<()> {
        let mut next = Some(first);
        while let Some(spot) = self.next_of(host, next, last)? {
            let end = spot.run.last().min(last);
            for seq in spot.seq..=end {
                let event = EventKey::new(host, seq);
                self.unlink_causes(event, ranges, left, facts)?;
                self.unlink_dependents(event, ranges, left, facts)?;
                self.set::<Heads>(event, None)?;
                self.set::<Waiting>(event, None)?;
            }
            next = end.checked_add(1);
        }
        Ok(())
    }

    /// Takes out what an event names.
    fn unlink_causes(
        &mut self,
        event: EventKey,
        ranges: &Ranges,
        left: &mut Left,
        facts: &mut dyn Facts,
    ) -> Result<()> {
        let mut causes = Vec::new();
        facts.causes(event, &mut causes)?;
        let mut sorted = Causes::default();
        self.tables.sort_causes(self.shelf, &causes, None, &mut sorted)?;
        for cause in sorted.held {
            let cause = cause.key();
            self.set::<Dependents>((cause, event), None)?;
            if !ranges.contain(cause) {
                left.named.push(cause);
            }
        }
        for (fingerprint, _) in sorted.missing {
            self.set::<Missing>((fingerprint, event), None)?;
        }
        Ok(())
    }

    /// Notes for what names an event that it is gone.
    fn unlink_dependents(
        &mut self,
        event: EventKey,
        ranges: &Ranges,
        left: &mut Left,
        facts: &mut dyn Facts,
    ) -> Result<()> {
        let mut fingerprint = None;
        while let Some(namer) = self.tables.next_stored(self.shelf, event, None)? {
            self.set::<Dependents>((event, namer), None)?;
            if !ranges.contain(namer) {
                self.miss(event, namer, &mut fingerprint, facts)?;
                left.namers.push(namer);
            }
        }
        if let Some(next) = self.tables.layout.next_held(self.shelf, event)?
            && !ranges.contain(next)
            && names(facts, next, event)?
        {
            self.miss(event, next, &mut fingerprint, facts)?;
            left.namers.push(next);
        }
        Ok(())
    }

    /// Notes that a cause of an event is gone; its fingerprint is asked for once.
    fn miss(
        &mut self,
        cause: EventKey,
        namer: EventKey,
        fingerprint: &mut Option<u64>,
        facts: &mut dyn Facts,
    ) -> Result<()> {
        let fingerprint = match *fingerprint {
            Some(known) => known,
            None => *fingerprint.insert(facts.fingerprint(cause)?),
        };
        // Another id of the same fingerprint may be awaited.
        if self.tables.missing.get(self.shelf, &(fingerprint, namer))?.is_none() {
            self.set::<Missing>((fingerprint, namer), Some(false))?;
        }
        Ok(())
    }

    /// Cuts the held events of a range out of their runs; returns how many.
    fn cut_out(&mut self, (host, first, last): (u32, u64, u64)) -> Result<u64> {
        let most = self.tables.layout.up_to(self.shelf, EventKey::new(host, u64::MAX))?;
        let mut taken = 0u64;
        while let Some(spot) = self.next_of(host, Some(first), last)? {
            let end = spot.run.last().min(last);
            self.cut(&spot, end)?;
            taken = taken.saturating_add(end.saturating_sub(spot.seq)).saturating_add(1);
        }
        if let Some(most) = most.filter(|most| most.seq >= first) {
            self.explain(host, last.min(most.seq))?;
        }
        Ok(taken)
    }

    /// Returns the first held event of a host from a `seq` up to another.
    fn next_of(&self, host: u32, from: Option<u64>, last: u64) -> Result<Option<Spot>> {
        let Some(from) = from else { return Ok(None) };
        let found = self.tables.layout.from(self.shelf, EventKey::new(host, from))?;
        Ok(found.filter(|spot| spot.seq <= last))
    }
}
