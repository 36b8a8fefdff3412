//! Where causes stand in a store, asked of the store: a replay then keeps nothing that grows with the log.
//!
//! Invariants:
//! - What the index of the order says is never believed where the stream can say it: each run of a host's events must
//!   begin where the index says that it does, and what went by lately is known without the index.
//! - Memory is a fixed number of slots.

mod recent;
mod snapshot;
#[cfg(test)]
mod tests;

pub(super) use snapshot::{OrderMark, SnapshotOrder};

use std::fmt;

use crate::contract::{Error, EventFields, IdRef, Result};
use crate::log::StoredEvent;

use super::invariants::ACTIVATED;
use super::seen::{Arrival, CausePlaces};
use recent::Recent;

/// Events whose places are known without the index: most causes are among them. 1.5 MiB.
const RECENT: usize = 1 << 16;

/// What a replay asks of the store that holds the events. Hosts are by number, as records name them.
pub(super) trait Held {
    /// Returns where an event stands in the order; `None` where it is not held.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    fn position(&self, host: u32, seq: u64) -> Result<Option<u64>>;

    /// Returns the event of an id; `None` where it is not held.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    fn get(&self, id: IdRef<'_>) -> Result<Option<StoredEvent>>;

    /// Returns how many ids held events name and nobody holds.
    fn missing(&self) -> u64;
}

/// Answers from the index of a store's order.
pub(super) struct HeldPlaces<H> {
    held: H,
    recent: Recent,
    /// The event that came last.
    last: Option<(u32, u64)>,
    /// The first event, by position, that stands behind one that names it. What stands behind it is of no interest: the
    /// sequence is not the order from there on.
    late: Option<u64>,
}

impl<H: Held> HeldPlaces<H> {
    pub(super) fn new(held: H) -> Self {
        Self::with_recent(held, RECENT)
    }

    fn with_recent(held: H, slots: usize) -> Self {
        Self { held, recent: Recent::new(slots), last: None, late: None }
    }

    /// Goes on in the middle of the order. `late` is what [`late`](Self::late) gave there.
    pub(super) fn resumed(mut self, late: Option<u64>) -> Self {
        self.late = late;
        self
    }

    /// Returns the first event that stands behind one that names it, as far as is known.
    pub(super) const fn late(&self) -> Option<u64> {
        self.late
    }

    fn place(&self, host: u32, seq: u64) -> Result<Option<u64>> {
        self.recent.find(host, seq).map_or_else(|| self.held.position(host, seq), |place| Ok(Some(place)))
    }

    /// Checks that the index has an event where it came, unless it goes on from the one before.
    fn check(&self, host: u32, seq: u64, position: u64) -> Result<()> {
        if self.last.is_some_and(|(last, before)| last == host && before < seq) {
            return Ok(());
        }
        if self.held.position(host, seq)? == Some(position) {
            return Ok(());
        }
        let message = format!("the index of the order has another event at position {position}; run reindex");
        Err(Error::corrupt(message))
    }
}

impl<H: Held> CausePlaces<StoredEvent> for HeldPlaces<H> {
    fn take(&mut self, event: &StoredEvent, position: u64, places: &mut Vec<Option<u64>>) -> Result<Arrival> {
        let record = event.record();
        let (host, seq) = (record.host.to_native(), record.seq().get());
        self.check(host, seq, position)?;
        for cause in record.causes.iter() {
            let place = match cause.resolved() {
                Some((host, seq)) => self.place(host, seq.get())?,
                // It was not held when the record was written; it may have come since.
                None => match self.held.get(cause.id.get())? {
                    Some(late) => self.place(late.record().host.to_native(), late.seq().get())?,
                    None => None,
                },
            };
            let behind = place.filter(|place| *place >= position);
            self.late = self.late.into_iter().chain(behind).min();
            places.push(place.filter(|_| behind.is_none()));
        }
        self.recent.note(host, seq, position);
        self.last = Some((host, seq));
        Ok(if self.late == Some(position) { Arrival::Late } else { Arrival::InTime })
    }

    fn names_activation(&mut self, event: &StoredEvent, places: &[Option<u64>]) -> Result<bool> {
        for (cause, _) in event.causes().zip(places).filter(|(_, place)| place.is_some()) {
            if self.held.get(cause)?.is_some_and(|cause| cause.kind() == ACTIVATED) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn missing(&self) -> u64 {
        self.held.missing()
    }
}

impl<H> fmt::Debug for HeldPlaces<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPlaces")
            .field("last", &self.last)
            .field("late", &self.late)
            .finish_non_exhaustive()
    }
}
