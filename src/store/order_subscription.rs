//! Subscriptions in order: the one order of a store as it grows, and what moved in it.
//!
//! Invariants:
//! - What was delivered and not taken back is a prefix of the order of the snapshot that is read now.
//! - A new snapshot is taken when the one before is read to its end. Before anything of it is delivered it is compared
//!   with the one before, and what moved is told first.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::order_mark::OrderMark;
use super::ordered::Ordered;
use super::subscribers::Seat;
use super::subscription::{Source, wait_for_news};
use crate::contract::Result;
use crate::log::StoredEvent;

/// What a subscription in order delivers.
#[derive(Clone, Debug)]
pub enum OrderStep {
    /// The next event of the order.
    Event {
        /// Its position in the order, from 0.
        position: u64,
        /// The event.
        event: StoredEvent,
    },
    /// The order changed from a position on: forget what was delivered from there on. It goes on with that position.
    Reordered {
        /// The first position that is not as it was.
        from: u64,
    },
}

/// How far a subscription in order came. Clients keep it beside what they made of the events; as JSON it is
/// `{"position":N,"mark":{"incarnation":"HEX","generation":N}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderPoint {
    /// The position of the event that comes next: so many were delivered and not taken back.
    pub position: u64,
    /// The state of the order that they were delivered of.
    pub mark: OrderMark,
}

/// A pull cursor over the order of a store.
///
/// Made by [`Store::subscribe_ordered`](super::Store::subscribe_ordered). An event can take a place before others that
/// were delivered already, and eviction takes events away: then [`OrderStep::Reordered`] comes before anything else. Whoever
/// cuts what he made of the events back to that position, and goes on, ends in the state of a fresh replay.
///
/// Only what is synced is delivered, as by [`Subscription`](super::Subscription). It is a reader and no queue: a slow one
/// slows nobody. [`Snapshot::stable`](super::Snapshot::stable) tells how much cannot be taken back.
///
/// # Errors
/// Of all calls: `Corrupt` and `Io`, with the point unchanged; the same call may be tried again.
pub struct OrderSubscription {
    source: Source,
    seat: Seat,
    poll: Duration,
    point: OrderPoint,
    stream: Option<Ordered>,
}

impl OrderSubscription {
    /// Starts behind a point, or at the beginning.
    pub(super) fn new(source: Source, seat: Seat, poll: Duration, after: Option<OrderPoint>) -> Self {
        let nowhere = OrderMark { incarnation: String::new(), generation: 0 };
        let point = after.unwrap_or(OrderPoint { position: 0, mark: nowhere });
        Self { source, seat, poll, point, stream: None }
    }

    /// Sets how often a store that is open for reading alone is asked for news. Default: 100 ms; at least 1 ms.
    #[must_use]
    pub fn poll_every(mut self, interval: Duration) -> Self {
        self.poll = interval.max(Duration::from_millis(1));
        self
    }

    /// Returns the next step if there is one. `None`: not yet, or never where the store was closed.
    ///
    /// # Errors
    /// See [`OrderSubscription`].
    pub fn try_next(&mut self) -> Result<Option<OrderStep>> {
        let closed = self.seat.is_closed();
        self.take(closed)
    }

    /// Waits for the next step, for ever if need be. `None`: the store was closed, and everything was delivered.
    ///
    /// # Errors
    /// See [`OrderSubscription`].
    pub fn recv(&mut self) -> Result<Option<OrderStep>> {
        self.wait(None)
    }

    /// Waits for the next step, but no longer than `timeout`. `None`: it did not come, or the store was closed and
    /// everything was delivered.
    ///
    /// # Errors
    /// See [`OrderSubscription`].
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<OrderStep>> {
        self.wait(Instant::now().checked_add(timeout))
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<Option<OrderStep>> {
        loop {
            // In this order: nothing becomes synced after the store was closed.
            let closed = self.seat.is_closed();
            let found = self.take(closed)?;
            if found.is_some() || closed || !wait_for_news(&self.seat, &self.source, self.poll, until) {
                return Ok(found);
            }
        }
    }

    fn take(&mut self, closed: bool) -> Result<Option<OrderStep>> {
        if let Some(step) = self.deliver()? {
            return Ok(Some(step));
        }
        let (view, order) = self.source.ordered_view(closed)?;
        let mark = OrderMark::of(&order);
        let moved = if mark.incarnation == self.point.mark.incarnation {
            order.index().changed_since(self.point.mark.generation)
        } else {
            Some(0)
        };
        let moved = moved.filter(|from| *from < self.point.position);
        let position = moved.unwrap_or(self.point.position);
        self.stream = Some(Ordered::new(view, order, &(position..)));
        self.point = OrderPoint { position, mark };
        match moved {
            Some(from) => Ok(Some(OrderStep::Reordered { from })),
            None => self.deliver(),
        }
    }

    /// Delivers from the snapshot that is read.
    fn deliver(&mut self) -> Result<Option<OrderStep>> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        match stream.next().transpose() {
            Ok(Some(event)) => {
                let position = self.point.position;
                self.point.position += 1;
                Ok(Some(OrderStep::Event { position, event }))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                self.stream = None;
                Err(error)
            }
        }
    }

    /// Returns how far this came: keep it with what was made of the events, and hand it back to
    /// [`Store::subscribe_ordered`](super::Store::subscribe_ordered) after a restart.
    #[must_use]
    pub fn point(&self) -> OrderPoint {
        self.point.clone()
    }

    /// Reports whether the store was closed: what is left is delivered, and nothing comes after it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.seat.is_closed()
    }
}

impl fmt::Debug for OrderSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderSubscription").field("point", &self.point).finish_non_exhaustive()
    }
}
