//! The log in the order in which it was written, as far as it is still there.
//!
//! Invariants:
//! - Arrivals rise from segment to segment, and a segment's events follow one another without a hole.
//! - Between the end of one segment and the start of the next stand the arrivals of events that are gone: dropped to
//!   stay within a cap, or lost and repaired around. A repair closes up what is left of a segment, so the hole is at
//!   its end, wherever in it the lost events were.

use super::parts::{Found, Part};
use super::view::View;
use crate::contract::{IdRef, Result};

/// Events that arrived one after the other.
#[derive(Clone, Debug)]
pub struct Run {
    /// Arrival of the first of them, or of the next event to come.
    pub first: u64,
    /// The events.
    pub events: Vec<Found>,
}

impl Part<'_> {
    /// Returns the arrival behind this segment's last event that is there.
    fn arrivals_end(&self) -> u64 {
        self.arrivals_before() + self.events()
    }
}

impl View {
    /// Returns the arrival of the first event that is not older than all that the view holds.
    pub fn arrivals_start(&self) -> u64 {
        self.parts().next().map_or(0, |part| part.arrivals_before())
    }

    /// Returns the arrival that the next event would get, were the view's events the last ones.
    pub fn arrivals_end(&self) -> u64 {
        self.parts().next_back().map_or(0, |part| part.arrivals_end())
    }

    /// Counts the events that arrived before an arrival and are held. Cost: a look at each segment; a walk over the part of
    /// a sealed one that is cut.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn held_before(&self, arrival: u64) -> Result<u64> {
        let mut held = 0;
        for part in self.parts() {
            let cut = arrival.saturating_sub(part.arrivals_before());
            held += match part {
                _ if part.arrivals_end() <= arrival => part.events(),
                Part::Sealed(segment) => {
                    let cut = usize::try_from(cut).unwrap_or(usize::MAX);
                    segment.arrivals()?.take(cut).filter(|offset| *offset > 0).count() as u64
                }
                Part::Active(..) => cut,
            };
        }
        Ok(held)
    }

    /// Reads up to `most` events of one segment in arrival order: those from `from` on, or the first that are there
    /// behind it. Cost: a step for each segment behind that one; the records.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn arrivals_from(&self, from: u64, most: usize) -> Result<Run> {
        let mut wanted = None;
        for part in self.parts().rev() {
            if part.arrivals_end() <= from {
                break;
            }
            if part.events() > 0 {
                wanted = Some(part);
            }
        }
        let Some(part) = wanted else {
            return Ok(Run { first: from.max(self.arrivals_end()), events: Vec::new() });
        };
        let first = from.max(part.arrivals_before());
        let end = part.arrivals_end().min(first.saturating_add(most as u64));
        let ordinals = (first..end).map(|arrival| arrival - part.arrivals_before());
        let records = match part {
            Part::Sealed(segment) => {
                let offsets = ordinals.filter_map(|ordinal| u32::try_from(ordinal).ok());
                let offsets: Result<Vec<Option<u64>>> =
                    offsets.map(|ordinal| segment.arrival(ordinal)).collect();
                offsets?
                    .into_iter()
                    .flatten()
                    .map(|offset| segment.record_at(offset))
                    .collect::<Result<_>>()?
            }
            Part::Active(..) => part.records(&ordinals.collect::<Vec<_>>())?,
        };
        Ok(Run { first, events: records.into_iter().map(|record| part.found(record)).collect() })
    }

    /// Returns the arrival to go on from for somebody who has seen all up to the event `id`, which had arrival `arrival`
    /// then. `None` where this log never held it there.
    ///
    /// After a repair that lost this very event, what is left cannot say how many of those before it are gone too: the
    /// answer is then the earliest arrival that can be meant, so that nothing is passed over.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn arrival_behind(&self, arrival: u64, id: Option<IdRef<'_>>) -> Result<Option<u64>> {
        if arrival >= self.arrivals_end() {
            return Ok(None);
        }
        let behind = arrival + 1;
        let Some(id) = id else { return Ok(Some(behind)) };
        if self.arrived(arrival)?.is_some_and(|found| found.record.get().id.get() == id) {
            return Ok(Some(behind));
        }
        let Some(part) = self.parts().rev().find(|part| part.arrivals_before() <= arrival) else {
            // Dropped with its segment: all that is held came later.
            return Ok(Some(behind));
        };
        let (start, end) = (part.arrivals_before(), part.arrivals_end());
        let next = self.parts().map(|part| part.arrivals_before()).find(|before| *before >= behind);
        let lost = next.unwrap_or(end).saturating_sub(end);
        if lost == 0 {
            return Ok(None);
        }
        Ok(match self.find(id)? {
            Some(found) => {
                (start..arrival).contains(&found.arrival).then_some(found.arrival.saturating_add(1))
            }
            None => Some(behind.saturating_sub(lost).max(start)),
        })
    }
}
