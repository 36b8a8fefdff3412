//! I6: the order is a function of the set.
//!
//! The sequence is proved to be the one order while it streams, so that nothing is computed again. The
//! proof stops at the first fault; the other rules go on, on a sequence that is not the order. Kept: the
//! proof's stack, as a rule one entry a host, and the name of each host.
//!
//! It is the check of [`Proof`](crate::order::Proof), which says why it is one, on keys that name their host by number,
//! and with a stack that a saved point can hold.
//!
//! Invariant: the stack holds the events, rising by position, that no later one has overtaken with a greater key; keys
//! fall from bottom to top.

use std::cmp::Ordering;
use std::fmt;

use crate::contract::{EventId, Result};
use crate::replay::hosts::Hosts;
use crate::replay::seen::Arrival;
use crate::replay::state::{In, Out, Wire, damaged};

use super::{Findings, Invariant, Step};

#[derive(Debug, Default)]
pub(super) struct OneOrder {
    hosts: Hosts,
    stack: Vec<Standing>,
    fault: Option<Fault>,
}

/// An event that no later one has overtaken.
#[derive(Debug)]
struct Standing {
    host: u32,
    seq: u64,
    id: EventId,
    position: u64,
}

#[derive(Debug)]
struct Fault {
    id: EventId,
    position: u64,
    why: OrderFault,
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
        let host = self.hosts.number(step.event.host());
        if self.fault.is_some() {
            return;
        }
        let fault = match step.arrival {
            Arrival::Late => Some(OrderFault::BehindItsDependent),
            Arrival::Repeated => Some(OrderFault::Repeated),
            Arrival::InTime => self.push(host, step),
        };
        self.fault = fault.map(|why| Fault { id: step.event.id().to_owned(), position: step.position, why });
    }

    /// Takes an event whose causes all stand before it. Amortised O(1).
    fn push(&mut self, host: u32, step: &Step<'_>) -> Option<OrderFault> {
        let (seq, id) = (step.event.seq().get(), step.event.id());
        while let Some(top) = self.stack.last() {
            if self.hosts.cmp_keys((top.host, top.seq, top.id.as_ref()), (host, seq, id)) != Ordering::Less {
                let by = top.position;
                if step.causes.iter().flatten().max().is_none_or(|last| by > *last) {
                    return Some(OrderFault::Overtaken { by });
                }
                break;
            }
            // After a fault nobody looks at the stack again.
            self.stack.pop();
        }
        self.stack.push(Standing { host, seq, id: id.to_owned(), position: step.position });
        None
    }

    pub(super) fn hosts(&self) -> u64 {
        self.hosts.len()
    }

    pub(super) fn finish(self, found: &mut Findings) {
        if let Some(Fault { id, position, why }) = self.fault {
            found.event_with(Invariant::I6, id, position, format!("at position {position}: {why}"));
        }
    }

    pub(super) fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.hosts.write(out)?;
        u64::try_from(self.stack.len()).unwrap_or(u64::MAX).write(out)?;
        self.stack.iter().try_for_each(|standing| standing.write(out))?;
        self.fault.write(out)
    }

    pub(super) fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self { hosts: Hosts::read(from)?, stack: Vec::read(from)?, fault: Option::read(from)? })
    }
}

impl Wire for Standing {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.host.write(out)?;
        self.seq.write(out)?;
        self.id.write(out)?;
        self.position.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (host, seq, id) = (Wire::read(from)?, Wire::read(from)?, Wire::read(from)?);
        Ok(Self { host, seq, id, position: Wire::read(from)? })
    }
}

impl Wire for Fault {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.id.write(out)?;
        self.position.write(out)?;
        self.why.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self { id: Wire::read(from)?, position: Wire::read(from)?, why: Wire::read(from)? })
    }
}

impl Wire for OrderFault {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        let (number, by) = match self {
            Self::BehindItsDependent => (0_u8, 0),
            Self::Overtaken { by } => (1, *by),
            Self::Repeated => (2, 0),
        };
        number.write(out)?;
        by.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        match (u8::read(from)?, u64::read(from)?) {
            (0, _) => Ok(Self::BehindItsDependent),
            (1, by) => Ok(Self::Overtaken { by }),
            (2, _) => Ok(Self::Repeated),
            _ => Err(damaged()),
        }
    }
}
