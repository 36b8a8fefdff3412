//! What the index speaks of: events by number, runs of them, and what it asks of whoever keeps the events.

use crate::contract::Result;

/// An event as the index knows it: its host's number in the log, and its `seq`.
///
/// Compares by number, which is the order of the index's own tables. The order of events compares by [`Ranks::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey {
    /// The number that the log gave the host.
    pub host: u32,
    /// The event's ordinal within its host.
    pub seq: u64,
}

impl EventKey {
    pub(super) const fn new(host: u32, seq: u64) -> Self {
        Self { host, seq }
    }

    /// The least key above this one of the same host.
    pub(super) fn next(self) -> Option<Self> {
        Some(Self { host: self.host, seq: self.seq.checked_add(1)? })
    }
}

/// The ranks of hosts by their names, to be looked up by number.
///
/// Ranks may change when a host is added; how two hosts compare never does, so nothing that the index holds depends on
/// when it was told.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    by_number: Vec<u64>,
}

impl Ranks {
    /// Takes the rank of each host, by its number.
    #[must_use]
    pub fn new(by_number: Vec<u64>) -> Self {
        Self { by_number }
    }

    /// Returns what the order compares of an event. A host without a rank stands behind all others. O(1).
    #[must_use]
    pub fn of(&self, key: EventKey) -> (u64, u64) {
        let rank = usize::try_from(key.host).ok().and_then(|number| self.by_number.get(number));
        (rank.copied().unwrap_or(u64::MAX), key.seq)
    }

    /// Adds the host of the next number.
    pub fn push(&mut self, rank: u64) {
        self.by_number.push(rank);
    }

    /// Forgets the host of the highest number.
    pub fn pop(&mut self) {
        self.by_number.pop();
    }

    /// Changes the rank of a host, which must compare with every other as before.
    pub fn set(&mut self, host: u32, rank: u64) {
        if let Some(slot) = self.by_number.get_mut(host as usize) {
            *slot = rank;
        }
    }
}

/// Events of one host with consecutive `seq` that stand one after the other in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The host's number.
    pub host: u32,
    /// The least `seq`.
    pub first: u64,
    /// How many events; at least one, and the greatest `seq` fits 64 bits.
    pub len: u64,
    /// Whether one of them names an id that is not held.
    pub waits: bool,
}

impl Run {
    /// Returns the greatest `seq`.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.first.saturating_add(self.len.saturating_sub(1))
    }

    /// The run of one event.
    pub(super) const fn of(key: EventKey, waits: bool) -> Self {
        Self { host: key.host, first: key.seq, len: 1, waits }
    }

    pub(super) const fn first_key(&self) -> EventKey {
        EventKey::new(self.host, self.first)
    }

    pub(super) const fn last_key(&self) -> EventKey {
        EventKey::new(self.host, self.last())
    }

    /// Whether the other one goes on where this one ends.
    pub(super) fn joins(&self, behind: &Self) -> bool {
        self.host == behind.host && self.last().checked_add(1) == Some(behind.first)
    }

    /// This one and one that [joins](Self::joins) it.
    pub(super) const fn with(&self, behind: &Self) -> Self {
        Self { len: self.len.saturating_add(behind.len), waits: self.waits || behind.waits, ..*self }
    }
}

/// A cause as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The fingerprint of the cause's id: equal ids have equal ones.
    pub fingerprint: u64,
    /// Where the cause is held. Of one that is not held: where it was when the event was written, or `None`.
    pub at: Option<EventKey>,
}

/// What the index asks of whoever keeps the events.
pub trait Facts {
    /// Appends the causes of an event that is held, or is being evicted and can still be read. They may repeat.
    ///
    /// # Errors
    /// Whatever keeps the event from being read; it ends the call that asked.
    fn causes(&mut self, of: EventKey, out: &mut Vec<Cause>) -> Result<()>;

    /// Returns the fingerprint of such an event's id.
    ///
    /// # Errors
    /// Those of [`causes`](Self::causes).
    fn fingerprint(&mut self, of: EventKey) -> Result<u64>;
}

/// An event to be placed.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// The event; its `seq` is above all that are held of its host.
    pub key: EventKey,
    /// The fingerprint of its id.
    pub fingerprint: u64,
    /// Its causes as it names them: they may repeat. One that names the event itself says so by `at`.
    pub causes: &'a [Cause],
    /// The held events that name it. Found through [`next_namer`](super::OrderIndex::next_namer); the caller has
    /// compared their ids.
    pub namers: &'a [EventKey],
    /// Whether nothing can be missing between the host's event before and this one, although `seq` are left out.
    pub follows: bool,
}

/// What became of an event to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an event that closes a cycle was not placed"]
pub enum Placing {
    /// It stands in the order.
    Placed,
    /// It would close a cycle, and nothing changed: each of these is a cause of the next, the last is the event
    /// itself, and the event is a cause of the first.
    Cycle(Vec<EventKey>),
}

/// The first `seq` of a host of which nobody knows whether it is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last held `seq` before it; `None` where the host holds none there.
    pub after: Option<u64>,
    /// The first `seq` missing. Of a host whose first event is not its 0 or 1 that is 1.
    pub missing: u64,
}
