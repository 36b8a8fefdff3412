//! Who names whom: dependents of held events, and ids that held events name although nobody holds them.
//!
//! Invariants:
//! - for held `c` and `e` where `e` names `c`, `(c, e)` is in `dependents` unless `e` is the next held event of
//!   `c`'s host. Such a link is *implied*: asking that one event for its causes tells. Most links of a log are of
//!   a host's event to the one before it, so most need no entry. Where events between the two were evicted, a
//!   link that has an entry is implied as well;
//! - for held `e` and a fingerprint of a cause of it that is not held, the pair is in `missing`, which says whether the cause is
//!   *awaited*. One that was held and is gone is not: its `seq` is never taken again. `waiting` counts those that are, by
//!   event, and has none of 0;
//! - `heads` are the held events that no held event names.
//!
//! Two ids of one event that have the same fingerprint and are both missing count as one; fingerprints
//! of 64 bits from a secret key make that a matter of theory.

use crate::contract::Result;
use crate::order::tree::Shelf;

use super::key::{Cause, EventKey, Facts, Run};
use super::layout::Spot;
use super::{OrderIndex, Tables};

/// The least key of all.
const LEAST: EventKey = EventKey::new(0, 0);

/// The causes of one event, each once.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// Those that are held, as the order has them.
    pub(super) held: Vec<Spot>,
    /// Fingerprints of those that are not held, and whether each was never held, as far as is known.
    pub(super) missing: Vec<(u64, bool)>,
}

impl Tables {
    /// Sorts the causes of an event into those that are held and those that are not. `known` is a spot that need not be
    /// looked up.
    pub(super) fn sort_causes(
        &self,
        shelf: &Shelf,
        causes: &[Cause],
        known: Option<&Spot>,
        sorted: &mut Causes,
    ) -> Result<()> {
        sorted.held.clear();
        sorted.missing.clear();
        for cause in causes {
            let held = match (cause.at, known) {
                (Some(at), Some(known)) if known.key() == at => Some(*known),
                (Some(at), _) => self.layout.locate(shelf, at)?,
                (None, _) => None,
            };
            match held {
                Some(spot) => sorted.held.push(spot),
                None => sorted.missing.push((cause.fingerprint, cause.at.is_none())),
            }
        }
        sorted.held.sort_unstable_by_key(Spot::place);
        sorted.held.dedup_by_key(|spot| spot.place());
        sorted.missing.sort_unstable_by_key(|(fingerprint, awaited)| (*fingerprint, !awaited));
        sorted.missing.dedup_by_key(|(fingerprint, _)| *fingerprint);
        Ok(())
    }

    /// Returns where the last of the held causes of an event stands.
    pub(super) fn last_cause(&self, shelf: &Shelf, of: EventKey, causes: &[Cause]) -> Result<Option<Spot>> {
        let mut last: Option<Spot> = None;
        for at in causes.iter().filter_map(|cause| cause.at).filter(|at| *at != of) {
            if let Some(spot) = self.layout.locate(shelf, at)?
                && last.is_none_or(|last| last.place() < spot.place())
            {
                last = Some(spot);
            }
        }
        Ok(last)
    }

    /// Returns the next event that names one, behind another; see [`OrderIndex::next_dependent`].
    pub(super) fn next_dependent(
        &self,
        shelf: &Shelf,
        of: EventKey,
        after: Option<EventKey>,
        facts: &mut dyn Facts,
    ) -> Result<Option<EventKey>> {
        let stored = self.next_stored(shelf, of, after)?;
        let Some(next) = self.layout.next_held(shelf, of)? else { return Ok(stored) };
        let is_new = after.is_none_or(|after| after < next) && stored.is_none_or(|stored| next < stored);
        Ok(if is_new && names(facts, next, of)? { Some(next) } else { stored })
    }

    /// Returns the next event that has an entry for naming one, behind another.
    pub(super) fn next_stored(
        &self,
        shelf: &Shelf,
        of: EventKey,
        after: Option<EventKey>,
    ) -> Result<Option<EventKey>> {
        let found = match after {
            None => self.dependents.at_or_after(shelf, &(of, LEAST))?,
            Some(after) => self.dependents.after(shelf, &(of, after))?,
        };
        Ok(found.and_then(|((cause, by), ())| (cause == of).then_some(by)))
    }

