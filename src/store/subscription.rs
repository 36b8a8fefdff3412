//! Subscriptions: every event of a store once, in the order in which it was written.
//!
//! Invariants:
//! - What is delivered is what the log holds at the position, read when it is asked for. A wake-up carries no event, so
//!   none can be lost or doubled with one, and a subscriber that sleeps costs nothing.
//! - Only synced events are delivered: no power cut takes back what somebody was given.
//! - The position rises by one with each event, and by a gap's length when the gap is told. It stands still on errors.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::RecvTimeoutError;
use serde::{Deserialize, Serialize};

use super::arranging::caught_up;
use super::core::Core;
use super::reader::Reader;
use super::subscribers::Seat;
use crate::contract::{Code, Error, ErrorKind, EventFields, EventId, Result};
use crate::log::{Arrangement, StoredEvent, View};

/// Events read at once.
const FETCH: usize = 64;

/// How often a reading process looks for news, unless it says otherwise.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Where a subscription starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscribeFrom {
    /// With the oldest event that is held.
    Start,
    /// With the first event that becomes synced after this.
    Now,
    /// Behind a position that was kept.
    After(Position),
}

/// From the start where nothing was kept yet: what [`Subscription::position`] returned can be handed back as it is.
impl From<Option<Position>> for SubscribeFrom {
    fn from(kept: Option<Position>) -> Self {
        kept.map_or(Self::Start, Self::After)
    }
}

/// How far a subscription came in one store. Means nothing in another: copies of a store that were written to
/// separately differ in their arrivals.
///
/// Clients keep it beside what they made of the events, in the same transaction where they can: as JSON it is
/// `{"arrival":N,"id":ID}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// [`StoredEvent::arrival`] of the last event that was delivered, or of the last that a gap told of.
    pub arrival: u64,
    /// Its id, where it is known: by it a position from another history is refused, and one from before a repair is
    /// found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EventId>,
}

impl Position {
    /// Returns the position behind an event.
    #[must_use]
    pub fn of(event: &StoredEvent) -> Self {
        Self { arrival: event.arrival(), id: Some(event.id().to_owned()) }
    }
}

/// Events that a subscription will not deliver: they are not held any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Arrival of the first.
    pub first: u64,
    /// How many they are.
    pub events: u64,
}

/// A pull cursor over a store: each event once, in the order in which they were written to it.
///
/// Made by [`Store::subscribe`](super::Store::subscribe). It delivers what is *synced* and nothing else, at every
/// [`Durability`](super::Durability): below `Durable`, events come when the next sync covers them. The arrival order is the
/// store's own. Causes mostly come before what names them, but events from elsewhere can arrive late;
/// [`Snapshot::ordered`](super::Snapshot::ordered) is the order that every replica agrees on.
///
/// ```
/// use causelog::{Options, Store, SubscribeFrom};
///
/// let store = Store::in_memory(Options::new())?;
/// let mut subscription = store.subscribe(SubscribeFrom::Start)?;
/// store.close()?;
/// while let Some(event) = subscription.recv()? {
///     println!("{event:?}");
/// }
/// // What was kept, with what was made of the events, is where the next one starts.
/// let kept = subscription.position();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is a reader and no queue: it holds 64 events at most, whatever its distance to the writer, and a slow one
/// slows nobody. It does not keep the store open.
///
/// # Gaps
/// Where events are not held any more, because a store in memory dropped its oldest before they were read or because damage
/// was repaired around, the next call returns an error of kind `NotFound` and code `CURSOR`, once, and
/// [`gap`](Self::gap) says how many are missing. The call after that goes on behind the gap.
///
/// # The end
/// When the store is closed, by [`Store::close`](super::Store::close) or with its last handle, what is synced by then is
/// delivered, and after it `None`. A writer that is poisoned syncs nothing more: subscriptions wait until it is
/// closed.
///
/// # Errors
/// Of all calls, gaps aside: `Corrupt` and `Io`, with the position unchanged; the same call may be tried again.
pub struct Subscription {
    source: Source,
    seat: Seat,
    poll: Duration,
    /// Arrival of the next event, of those in `fetched` the first.
    next: u64,
    fetched: VecDeque<StoredEvent>,
    last: Option<Position>,
    gap: Option<Gap>,
}

/// Where a subscription looks.
#[derive(Clone)]
pub(super) enum Source {
    /// At the writer, in this process.
    Writer(Arc<Core>),
    /// At the files of a store that is open for reading.
    Reader(Arc<Reader>),
}

impl Source {
    /// Returns what is synced. A closed reader looks at no file: they may be under repair.
    fn view(&self, closed: bool) -> Result<View> {
        match self {
            Self::Writer(core) => Ok(core.writer.synced_view()),
            Self::Reader(reader) if closed => Ok(reader.last_view()),
            Self::Reader(reader) => reader.view(),
        }
    }

    /// Returns what is synced, and its order.
    pub(super) fn ordered_view(&self, closed: bool) -> Result<(View, Arc<Arrangement>)> {
        match self {
            Self::Writer(core) => {
                let (view, order) = core.writer.ordered_synced_view();
                let order = caught_up(order, &view)?;
                Ok((view, order))
            }
            Self::Reader(reader) => {
                let view = self.view(closed)?;
                let order = reader.arrange(&view)?;
                Ok((view, order))
            }
        }
    }
}

