//! Places one event.

use std::mem;

use crate::contract::{Code, Error, Result};
use crate::order::tree::Shelf;

use super::OrderIndex;
use super::edit::{Edit, Was};
use super::key::{Cause, EventKey, Facts, NewEvent, Placing, Ranks, Run};
use super::kinds::{Dependents, Heads, Missing, Waiting};
use super::layout::Spot;
use super::links::Causes;

/// Entries of a journal whose room is kept: a common append takes about ten.
const JOURNAL_KEPT: usize = 1024;

/// What an append needs room for and the next one can use again. Clones are empty.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    causes: Causes,
    journal: Vec<Was>,
}

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl OrderIndex {
    /// Places an event. The order is then Kahn's of the events held and this one.
    ///
    /// O(log n) for each of its causes, and nothing else moves, unless held events name it: of those, and of
    /// what depends on them, O(log n) for each event that is looked at, which are those that move and their direct
    /// dependents. Facts are asked for only then.
    ///
    /// # Errors
    /// `Invalid` with [`Code::Seq`] where its `seq` is not above all held ones of its host; else those of reading nodes and
    /// facts. Nothing changed; where even taking back fails, everything asked of this value from then on is an
    /// error.
    pub fn add(
        &mut self,
        shelf: &Shelf,
        ranks: &Ranks,
        event: &NewEvent<'_>,
        facts: &mut dyn Facts,
    ) -> Result<Placing> {
        self.sound()?;
        if event.causes.iter().any(|cause| cause.at == Some(event.key)) {
            return Ok(Placing::Cycle(vec![event.key]));
        }
        let mut scratch = mem::take(&mut self.scratch);
        scratch.journal.clear();
        let mut edit = Edit::new(shelf, ranks, &mut self.tables, Some(&mut scratch.journal));
        let placed = edit.place(event, &mut scratch.causes, facts);
        let result = match placed {
            Ok(None) => {
                let changed = edit.changed();
                self.events = self.events.saturating_add(1);
                self.generation = self.generation.saturating_add(1);
                if let Some(from) = changed {
                    self.changes.note(self.generation, from);
                }
                Ok(Placing::Placed)
            }
            Ok(Some(path)) => {
                self.broken = edit.take_back().is_err();
                Ok(Placing::Cycle(path))
            }
            Err(error) => {
                self.broken = edit.take_back().is_err();
                Err(error)
            }
        };
        if scratch.journal.capacity() <= JOURNAL_KEPT {
            self.scratch = scratch;
        }
        result
    }
}

impl Edit<'_> {
    /// Places an event; a path where it closes a cycle.
    fn place(
        &mut self,
        event: &NewEvent<'_>,
        causes: &mut Causes,
        facts: &mut dyn Facts,
    ) -> Result<Option<Vec<EventKey>>> {
        let key = event.key;
        let last = self.tables.layout.up_to(self.shelf, EventKey::new(key.host, u64::MAX))?;
        if last.is_some_and(|last| last.seq >= key.seq) {
            return Err(Error::invalid(Code::Seq, "seq does not grow for its host"));
        }
        self.tables.sort_causes(self.shelf, event.causes, last.as_ref(), causes)?;
        let slot = self.tables.layout.slot(self.shelf, self.ranks, key, causes.held.last())?;
        let awaited = causes.missing.iter().filter(|(_, awaited)| *awaited).count();
        self.put(Run::of(key, awaited > 0), slot)?;
        self.link(key, causes, awaited, last.as_ref())?;
        self.note_gap(key, last.map(|last| last.seq), event.follows)?;
        if event.namers.is_empty() {
            self.set::<Heads>(key, Some(()))?;
            return Ok(None);
        }
        let mut namers = event.namers.to_vec();
        namers.sort_unstable();
        namers.dedup();
        for namer in &namers {
            self.found(event.fingerprint, key, *namer)?;
        }
        let mut facts = WithNew { event, namers: &namers, facts };
        self.repair(namers.iter().copied(), Some(key), &mut facts)
    }

    /// Enters what an event names.
    fn link(&mut self, key: EventKey, causes: &Causes, awaited: usize, last: Option<&Spot>) -> Result<()> {
        for cause in &causes.held {
            let cause = cause.key();
            if last.is_none_or(|last| last.key() != cause) {
                self.set::<Dependents>((cause, key), Some(()))?;
            }
            self.set::<Heads>(cause, None)?;
        }
        for (fingerprint, awaited) in &causes.missing {
            self.set::<Missing>((*fingerprint, key), Some(*awaited))?;
        }
        if awaited > 0 {
            self.set::<Waiting>(key, Some(u32::try_from(awaited).unwrap_or(u32::MAX)))?;
        }
        Ok(())
    }

    /// Enters that the cause which an event was waiting for is held now.
    fn found(&mut self, fingerprint: u64, cause: EventKey, namer: EventKey) -> Result<()> {
        self.set::<Dependents>((cause, namer), Some(()))?;
        if self.set::<Missing>((fingerprint, namer), None)? != Some(true) {
            return Ok(());
        }
        let waiting = self.tables.waiting.get(self.shelf, &namer)?.unwrap_or_default();
        let left = waiting.checked_sub(1).filter(|left| *left > 0);
        self.set::<Waiting>(namer, left)?;
        if left.is_none() {
            self.refresh_waits(namer)?;
        }
        Ok(())
    }
}

/// The facts, and what they cannot know yet: the event that is being placed.
struct WithNew<'a> {
    event: &'a NewEvent<'a>,
    /// Sorted.
    namers: &'a [EventKey],
    facts: &'a mut dyn Facts,
}

impl Facts for WithNew<'_> {
    fn causes(&mut self, of: EventKey, out: &mut Vec<Cause>) -> Result<()> {
        if of == self.event.key {
            out.extend_from_slice(self.event.causes);
            return Ok(());
        }
        self.facts.causes(of, out)?;
        if self.namers.binary_search(&of).is_ok() {
            out.push(Cause { fingerprint: self.event.fingerprint, at: Some(self.event.key) });
        }
        Ok(())
    }

    fn fingerprint(&mut self, of: EventKey) -> Result<u64> {
        if of == self.event.key { Ok(self.event.fingerprint) } else { self.facts.fingerprint(of) }
    }
}
