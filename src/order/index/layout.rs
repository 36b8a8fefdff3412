//! The order itself: runs by tag, and where the run of an event is.
//!
//! Invariants:
//! - tags rise as the order does, and each event is in one run;
//! - `places` names each run's tag by the run's least key;
//! - runs are maximal: none goes on where the one directly before it ends;
//! - a run waits exactly if one of its events names an id that is not held.
//!
//! Since the `seq` of a run are consecutive, an event that is in no run is behind all events of a run or before all
//! of them. So a run that does not hold an event is passed over whole or not at all when its place is looked for.

use crate::contract::{Error, Result};
use crate::order::tree::{Shelf, Tree};

use super::key::{EventKey, Ranks, Run};
use super::kinds::{Below, Places, Runs};

/// The order. Clones share all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) runs: Tree<Runs>,
    pub(super) places: Tree<Places>,
}

/// Where an event stands, until runs change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) tag: u64,
    /// The run that holds it.
    pub(super) run: Run,
    pub(super) seq: u64,
}

impl Spot {
    /// Compares as the order does.
    pub(super) const fn place(&self) -> (u64, u64) {
        (self.tag, self.seq)
    }

    pub(super) const fn key(&self) -> EventKey {
        EventKey::new(self.run.host, self.seq)
    }
}

/// Where an event belongs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// Directly before an event that is not the first of its run.
    Within(Spot),
    /// Directly before a run.
    Before(u64, Run),
    /// Behind everything.
    End,
}

/// An index whose tables do not agree: what was read is not what was written.
pub(super) fn contradiction() -> Error {
    Error::corrupt("the tables of the order index contradict each other")
}

impl Layout {
    /// Returns where an event stands; `None` where it is not held.
    pub(super) fn locate(&self, shelf: &Shelf, key: EventKey) -> Result<Option<Spot>> {
        let Some((first, tag)) = self.places.at_or_before(shelf, &key)? else { return Ok(None) };
        if first.host != key.host {
            return Ok(None);
        }
        let run = self.run(shelf, first, tag)?;
        Ok((key.seq <= run.last()).then_some(Spot { tag, run, seq: key.seq }))
    }

    /// Returns the first held event of a host from a `seq` on.
    pub(super) fn from(&self, shelf: &Shelf, key: EventKey) -> Result<Option<Spot>> {
        if let Some(spot) = self.locate(shelf, key)? {
            return Ok(Some(spot));
        }
        let Some((first, tag)) = self.places.after(shelf, &key)? else { return Ok(None) };
        if first.host != key.host {
            return Ok(None);
        }
        let run = self.run(shelf, first, tag)?;
        Ok(Some(Spot { tag, run, seq: first.seq }))
    }

    /// Returns the next held event of the same host.
    pub(super) fn next_held(&self, shelf: &Shelf, key: EventKey) -> Result<Option<EventKey>> {
        let Some(next) = key.next() else { return Ok(None) };
        Ok(self.from(shelf, next)?.map(|spot| spot.key()))
    }

    /// Returns the last held event of a host up to a `seq`.
    pub(super) fn up_to(&self, shelf: &Shelf, key: EventKey) -> Result<Option<Spot>> {
        let Some((first, tag)) = self.places.at_or_before(shelf, &key)? else { return Ok(None) };
        if first.host != key.host {
            return Ok(None);
        }
        let run = self.run(shelf, first, tag)?;
        Ok(Some(Spot { tag, run, seq: run.last().min(key.seq) }))
    }

    /// Returns the position of an event that stands at a spot.
    pub(super) fn position(&self, shelf: &Shelf, spot: &Spot) -> Result<u64> {
        Ok(self.events_before(shelf, spot.tag)?.saturating_add(spot.seq.saturating_sub(spot.run.first)))
    }

    /// Returns where the event at a position stands.
    pub(super) fn spot_at(&self, shelf: &Shelf, position: u64) -> Result<Option<Spot>> {
        let found = self.runs.nth(shelf, position, &|below| below.events, &|_, run| run.len)?;
        Ok(found.map(|(tag, run, left)| Spot { tag, run, seq: run.first.saturating_add(left) }))
    }

    /// Returns how many events stand before a run.
    pub(super) fn events_before(&self, shelf: &Shelf, tag: u64) -> Result<u64> {
        self.runs.weight_before(shelf, &tag, |below| below.events, |_, run| run.len)
    }

    /// Returns where an event belongs that is in no run: directly before the first event behind its last held cause
    /// whose key is greater.
    pub(super) fn slot(
        &self,
        shelf: &Shelf,
        ranks: &Ranks,
        key: EventKey,
        last_cause: Option<&Spot>,
    ) -> Result<Slot> {
        let from = match last_cause {
            None => Some(0),
            Some(cause) => {
                if let Some(behind) = rest_behind(cause)
                    && ranks.of(cause.run.last_key()) > ranks.of(key)
                {
                    return Ok(Slot::Within(behind));
                }
                cause.tag.checked_add(1)
            }
        };
        let Some(from) = from else { return Ok(Slot::End) };
        Ok(match self.first_greater(shelf, ranks, key, from)? {
            Some((tag, run)) => Slot::Before(tag, run),
            None => Slot::End,
        })
    }

    /// Returns the first run, from a tag on, whose last key is greater.
    pub(super) fn first_greater(
        &self,
        shelf: &Shelf,
        ranks: &Ranks,
        key: EventKey,
        from: u64,
    ) -> Result<Option<(u64, Run)>> {
        let own = ranks.of(key);
        let may = |below: &Below| ranks.of(below.greatest) > own;
        let hit = |_: &u64, run: &Run| ranks.of(run.last_key()) > own;
        self.runs.find_from(shelf, &from, &may, &hit)
    }

    /// Reports whether an event stands where it belongs.
    pub(super) fn stands(
        &self,
        shelf: &Shelf,
        ranks: &Ranks,
        event: &Spot,
        last_cause: Option<&Spot>,
    ) -> Result<bool> {
        let from = match last_cause {
            None => 0,
            Some(cause) if cause.place() >= event.place() => return Ok(false),
            // What is between them is of the same host, and before it.
            Some(cause) if cause.tag == event.tag => return Ok(true),
            Some(cause) => {
                let greater = ranks.of(cause.run.last_key()) > ranks.of(event.key());
                if greater && rest_behind(cause).is_some() {
                    return Ok(false);
                }
                cause.tag.saturating_add(1)
            }
        };
        // A run before its own with a greater key would stand between. In its own run, it is behind smaller ones.
        let found = self.first_greater(shelf, ranks, event.key(), from)?;
        Ok(found.is_none_or(|(tag, _)| tag >= event.tag))
    }

    /// Returns the run that a place leads to.
    fn run(&self, shelf: &Shelf, first: EventKey, tag: u64) -> Result<Run> {
        let run = self.runs.get(shelf, &tag)?;
        run.filter(|run| run.first_key() == first).ok_or_else(contradiction)
    }
}

/// Returns the event directly behind one in the same run.
fn rest_behind(spot: &Spot) -> Option<Spot> {
    (spot.seq < spot.run.last()).then_some(Spot { seq: spot.seq.saturating_add(1), ..*spot })
}