impl Subscription {
    /// Starts a subscription. `seat` was taken before, so that it is woken for whatever is not in the first view.
    pub(super) fn new(source: Source, seat: Seat, from: SubscribeFrom) -> Result<Self> {
        let view = source.view(seat.is_closed())?;
        let (next, last) = match from {
            SubscribeFrom::Start => (view.arrivals_start(), None),
            SubscribeFrom::Now => {
                let next = view.arrivals_end();
                let last = next.checked_sub(1).map(|arrival| position_at(&view, arrival)).transpose()?;
                (next, last)
            }
            SubscribeFrom::After(position) => {
                let id = position.id.as_ref().map(EventId::as_ref);
                let next = view.arrival_behind(position.arrival, id)?.ok_or_else(|| elsewhere(&position))?;
                (next, Some(position))
            }
        };
        let fetched = VecDeque::new();
        Ok(Self { source, seat, poll: POLL, next, fetched, last, gap: None })
    }

    /// Sets how often a store that is open for reading alone is asked for news: the writer is another process and wakes
    /// nobody here. Default: 100 ms; at least 1 ms. Cost of each look: a read of the mark file, and where it moved, opening
    /// the log anew. In the process that writes, it has no effect.
    #[must_use]
    pub fn poll_every(mut self, interval: Duration) -> Self {
        self.poll = interval.max(Duration::from_millis(1));
        self
    }

    /// Returns the next event if it is there. `None`: not yet, or never where the store was closed.
    ///
    /// # Errors
    /// See [`Subscription`].
    pub fn try_next(&mut self) -> Result<Option<StoredEvent>> {
        let closed = self.seat.is_closed();
        self.take(closed)
    }

    /// Waits for the next event, for ever if need be. `None`: the store was closed, and everything was delivered.
    ///
    /// # Errors
    /// See [`Subscription`].
    pub fn recv(&mut self) -> Result<Option<StoredEvent>> {
        self.wait(None)
    }

    /// Waits for the next event, but no longer than `timeout`. `None`: it did not come, or the store was closed and
    /// everything was delivered; [`is_closed`](Self::is_closed) tells these apart.
    ///
    /// # Errors
    /// See [`Subscription`].
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<StoredEvent>> {
        // A time that no clock reaches is for ever.
        self.wait(Instant::now().checked_add(timeout))
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<Option<StoredEvent>> {
        loop {
            // In this order: nothing becomes synced after the store was closed.
            let closed = self.seat.is_closed();
            let found = self.take(closed)?;
            if found.is_some() || closed {
                return Ok(found);
            }
            if !wait_for_news(&self.seat, &self.source, self.poll, until) {
                return Ok(None);
            }
        }
    }

    /// Delivers the next event, or tells of a gap before it.
    fn take(&mut self, closed: bool) -> Result<Option<StoredEvent>> {
        self.gap = None;
        if self.fetched.is_empty() {
            let view = self.source.view(closed)?;
            let run = view.arrivals_from(self.next, FETCH)?;
            let gap = Gap { first: self.next, events: run.first.saturating_sub(self.next) };
            if gap.events > 0 {
                self.next = run.first;
                self.last = Some(Position { arrival: run.first - 1, id: None });
                self.gap = Some(gap);
                return Err(missing(gap));
            }
            self.fetched.extend(run.events.into_iter().map(|found| view.event(found)));
        }
        let Some(event) = self.fetched.pop_front() else { return Ok(None) };
        self.next = event.arrival() + 1;
        self.last = Some(Position::of(&event));
        Ok(Some(event))
    }

    /// Returns how far this came: keep it, and hand it back to [`Store::subscribe`](super::Store::subscribe) after a
    /// restart. `None` before the first event of a subscription from the start.
    ///
    /// It stands behind the event that was delivered last, whether or not its receiver has finished with it: keep it
    /// when it has.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.last.clone()
    }

    /// Returns the gap that the last call told of, if it did.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.gap
    }

    /// Reports whether the store was closed: what is left is delivered, and nothing comes after it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.seat.is_closed()
    }
}

/// Waits until there may be news; returns false when the time is over.
pub(super) fn wait_for_news(seat: &Seat, source: &Source, poll: Duration, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return false;
    }
    let polling = matches!(source, Source::Reader(_)).then_some(poll);
    match left.into_iter().chain(polling).min() {
        Some(pause) => match seat.woken.recv_timeout(pause) {
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        },
        // Its sender lives in the seat's own list.
        None => drop(seat.woken.recv()),
    }
    true
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("position", &self.last).finish_non_exhaustive()
    }
}

fn position_at(view: &View, arrival: u64) -> Result<Position> {
    let id = view.arrived(arrival)?.map(|found| found.record.get().id.get().to_owned());
    Ok(Position { arrival, id })
}

fn missing(gap: Gap) -> Error {
    let Gap { first, events } = gap;
    let message = format!("{events} events from arrival {first} on are not held any more");
    Error::new(ErrorKind::NotFound, Code::Cursor, message)
}

fn elsewhere(position: &Position) -> Error {
    let arrival = position.arrival;
    let what = match &position.id {
        Some(id) => format!("event {id} did not arrive here as number {arrival}"),
        None => format!("nothing arrived here as number {arrival}"),
    };
    Error::invalid(Code::Cursor, format!("the position is not from this history: {what}"))
}
