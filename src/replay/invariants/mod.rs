//! The invariants I1 to I7, one rule each, over events as they stream by in the order.
//!
//! Each rule keeps what its own file states, and decides as early as it can. Where a rule asks whether
//! something comes later, it keeps the events that wait for an answer and gives up on them at the end.

mod findings;
mod i1_context;
mod i2_egress;
mod i3_idempotency;
mod i4_revocation;
mod i5_ephemeral;
mod i6_order;
mod i7_reference;

use crate::contract::EventFields;

use super::options::ReplayOptions;
use super::payload::Raw;
use super::seen::Arrival;

pub(super) use findings::{Findings, Found};

use i1_context::ContextOfTurns;
use i2_egress::DeclaredEgress;
use i3_idempotency::IdempotencyKeys;
use i4_revocation::Revocations;
use i5_ephemeral::EphemeralBudget;
use i6_order::OneOrder;
use i7_reference::ContentByReference;

/// What a run must keep to be reconstructed and trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Invariant {
    /// A turn that ended had its context assembled.
    I1,
    /// An invocation that declares egress has an egress event that names it.
    I2,
    /// An invocation that is not pure carries an idempotency key.
    I3,
    /// A revocation names its activation.
    I4,
    /// Items of a stream do not become durable facts.
    I5,
    /// The order is a function of the set.
    I6,
    /// Assistant events name content and do not hold it.
    I7,
}

impl Invariant {
    /// All of them, in the order in which every implementation reports them.
    pub const REPORTED: [Self; 7] = [Self::I7, Self::I1, Self::I2, Self::I3, Self::I4, Self::I5, Self::I6];

    /// Returns the name, as `I1`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I1 => "I1",
            Self::I2 => "I2",
            Self::I3 => "I3",
            Self::I4 => "I4",
            Self::I5 => "I5",
            Self::I6 => "I6",
            Self::I7 => "I7",
        }
    }

    /// Returns the rule in one line.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::I1 => "a turn that ended had its context assembled, from references alone",
            Self::I2 => "every invocation that declares egress has a privacy.egress naming it as a cause",
            Self::I3 => "an invocation that is not pure carries an idempotency key",
            Self::I4 => "a revocation names its activation as a cause",
            Self::I5 => "items of a stream do not become durable facts",
            Self::I6 => "the order is a function of the set",
            Self::I7 => "assistant events name content and do not hold it",
        }
    }

    /// Returns what to look at when the rule is broken.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::I1 => {
                "look for the context.assembled of the turn: missing, under another turnId, or with a resident \
                 that is no reference; a turn that took no step ends with stepped false"
            }
            Self::I2 => {
                "data may have left the device unrecorded: who carries out the call must append privacy.egress"
            }
            Self::I3 => "a second run of the call cannot be told from the first",
            Self::I4 => {
                "add the activation's id to the revocation's causes; the activation may also not be held"
            }
            Self::I5 => "summarise the stream in one event, or keep it out of the log",
            Self::I6 => "the sequence read is not the one order of its events; run reindex, then verify",
            Self::I7 => "put the content into a blob and name it by a reference",
        }
    }
}

/// One event as the rules see it.
pub(super) struct Step<'a> {
    /// The event.
    pub(super) event: &'a dyn EventFields,
    /// Its payload.
    pub(super) payload: Raw<'a>,
    /// Where it stands in the order, from 0.
    pub(super) position: u64,
    /// Where each of its causes stands; `None` for one that is not held.
    pub(super) causes: &'a [Option<u64>],
    /// How it came.
    pub(super) arrival: Arrival,
}

/// All rules and what they found.
#[derive(Debug)]
pub(super) struct Rules {
    i1: ContextOfTurns,
    i2: DeclaredEgress,
    i4: Revocations,
    i5: EphemeralBudget,
    i6: OneOrder,
    findings: Findings,
}

impl Rules {
    pub(super) fn new(options: &ReplayOptions) -> Self {
        Self {
            i1: ContextOfTurns::default(),
            i2: DeclaredEgress::default(),
            i4: Revocations::default(),
            i5: EphemeralBudget::new(options.ephemeral_budget),
            i6: OneOrder::default(),
            findings: Findings::new(options.listed_max),
        }
    }

    /// Shows the next event to the rules that it concerns.
    pub(super) fn step(&mut self, step: &Step<'_>) {
        let found = &mut self.findings;
        match step.event.kind() {
            "turn.ended" => self.i1.ended(step),
            "context.assembled" => self.i1.assembled(step, found),
            "capability.invoked" => {
                self.i2.invoked(step);
                IdempotencyKeys::invoked(step, found);
            }
            "privacy.egress" => self.i2.left(step),
            "capability.activated" => self.i4.activated(step),
            "capability.revoked" => self.i4.revoked(step, found),
            kind if kind.starts_with("assistant.") => ContentByReference::said(step, found),
            _ => {}
        }
        self.i5.step(step);
        self.i6.step(step);
    }

    /// Returns the number of hosts seen.
    pub(super) fn hosts(&self) -> u64 {
        self.i6.hosts()
    }

    /// Gives up on what still waits, and returns what was found.
    pub(super) fn finish(mut self) -> Findings {
        self.i1.finish(&mut self.findings);
        self.i2.finish(&mut self.findings);
        self.i5.finish(&mut self.findings);
        self.i6.finish(&mut self.findings);
        self.findings
    }
}