    /// Reports whether an event of a run names an id that is not held.
    pub(super) fn waits(&self, shelf: &Shelf, run: &Run) -> Result<bool> {
        Ok(self.first_waiting_of(shelf, run)?.is_some())
    }

    fn first_waiting_of(&self, shelf: &Shelf, run: &Run) -> Result<Option<EventKey>> {
        let found = self.waiting.at_or_after(shelf, &run.first_key())?;
        Ok(found.map(|(key, _)| key).filter(|key| *key <= run.last_key()))
    }
}

/// Reports whether an event names another one.
pub(super) fn names(facts: &mut dyn Facts, event: EventKey, cause: EventKey) -> Result<bool> {
    let mut causes = Vec::new();
    facts.causes(event, &mut causes)?;
    Ok(causes.iter().any(|named| named.at == Some(cause)))
}

impl OrderIndex {
    /// Returns the next event that names `of`, behind `after`; by host number, then `seq`, each once. O(log n), and the
    /// causes of at most one event are asked for.
    ///
    /// # Errors
    /// Those of reading nodes and facts.
    pub fn next_dependent(
        &self,
        shelf: &Shelf,
        of: EventKey,
        after: Option<EventKey>,
        facts: &mut dyn Facts,
    ) -> Result<Option<EventKey>> {
        self.sound()?.next_dependent(shelf, of, after, facts)
    }

    /// Returns the next event, behind `after`, that names an id with this fingerprint which is not held. The ids are still to be
    /// compared. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn next_namer(
        &self,
        shelf: &Shelf,
        fingerprint: u64,
        after: Option<EventKey>,
    ) -> Result<Option<EventKey>> {
        let missing = &self.sound()?.missing;
        let found = match after {
            None => missing.at_or_after(shelf, &(fingerprint, LEAST))?,
            Some(after) => missing.after(shelf, &(fingerprint, after))?,
        };
        Ok(found.and_then(|((id, by), _)| (id == fingerprint).then_some(by)))
    }

    /// Returns the least fingerprint, above one, of an id that held events name and nobody holds. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn next_missing(&self, shelf: &Shelf, after: Option<u64>) -> Result<Option<u64>> {
        let missing = &self.sound()?.missing;
        let found = match after {
            None => missing.first(shelf)?,
            Some(after) => missing.after(shelf, &(after, EventKey { host: u32::MAX, seq: u64::MAX }))?,
        };
        Ok(found.map(|((id, _), _)| id))
    }

    /// Returns how many pairs there are of a held event and an id it names that is not held. O(1).
    #[must_use]
    pub fn missing_len(&self) -> u64 {
        self.tables.missing.len()
    }

    /// Returns the next event that no held event names, behind `after`; by host number, then `seq`. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn next_head(&self, shelf: &Shelf, after: Option<EventKey>) -> Result<Option<EventKey>> {
        let heads = &self.sound()?.heads;
        let found = match after {
            None => heads.first(shelf)?,
            Some(after) => heads.after(shelf, &after)?,
        };
        Ok(found.map(|(key, ())| key))
    }

    /// Returns how many events no held event names. O(1).
    #[must_use]
    pub fn heads_len(&self) -> u64 {
        self.tables.heads.len()
    }

    /// Returns the first event of the order that names an id which was never held, as far as is known, and its position:
    /// what was evicted is not waited for. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn first_waiting(&self, shelf: &Shelf) -> Result<Option<(u64, EventKey)>> {
        let tables = self.sound()?;
        let found = tables.layout.runs.find_from(shelf, &0, &|below| below.waits, &|_, run| run.waits)?;
        let Some((tag, run)) = found else { return Ok(None) };
        let key = tables.first_waiting_of(shelf, &run)?.ok_or_else(super::layout::contradiction)?;
        let spot = Spot { tag, run, seq: key.seq };
        Ok(Some((tables.layout.position(shelf, &spot)?, key)))
    }
}
