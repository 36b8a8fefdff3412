//! Puts events into the order and cuts them out of it, so that runs stay maximal.

use crate::contract::Result;

use super::edit::Edit;
use super::key::{EventKey, Run};
use super::kinds::{Places, Runs};
use super::layout::{Slot, Spot, contradiction};

impl Edit<'_> {
    /// Puts an event, which is in no run, where it belongs. O(log n).
    pub(super) fn put(&mut self, event: Run, slot: Slot) -> Result<()> {
        match slot {
            Slot::Within(spot) => {
                let position = self.tables.layout.position(self.shelf, &spot)?;
                self.changed_at(position);
                let (left, right) = self.halves(&spot)?;
                self.set::<Runs>(spot.tag, Some(left))?;
                let tag = self.add_behind(spot.tag, left, event)?;
                self.add_behind(tag, event, right).map(|_| ())
            }
            Slot::Before(tag, run) => {
                let position = self.tables.layout.events_before(self.shelf, tag)?;
                self.changed_at(position);
                let before = self.tables.layout.runs.before(self.shelf, &tag)?;
                self.put_between(before, event, Some((tag, run)))
            }
            // Nothing that stood anywhere stands elsewhere now.
            Slot::End => {
                let before = self.tables.layout.runs.last(self.shelf)?;
                self.put_between(before, event, None)
            }
        }
    }

    /// Cuts events out of the run that holds them, from one to a last `seq` of the run. O(log n).
    pub(super) fn cut(&mut self, from: &Spot, last: u64) -> Result<()> {
        let position = self.tables.layout.position(self.shelf, from)?;
        self.changed_at(position);
        let run = from.run;
        let before = from.seq.checked_sub(1).filter(|_| from.seq > run.first);
        let behind = last.checked_add(1).filter(|_| last < run.last());
        match (before, behind) {
            (None, None) => {
                self.remove_run(from.tag, run)?;
                self.join_at(from.tag)
            }
            (Some(before), None) => {
                let left = self.part(&run, run.first, before)?;
                self.set::<Runs>(from.tag, Some(left)).map(|_| ())
            }
            (None, Some(behind)) => {
                let right = self.part(&run, behind, run.last())?;
                self.set::<Places>(run.first_key(), None)?;
                self.set_run(from.tag, right)
            }
            (Some(before), Some(behind)) => {
                let left = self.part(&run, run.first, before)?;
                let right = self.part(&run, behind, run.last())?;
                self.set::<Runs>(from.tag, Some(left))?;
                self.add_behind(from.tag, left, right).map(|_| ())
            }
        }
    }

    /// Finds out again whether the run of an event waits.
    pub(super) fn refresh_waits(&mut self, key: EventKey) -> Result<()> {
        let spot = self.tables.layout.locate(self.shelf, key)?.ok_or_else(contradiction)?;
        let waits = self.tables.waits(self.shelf, &spot.run)?;
        if waits != spot.run.waits {
            self.set::<Runs>(spot.tag, Some(Run { waits, ..spot.run }))?;
        }
        Ok(())
    }

    /// Puts an event between two runs that stand one after the other.
    fn put_between(
        &mut self,
        before: Option<(u64, Run)>,
        event: Run,
        behind: Option<(u64, Run)>,
    ) -> Result<()> {
        let left = before.filter(|(_, run)| run.joins(&event));
        let right = behind.filter(|(_, run)| event.joins(run));
        match (left, right) {
            (Some((tag, run)), None) => self.set::<Runs>(tag, Some(run.with(&event))).map(|_| ()),
            (None, Some((tag, run))) => {
                self.set::<Places>(run.first_key(), None)?;
                self.set_run(tag, event.with(&run))
            }
            (Some((tag, run)), Some((gone, behind))) => {
                self.remove_run(gone, behind)?;
                self.set::<Runs>(tag, Some(run.with(&event).with(&behind))).map(|_| ())
            }
            (None, None) => {
                let tag = self.room_between(before, behind.map(|(tag, _)| tag))?;
                self.set_run(tag, event)
            }
        }
    }

    /// Makes one run of the two next to a tag that holds none, where they belong together.
    fn join_at(&mut self, tag: u64) -> Result<()> {
        let runs = &self.tables.layout.runs;
        let (before, behind) = (runs.before(self.shelf, &tag)?, runs.after(self.shelf, &tag)?);
        if let (Some((tag, left)), Some((gone, right))) = (before, behind)
            && left.joins(&right)
        {
            self.remove_run(gone, right)?;
            self.set::<Runs>(tag, Some(left.with(&right)))?;
        }
        Ok(())
    }

    /// Cuts a run in two: what is before an event, and the event with what is behind it.
    fn halves(&mut self, spot: &Spot) -> Result<(Run, Run)> {
        let run = spot.run;
        Ok((self.part(&run, run.first, spot.seq.saturating_sub(1))?, self.part(&run, spot.seq, run.last())?))
    }

    /// Returns a part of a run, `first` to `last`.
    fn part(&self, run: &Run, first: u64, last: u64) -> Result<Run> {
        let len = last.saturating_sub(first).saturating_add(1);
        let mut part = Run { first, len, ..*run };
        part.waits = run.waits && self.tables.waits(self.shelf, &part)?;
        Ok(part)
    }

    /// Adds a run directly behind another one; returns its tag.
    fn add_behind(&mut self, before: u64, left: Run, run: Run) -> Result<u64> {
        let behind = self.tag_behind(Some(before))?;
        let tag = self.room_between(Some((before, left)), behind)?;
        self.set_run(tag, run)?;
        Ok(tag)
    }

    fn set_run(&mut self, tag: u64, run: Run) -> Result<()> {
        self.set::<Runs>(tag, Some(run))?;
        self.set::<Places>(run.first_key(), Some(tag))?;
        Ok(())
    }

    fn remove_run(&mut self, tag: u64, run: Run) -> Result<()> {
        self.set::<Runs>(tag, None)?;
        self.set::<Places>(run.first_key(), None)?;
        Ok(())
    }
}
