//! How much of the order can still change.
//!
//! A new event lands directly before the first element behind its last cause whose key is greater than its own, and can
//! move what names it. So nothing before a bound changes, if the bound is the least of:
//! - for each host that is not closed, the first position that an event of it could take: behind its newest event where it
//!   promised to name that one; else the first position whose key is greater than that of its next possible `seq`;
//! - the first event that names an id which was never held: it moves when that id arrives;
//! - for each host with an unexplained gap, the position behind its last event before the gap.
//!
//! That holds while hosts do as they are declared, which appends check: a closed host, or one that is not declared, gets
//! nothing in.

use std::fmt;

use serde::Serialize;

use super::hosts::HostInfo;
use super::snapshot::Snapshot;
use crate::contract::{Error, EventId, Result};
use crate::log::{Arrangement, HostRanks};
use crate::order::index::EventKey;

/// How much of an order is settled, and what keeps the rest from being so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stable {
    /// Events, from the start of the order, whose positions nothing changes any more but an eviction or a declaration.
    pub len: u64,
    /// Events of the whole order.
    pub events: u64,
    /// What comes first of all that keeps more from being settled.
    pub reason: StableReason,
}

/// Why no more of an order is settled. `Display` says it in a line for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
#[non_exhaustive]
pub enum StableReason {
    /// Nothing does: every host is closed, without gaps, and every cause is held.
    Settled,
    /// No host is declared: any host could still come.
    NothingDeclared,
    /// A host holds events and is not declared.
    Undeclared {
        /// The host.
        host: String,
    },
    /// A host is open.
    Open {
        /// The host.
        host: String,
        /// Whether it promised that each of its events names the one before.
        chained: bool,
        /// The least `seq` that its next event can have.
        next: u64,
    },
    /// An event names an id that was never held.
    Missing {
        /// The event.
        event: EventId,
        /// The id.
        cause: EventId,
    },
    /// Events of a host may be missing.
    Gap {
        /// The host.
        host: String,
        /// The first `seq` that is missing.
        seq: u64,
    },
}

impl fmt::Display for StableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settled => f.write_str("every host is closed, and nothing is missing"),
            Self::NothingDeclared => f.write_str("no host is declared, so any host could still come"),
            Self::Undeclared { host } => write!(f, "host {host} holds events and is not declared"),
            Self::Open { host, chained: true, next } => {
                write!(f, "host {host} is open: its next event, from seq {next} on, comes behind its newest")
            }
            Self::Open { host, chained: false, next } => {
                write!(
                    f,
                    "host {host} is open: its next event, from seq {next} on, can come before events of later hosts"
                )
            }
            Self::Missing { event, cause } => write!(f, "event {event} names {cause}, which was never held"),
            Self::Gap { host, seq } => write!(f, "host {host} has an unexplained gap at seq {seq}"),
        }
    }
}

/// The least position so far, and why.
struct Least(u64, StableReason);

impl Least {
    fn take(&mut self, position: u64, reason: impl FnOnce() -> StableReason) {
        if position < self.0 || (position == self.0 && self.1 == StableReason::Settled) {
            *self = Self(position, reason());
        }
    }
}

impl Snapshot {
    /// Returns how much of the order can change no more, and why no more than that. See
    /// [`Store::declare_host`](super::Store::declare_host): without declared hosts it is nothing.
    ///
    /// While no host is declared anew and nothing is evicted, the first `len` events of every later snapshot are those of this
    /// one. Cost: O(log n) for each host.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn stable(&self) -> Result<Stable> {
        let order = self.arrangement()?;
        let events = order.index().len();
        let hosts = self.hosts()?;
        let Least(len, reason) = if hosts.iter().any(|host| host.declared) {
            self.least(&order, &hosts)?
        } else {
            Least(0, StableReason::NothingDeclared)
        };
        Ok(Stable { len, events, reason })
    }

    /// Returns how many events, from the start of the order, can change their positions no more. As
    /// [`stable`](Self::stable).
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn stable_len(&self) -> Result<u64> {
        Ok(self.stable()?.len)
    }

    fn least(&self, order: &Arrangement, hosts: &[HostInfo]) -> Result<Least> {
        let (index, shelf) = (order.index(), order.shelf());
        let ranks = HostRanks::of(self.view.names());
        let first_greater = |key: EventKey| -> Result<u64> {
            Ok(index.first_greater(shelf, ranks.get(), key)?.unwrap_or(index.len()))
        };
        let mut least = Least(index.len(), StableReason::Settled);
        for info in hosts {
            let name = || info.host.clone();
            let Some(host) = self.view.names().host_number(&info.host) else { continue };
            if !info.declared {
                // One that never had an event, and may have none, can change nothing.
                if info.high.is_some() {
                    least.take(0, || StableReason::Undeclared { host: name() });
                }
                continue;
            }
            if !info.closed {
                let next = info.high.map_or(0, |high| high.saturating_add(1));
                let newest =
                    info.high.map(|seq| index.position(shelf, EventKey { host, seq })).transpose()?;
                let (position, chained) = match newest.flatten().filter(|_| info.chained) {
                    Some(newest) => (newest + 1, true),
                    None => (first_greater(EventKey { host, seq: next })?, false),
                };
                least.take(position, || StableReason::Open { host: name(), chained, next });
            }
            if let Some(gap) = index.gap_of(shelf, host)? {
                let before =
                    gap.after.map(|seq| index.position(shelf, EventKey { host, seq })).transpose()?;
                let position = match before.flatten() {
                    Some(before) => before + 1,
                    None => first_greater(EventKey { host, seq: gap.missing })?,
                };
                least.take(position, || StableReason::Gap { host: name(), seq: gap.missing });
            }
        }
        if let Some((position, key)) = index.first_waiting(shelf)? {
            let reason = self.waits(key)?;
            least.take(position, || reason);
        }
        Ok(least)
    }

    /// Says what an event waits for.
    fn waits(&self, key: EventKey) -> Result<StableReason> {
        let found = self.view.at(key.host, key.seq)?;
        let found = found.ok_or_else(|| Error::corrupt("an event of the order's index is not in the log"))?;
        let record = found.record.get();
        let event = record.id.get().to_owned();
        for cause in record.causes.iter().filter(|cause| cause.resolved().is_none()) {
            if self.view.find(cause.id.get())?.is_none() {
                return Ok(StableReason::Missing { event, cause: cause.id.get().to_owned() });
            }
        }
        Err(Error::corrupt(format!("event {event} waits in the order's index for a cause that is held")))
    }
}
