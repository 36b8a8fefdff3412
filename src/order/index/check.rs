//! Checks that the tables are what they say they are, and agree.

use std::collections::HashMap;

use crate::contract::Result;
use crate::order::tree::Shelf;

use super::key::{EventKey, Ranks};
use super::layout::contradiction;
use super::{OrderIndex, Tables};

impl OrderIndex {
    /// Checks every invariant of the index that can be told without the events: trees, runs and where they are, what
    /// waits, gaps, numbers. Whether it is the order of the events is for [`Proof`](crate::order::Proof) to say.
    ///
    /// O(n) in nodes of all trees; memory for what waits.
    ///
    /// # Errors
    /// `Corrupt` where something is wrong; those of reading nodes.
    pub fn check(&self, shelf: &Shelf, ranks: &Ranks) -> Result<()> {
        let tables = self.sound()?;
        tables.layout.runs.check(shelf, ranks)?;
        tables.layout.places.check(shelf, &())?;
        tables.dependents.check(shelf, &())?;
        tables.missing.check(shelf, &())?;
        tables.waiting.check(shelf, &())?;
        tables.heads.check(shelf, &())?;
        tables.hosts.check(shelf, &())?;
        let events = tables.check_runs(shelf)?;
        sound(events == self.events)?;
        tables.check_places(shelf)?;
        tables.check_waiting(shelf)?;
        tables.check_links(shelf)?;
        tables.check_gaps(shelf)
    }
}

impl Tables {
    /// Checks the runs in order; returns the number of events.
    fn check_runs(&self, shelf: &Shelf) -> Result<u64> {
        let mut events = 0u64;
        let mut before: Option<super::Run> = None;
        let mut cursor = self.layout.runs.cursor();
        while let Some((tag, run)) = cursor.next(shelf)? {
            sound(self.layout.places.get(shelf, &run.first_key())? == Some(tag))?;
            sound(before.is_none_or(|before| !before.joins(&run)))?;
            sound(run.waits == self.waits(shelf, &run)?)?;
            events = events.saturating_add(run.len);
            before = Some(run);
        }
        Ok(events)
    }

    /// Checks that runs share no event.
    fn check_places(&self, shelf: &Shelf) -> Result<()> {
        sound(self.layout.places.len() == self.layout.runs.len())?;
        let mut before: Option<super::Run> = None;
        let mut cursor = self.layout.places.cursor();
        while let Some((place, tag)) = cursor.next(shelf)? {
            let run = self.layout.runs.get(shelf, &tag)?.ok_or_else(contradiction)?;
            sound(run.first_key() == place)?;
            sound(before.is_none_or(|before| before.last_key() < place))?;
            before = Some(run);
        }
        Ok(())
    }

    /// Checks that who waits is held, and for how many.
    fn check_waiting(&self, shelf: &Shelf) -> Result<()> {
        let mut counts: HashMap<EventKey, u32> = HashMap::new();
        let mut missing = self.missing.cursor();
        while let Some(((_, by), awaited)) = missing.next(shelf)? {
            if !awaited {
                continue;
            }
            let count = counts.entry(by).or_default();
            *count = count.saturating_add(1);
        }
        let mut waiting = self.waiting.cursor();
        while let Some((key, count)) = waiting.next(shelf)? {
            sound(counts.remove(&key) == Some(count))?;
            sound(self.layout.locate(shelf, key)?.is_some())?;
        }
        sound(counts.is_empty())
    }

    /// Checks that both ends of a link are held and a cause stands first, and that heads are held and nobody's cause.
    fn check_links(&self, shelf: &Shelf) -> Result<()> {
        let mut links = self.dependents.cursor();
        while let Some(((cause, by), ())) = links.next(shelf)? {
            let cause = self.layout.locate(shelf, cause)?.ok_or_else(contradiction)?;
            let by = self.layout.locate(shelf, by)?.ok_or_else(contradiction)?;
            sound(cause.place() < by.place())?;
        }
        let mut heads = self.heads.cursor();
        while let Some((key, ())) = heads.next(shelf)? {
            sound(self.layout.locate(shelf, key)?.is_some())?;
            sound(self.next_stored(shelf, key, None)?.is_none())?;
        }
        Ok(())
    }

    /// Checks that what is missing is above what is explained and below something held.
    fn check_gaps(&self, shelf: &Shelf) -> Result<()> {
        let mut hosts = self.hosts.cursor();
        while let Some((host, gaps)) = hosts.next(shelf)? {
            let Some(missing) = gaps.missing else { continue };
            let behind = self.layout.from(shelf, EventKey::new(host, missing))?;
            sound(missing > gaps.explained && behind.is_some_and(|behind| behind.seq > missing))?;
        }
        Ok(())
    }
}

fn sound(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(contradiction()) }
}
