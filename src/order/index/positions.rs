//! Positions of events, and events at positions. A position counts from 0.

use crate::contract::Result;
use crate::order::tree::Shelf;

use super::OrderIndex;
use super::cursor::RunCursor;
use super::key::{EventKey, Ranks};
use super::layout::Spot;

impl OrderIndex {
    /// Returns the position of an event; `None` where it is not held. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn position(&self, shelf: &Shelf, key: EventKey) -> Result<Option<u64>> {
        let layout = &self.sound()?.layout;
        match layout.locate(shelf, key)? {
            Some(spot) => Ok(Some(layout.position(shelf, &spot)?)),
            None => Ok(None),
        }
    }

    /// Returns the event at a position; `None` from [`len`](Self::len) on. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn at(&self, shelf: &Shelf, position: u64) -> Result<Option<EventKey>> {
        Ok(self.sound()?.layout.spot_at(shelf, position)?.map(|spot| spot.key()))
    }

    /// Reports whether an event is held. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn holds(&self, shelf: &Shelf, key: EventKey) -> Result<bool> {
        Ok(self.sound()?.layout.locate(shelf, key)?.is_some())
    }

    /// Returns a cursor over the runs that stands before the event at a position, or at the end. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn runs(&self, shelf: &Shelf, position: u64) -> Result<RunCursor> {
        RunCursor::new(&self.sound()?.layout, shelf, position.min(self.len()))
    }

    /// Returns the position of the first event whose key is greater than this one, which need not be held; `None` where
    /// there is none. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn first_greater(&self, shelf: &Shelf, ranks: &Ranks, key: EventKey) -> Result<Option<u64>> {
        let layout = &self.sound()?.layout;
        let Some((tag, run)) = layout.first_greater(shelf, ranks, key, 0)? else { return Ok(None) };
        // Only of its own host can a run have smaller keys as well.
        let seq = if run.host == key.host { run.first.max(key.seq.saturating_add(1)) } else { run.first };
        Ok(Some(layout.position(shelf, &Spot { tag, run, seq })?))
    }

    /// Returns the greatest held `seq` of a host. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn last_of(&self, shelf: &Shelf, host: u32) -> Result<Option<u64>> {
        let last = self.sound()?.layout.up_to(shelf, EventKey::new(host, u64::MAX))?;
        Ok(last.map(|spot| spot.seq))
    }

    /// Returns the least held `seq` of a host. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn first_of(&self, shelf: &Shelf, host: u32) -> Result<Option<u64>> {
        let first = self.sound()?.layout.from(shelf, EventKey::new(host, 0))?;
        Ok(first.map(|spot| spot.seq))
    }

    /// Returns the next held event of the same host. O(log n).
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn next_held(&self, shelf: &Shelf, key: EventKey) -> Result<Option<EventKey>> {
        self.sound()?.layout.next_held(shelf, key)
    }
}
