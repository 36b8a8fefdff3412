//! The order of a snapshot as a stream, from both ends.
//!
//! Invariants:
//! - What is left are the positions from `from` to before `to`; each is given once, by one end or the other.
//! - A stream reads runs from the order's index and their events from the log, and holds a path of the index and a
//!   read-ahead of fixed size: memory does not grow with the log.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::events::{Events, HostEvents};
use super::lanes::Lanes;
use crate::contract::{Error, EventId, Result};
use crate::log::{Arrangement, StoredEvent, View};
use crate::order::index::RunCursor;

/// Events that are read at once where the order is read backwards.
const BACK_FETCH: u64 = 64;

/// A place in the order of a snapshot: a position, from 0, or an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderFrom {
    /// The events from this position on.
    Position(u64),
    /// An event, and what stands behind it.
    Event(EventId),
}

impl From<u64> for OrderFrom {
    fn from(position: u64) -> Self {
        Self::Position(position)
    }
}

impl From<EventId> for OrderFrom {
    fn from(id: EventId) -> Self {
        Self::Event(id)
    }
}

impl From<&EventId> for OrderFrom {
    fn from(id: &EventId) -> Self {
        Self::Event(id.clone())
    }
}

/// Events of a snapshot in the order, or a part of it; both ends can be read. Ends at the first error.
///
/// `Send`, and independent of the store's life: it gives the order of its snapshot, whatever is appended or dropped
/// meanwhile.
pub struct Ordered {
    view: View,
    order: Arc<Arrangement>,
    from: u64,
    to: u64,
    front: Option<Front>,
    back: Option<Back>,
    failed: bool,
}

/// Reading forward.
struct Front {
    runs: RunCursor,
    /// Host and `seq` of the next event of the run that is read, and the `seq` behind its last.
    run: (u32, u64, u64),
    lanes: Lanes,
}

/// Reading backwards.
struct Back {
    runs: RunCursor,
    /// Host, first `seq`, and the `seq` behind the next event of the run that is read.
    run: (u32, u64, u64),
    /// Events of that run that were read, the next one last.
    read: Vec<StoredEvent>,
}

impl Ordered {
    /// Gives the positions of a range, as far as there are any.
    pub(super) fn new(view: View, order: Arc<Arrangement>, range: &impl RangeBounds<u64>) -> Self {
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(behind) => *behind,
            Bound::Unbounded => u64::MAX,
        };
        let to = to.min(order.index().len());
        Self { view, order, from: from.min(to), to, front: None, back: None, failed: false }
    }

    /// Returns the position of the event that [`next`](Iterator::next) gives, or the end.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.from
    }

    /// Returns the number of events that are left.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        if self.failed { 0 } else { self.to - self.from }
    }

    fn forward(&mut self) -> Result<Option<StoredEvent>> {
        if self.remaining() == 0 {
            return Ok(None);
        }
        let front = match &mut self.front {
            Some(front) => front,
            None => {
                let runs = self.order.index().runs(self.order.shelf(), self.from)?;
                let lanes = Lanes::new(self.view.clone(), self.view.names().hosts_in_order().len());
                self.front.insert(Front { runs, run: (0, 0, 0), lanes })
            }
        };
        if front.run.1 >= front.run.2 {
            let (_, run) = front.runs.next(self.order.shelf())?.ok_or_else(ended)?;
            front.run = (run.host, run.first, run.first.saturating_add(run.len));
        }
        let event = front.lanes.read(front.run.0, front.run.1)?;
        front.run.1 += 1;
        self.from += 1;
        Ok(Some(event))
    }

    fn backward(&mut self) -> Result<Option<StoredEvent>> {
        if self.remaining() == 0 {
            return Ok(None);
        }
        let back = match &mut self.back {
            Some(back) => back,
            None => {
                let runs = self.order.index().runs(self.order.shelf(), self.to)?;
                self.back.insert(Back { runs, run: (0, 0, 0), read: Vec::new() })
            }
        };
        if back.read.is_empty() {
            if back.run.1 >= back.run.2 {
                let (_, run) = back.runs.prev(self.order.shelf())?.ok_or_else(ended)?;
                back.run = (run.host, run.first, run.first.saturating_add(run.len));
            }
            let (host, first, end) = back.run;
            let from = first.max(end.saturating_sub(BACK_FETCH));
            let events = HostEvents::new(self.view.clone(), host, from, end - 1);
            back.read = events.collect::<Result<_>>()?;
            if back.read.len() as u64 != end - from {
                return Err(ended());
            }
            back.run.2 = from;
        }
        self.to -= 1;
        back.read.pop().map(Some).ok_or_else(ended)
    }

    fn unless_failed(&mut self, given: Result<Option<StoredEvent>>) -> Option<Result<StoredEvent>> {
        self.failed |= given.is_err();
        given.transpose()
    }
}

fn ended() -> Error {
    Error::corrupt("the order's index and the log do not hold the same events")
}

impl Iterator for Ordered {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.forward();
        self.unless_failed(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.remaining()).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

impl DoubleEndedIterator for Ordered {
    fn next_back(&mut self) -> Option<Self::Item> {
        let event = self.backward();
        self.unless_failed(event)
    }
}

/// For code that takes events of any kind.
impl From<Ordered> for Events {
    fn from(ordered: Ordered) -> Self {
        Self::new(ordered)
    }
}

impl fmt::Debug for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ordered({}..{})", self.from, self.to)
    }
}
