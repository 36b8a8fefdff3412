//! I6: the order is a function of the set.
//!
//! The sequence is proved to be the one order while it streams, so that nothing is computed again. The
//! proof stops at the first fault; the other rules go on, on a sequence that is not the order. Kept: the
//! proof's stack, as a rule one entry a host, and the name of each host.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::contract::{EventId, Seq, cmp_utf16};
use crate::order::{OrderViolation, Proof};
use crate::replay::seen::Arrival;

use super::{Findings, Invariant, Step};

#[derive(Debug, Default)]
pub(super) struct OneOrder {
    proof: Proof<Key>,
    hosts: Hosts,
    fault: Option<(EventId, u64, OrderFault)>,
}

/// Why a sequence is not the one order of its events. Positions count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]

enum OrderFault {
    /// The event stands behind one that names it as a cause, or names itself.
    BehindItsDependent,
    /// The event belongs before the one at this position.
    Overtaken {
        /// Where the event with the greater key stands.
        by: u64,
    },
    /// An event of the same id came before.
    Repeated,
}

impl fmt::Display for OrderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BehindItsDependent => f.write_str("it stands behind an event that names it as a cause"),
            Self::Overtaken { by } => write!(f, "it belongs before the event at position {by}"),
            Self::Repeated => f.write_str("an event of the same id stands before it"),
        }
    }
}

impl OneOrder {
    pub(super) fn step(&mut self, step: &Step<'_>) {
        let host = self.hosts.intern(step.event.host());
        if self.fault.is_some() {
            return;
        }
        let fault = match step.arrival {
            Arrival::Late => Some(OrderFault::BehindItsDependent),
            Arrival::Repeated => Some(OrderFault::Repeated),
            Arrival::InTime => {
                let key = Key { host, seq: step.event.seq(), id: step.event.id().to_owned() };
                let last_cause = step.causes.iter().flatten().copied().max();
                self.proof.push(key, last_cause).err().map(|violation| match violation {
                    OrderViolation::Overtaken { by, .. } => OrderFault::Overtaken { by },
                    _ => OrderFault::BehindItsDependent,
                })
            }
        };
        self.fault = fault.map(|fault| (step.event.id().to_owned(), step.position, fault));
    }

    pub(super) fn hosts(&self) -> u64 {
        u64::try_from(self.hosts.names.len()).unwrap_or(u64::MAX)
    }

    pub(super) fn finish(self, found: &mut Findings) {
        if let Some((id, position, fault)) = self.fault {
            found.event_with(Invariant::I6, id, position, format!("at position {position}: {fault}"));
        }
    }
}

/// What orders events that are ready together: host by UTF-16 code units, seq, id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    host: Arc<str>,
    seq: Seq,
    id: EventId,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let hosts = if Arc::ptr_eq(&self.host, &other.host) {
            Ordering::Equal
        } else {
            cmp_utf16(&self.host, &other.host)
        };
        hosts.then_with(|| self.seq.cmp(&other.seq)).then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Each host's name once.
#[derive(Debug, Default)]
struct Hosts {
    names: HashSet<Arc<str>>,
    last: Option<Arc<str>>,
}

impl Hosts {
    fn intern(&mut self, name: &str) -> Arc<str> {
        // The order is mostly runs of one host.
        if let Some(last) = self.last.as_ref().filter(|last| ***last == *name) {
            return Arc::clone(last);
        }
        let known = self.names.get(name).cloned();
        let host = known.unwrap_or_else(|| {
            let host: Arc<str> = name.into();
            self.names.insert(Arc::clone(&host));
            host
        });
        self.last = Some(Arc::clone(&host));
        host
    }
}
