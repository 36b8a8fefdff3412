//! The one repair loop: late causes and evictions.
//!
//! Candidates are looked at in the order in which they stood before. One that stands where it belongs ends the
//! search there; another one moves to where it belongs, and what depends on it becomes a candidate. Since a
//! candidate's causes stood before it, all of them that move have moved by then, so each event moves at most
//! once. A search that comes back to the new event has found a cycle.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::contract::Result;

use super::edit::Edit;
use super::key::{Cause, EventKey, Facts, Run};
use super::layout::{Layout, Spot, contradiction};

/// Where an event stood before anything moved: tag and `seq`.
type Stood = (u64, u64);

/// What is still to be looked at, and who made it so.
#[derive(Debug, Default)]
struct Work {
    heap: BinaryHeap<Reverse<(Stood, EventKey)>>,
    /// Every event that ever was a candidate, with the moved event that it names; `None` for those given.
    moved_cause: HashMap<EventKey, Option<EventKey>>,
}

impl Edit<'_> {
    /// Puts events, and what depends on them, where they belong. With the path of a cycle if that leads to the event
    /// `closing`; the order is then half repaired.
    pub(super) fn repair(
        &mut self,
        candidates: impl Iterator<Item = EventKey>,
        closing: Option<EventKey>,
        facts: &mut dyn Facts,
    ) -> Result<Option<Vec<EventKey>>> {
        let mut work = Work::default();
        // While nothing moved, the order of now is the order of before.
        let mut before: Option<Layout> = None;
        for candidate in candidates {
            self.candidate(&mut work, before.as_ref(), candidate, None)?;
        }
        let mut causes = Vec::new();
        while let Some(Reverse((_, event))) = work.heap.pop() {
            causes.clear();
            facts.causes(event, &mut causes)?;
            let last = self.tables.last_cause(self.shelf, event, &causes)?;
            let spot = self.tables.layout.locate(self.shelf, event)?.ok_or_else(contradiction)?;
            if self.tables.layout.stands(self.shelf, self.ranks, &spot, last.as_ref())? {
                continue;
            }
            if before.is_none() {
                before = Some(self.tables.layout.clone());
            }
            self.relocate(&spot, &causes)?;
            let mut dependent = None;
            while let Some(next) = self.tables.next_dependent(self.shelf, event, dependent, facts)? {
                if closing == Some(next) {
                    return Ok(Some(work.path(event, next)));
                }
                self.candidate(&mut work, before.as_ref(), next, Some(event))?;
                dependent = Some(next);
            }
        }
        Ok(None)
    }

    fn candidate(
        &self,
        work: &mut Work,
        before: Option<&Layout>,
        event: EventKey,
        moved_cause: Option<EventKey>,
    ) -> Result<()> {
        if work.moved_cause.contains_key(&event) {
            return Ok(());
        }
        let layout = before.unwrap_or(&self.tables.layout);
        let stood = layout.locate(self.shelf, event)?.ok_or_else(contradiction)?;
        work.moved_cause.insert(event, moved_cause);
        work.heap.push(Reverse((stood.place(), event)));
        Ok(())
    }

    /// Takes an event out and puts it where it belongs.
    fn relocate(&mut self, spot: &Spot, causes: &[Cause]) -> Result<()> {
        let event = spot.key();
        self.cut(spot, event.seq)?;
        // Looked up again: cutting may have given runs other tags.
        let last = self.tables.last_cause(self.shelf, event, causes)?;
        let slot = self.tables.layout.slot(self.shelf, self.ranks, event, last.as_ref())?;
        let waits = spot.run.waits && self.tables.waiting.get(self.shelf, &event)?.is_some();
        self.put(Run::of(event, waits), slot)
    }
}

impl Work {
    /// The way from a candidate that was given, over those that moved because of it, to the closing event.
    fn path(&self, from: EventKey, closing: EventKey) -> Vec<EventKey> {
        let mut path = vec![closing];
        let mut event = Some(from);
        while let Some(key) = event {
            path.push(key);
            event = self.moved_cause.get(&key).copied().flatten();
        }
        path.reverse();
        path
    }
}
