//! Questions on the order of a snapshot.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::arranging::caught_up;
use super::causes;
use super::events::Events;
use super::order_mark::OrderMark;
use super::ordered::{OrderFrom, Ordered};
use super::reader::Reader;
use super::snapshot::Snapshot;
use crate::contract::{Code, Error, ErrorKind, EventId, Result};
use crate::log::{Arrangement, View};
use crate::order::index::EventKey;

/// Where a snapshot has its order from.
#[derive(Clone)]
pub(super) enum OrderOf {
    /// It was taken with it.
    Kept(Arc<Arrangement>),
    /// A reading process makes it when somebody asks.
    Reader(Arc<Reader>),
}

impl fmt::Debug for OrderOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OrderOf")
    }
}

impl Snapshot {
    /// Returns the order of this snapshot.
    pub(super) fn arrangement(&self) -> Result<Arc<Arrangement>> {
        match &self.order {
            OrderOf::Kept(order) => caught_up(Arc::clone(order), &self.view),
            OrderOf::Reader(reader) => reader.arrange(&self.view),
        }
    }

    /// Iterates over all events in the order: each behind the causes of it that are held, and among those that are ready
    /// together by host, `seq` and id. A host's events come by rising `seq` only where their causes ask for it; see
    /// [`Appender::chained`](super::Appender::chained). Both ends can be read.
    ///
    /// Cost: the order is kept, so nothing is computed and nothing read ahead of the first event; each event costs its
    /// read. Memory: up to 1,024 events that are read ahead, and [`Options::order_cache_bytes`](super::Options) for all
    /// readers of the store together, whatever the number of events.
    ///
    /// In a reading process, what was written since the last checkpoint of the writer is placed first; and all of the log,
    /// in memory, where the store has no stored order that fits it.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn ordered(&self) -> Result<Ordered> {
        self.ordered_between(..)
    }

    /// Iterates over the order from a position, or from an event on. Cost: a search, whatever is passed over.
    ///
    /// Positions are those of this snapshot: pages that are taken from one snapshot neither skip nor repeat anything,
    /// whatever arrives meanwhile.
    ///
    /// # Errors
    /// `NotFound` for an event that is not held; `Corrupt`, `Io`.
    pub fn ordered_from(&self, from: impl Into<OrderFrom>) -> Result<Ordered> {
        let position = match from.into() {
            OrderFrom::Position(position) => position,
            OrderFrom::Event(id) => self.position_of(&id)?.ok_or_else(|| not_held(&id))?,
        };
        self.ordered_between(position..)
    }

    /// Iterates over the positions of a range, as far as the order has them.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn ordered_between(&self, positions: impl RangeBounds<u64>) -> Result<Ordered> {
        Ok(Ordered::new(self.view.clone(), self.arrangement()?, &positions))
    }

    /// Returns the position of an event in the order, from 0; `None` where it is not held. Cost: that of
    /// [`get`](Self::get), and O(log n).
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn position_of(&self, id: &EventId) -> Result<Option<u64>> {
        let Some(key) = self.key_of(id)? else { return Ok(None) };
        let order = self.arrangement()?;
        order.index().position(order.shelf(), key)
    }

    /// Names this state of the order, to ask later what changed since.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn order_mark(&self) -> Result<OrderMark> {
        Ok(OrderMark::of(&*self.arrangement()?))
    }

    /// Returns the least position at which this snapshot's order may differ from the one of a mark; `None` where events were
    /// added at the end alone. Whoever had read `n` events then has nothing to read again unless it is below `n`. What is remembered is bounded: of a mark that is long
    /// past, the answer can be lower than need be, and is never too high.
    ///
    /// # Errors
    /// Code `CURSOR` for a mark of another store, of a later state than this one, or from before the index was made anew;
    /// `Corrupt`, `Io`.
    pub fn order_changed_since(&self, mark: &OrderMark) -> Result<Option<u64>> {
        let order = self.arrangement()?;
        let here = OrderMark::of(&order);
        if mark.incarnation != here.incarnation || mark.generation > here.generation {
            let message = "the mark is not from this order's history, or lies ahead of it";
            return Err(Error::invalid(Code::Cursor, message));
        }
        Ok(order.index().changed_since(mark.generation))
    }

    /// Iterates over the events that no held event names as a cause, by `(host, seq)`. Memory does not grow with
    /// history.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn heads(&self) -> Result<Events> {
        Ok(Events::new(causes::heads(self.view.clone(), self.arrangement()?)?))
    }

    /// Returns how many events no held event names. Reads nothing.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn heads_len(&self) -> Result<u64> {
        Ok(self.arrangement()?.index().heads_len())
    }

    /// Iterates over the events that name an id as a cause, by `(host, seq)`; also of an id that is not held: events
    /// that wait for it, or whose cause is gone. Cost: O(log n) and a read for each; memory does not grow with them.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn dependents(&self, id: &EventId) -> Result<Events> {
        Ok(Events::new(causes::dependents(self.view.clone(), self.arrangement()?, id)?))
    }

    /// Reports whether one event is a cause of another, direct or indirect, over events that are held. An event is no cause of
    /// itself, and one that is not held precedes nothing.
    ///
    /// Cost: at worst a read of each event between the two in the order. Memory: what is still to be looked at, which in
    /// a log whose hosts name their previous events is about one event a host.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn precedes(&self, earlier: &EventId, later: &EventId) -> Result<bool> {
        let (Some(earlier), Some(later)) = (self.key_of(earlier)?, self.key_of(later)?) else {
            return Ok(false);
        };
        causes::precedes(&self.view, &*self.arrangement()?, earlier, later)
    }

    pub(crate) fn order_handle(&self) -> Result<OrderHandle> {
        Ok(OrderHandle { view: self.view.clone(), order: self.arrangement()? })
    }

    pub(super) fn key_of(&self, id: &EventId) -> Result<Option<EventKey>> {
        Ok(self.view.find(id.as_ref())?.map(|found| found.key()))
    }
}

/// The order of a snapshot, for the layer above: by numbers of hosts.
#[derive(Clone, Debug)]
pub(crate) struct OrderHandle {
    view: View,
    order: Arc<Arrangement>,
}

impl OrderHandle {
    /// Returns the incarnation of the index and its generation.
    pub(crate) fn state(&self) -> ([u8; 16], u64) {
        (self.order.incarnation(), self.order.index().generation())
    }

    /// As [`Snapshot::order_changed_since`].
    pub(crate) fn changed_since(&self, generation: u64) -> Option<u64> {
        self.order.index().changed_since(generation)
    }

    /// Returns the position of an event that is held.
    pub(crate) fn position(&self, host: u32, seq: u64) -> Result<Option<u64>> {
        self.order.index().position(self.order.shelf(), EventKey { host, seq })
    }

    /// As [`Snapshot::ordered_from`].
    pub(crate) fn ordered_from(&self, position: u64) -> Ordered {
        Ordered::new(self.view.clone(), Arc::clone(&self.order), &(position..))
    }

    /// Counts the ids that held events name and nobody holds. Cost: a search for each.
    pub(crate) fn missing_ids(&self) -> Result<u64> {
        let (mut ids, mut after) = (0, None);
        while let Some(id) = self.order.index().next_missing(self.order.shelf(), after)? {
            ids += 1;
            after = Some(id);
        }
        Ok(ids)
    }
}

fn not_held(id: &EventId) -> Error {
    Error::new(ErrorKind::NotFound, Code::Store, format!("event {id} is not held"))
}
