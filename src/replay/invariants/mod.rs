//! The invariants I1 to I7, one rule each, over events as they stream by in the order.
//!
//! Each rule keeps what its own file states, and decides as early as it can. Where a rule asks whether
//! something comes later, it keeps the events that wait for an answer and gives up on them at the end. What it keeps
//! beyond a bound goes to a temporary file; what is found does not depend on the bound.

mod findings;
mod i1_context;
mod i2_egress;
mod i3_idempotency;
mod i4_revocation;
mod i5_ephemeral;
mod i6_order;
mod i7_reference;

use crate::contract::{EventFields, EventId, IdRef, Result};

use super::options::ReplayOptions;
use super::payload::Raw;
use super::seen::Arrival;
use super::state::{In, Out, Scratch};

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
    /// Whether one of its causes is an activation; told of revocations alone.
    pub(super) names_activation: bool,
}

/// How much rules may list, and how much each may keep in memory.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    listed_max: usize,
    state_max: usize,
}

/// The type whose events I4 asks about.
pub(super) const REVOKED: &str = "capability.revoked";

/// The type that I4 looks for among their causes.
pub(super) const ACTIVATED: &str = "capability.activated";

/// Shows an id as the value of a record; [`read_id`] reads it.
fn id_bytes<T>(id: IdRef<'_>, show: impl FnOnce(&[u8]) -> T) -> T {
    id.with_str(|text| show(text.as_bytes()))
}

fn read_id(bytes: &[u8]) -> EventId {
    IdRef::new(&String::from_utf8_lossy(bytes)).to_owned()
}

/// All rules and what they found.
#[derive(Debug)]
pub(super) struct Rules {
    i1: ContextOfTurns,
    i2: DeclaredEgress,
    i5: EphemeralBudget,
    i6: OneOrder,
    findings: Findings,
    scratch: Scratch,
}

impl Rules {
    pub(super) fn new(options: &ReplayOptions) -> Self {
        let bounds = Bounds { listed_max: options.listed_max, state_max: options.state_max };
        Self {
            i1: ContextOfTurns::new(bounds),
            i2: DeclaredEgress::new(bounds),
            i5: EphemeralBudget::new(bounds, options.ephemeral_budget),
            i6: OneOrder::default(),
            findings: Findings::new(options.listed_max),
            scratch: options.scratch(),
        }
    }

    /// Shows the next event to the rules that it concerns.
    ///
    /// # Errors
    /// `Io` when a temporary file cannot be used.
    pub(super) fn step(&mut self, step: &Step<'_>) -> Result<()> {
        let (found, scratch) = (&mut self.findings, &self.scratch);
        match step.event.kind() {
            "turn.ended" => self.i1.ended(step, scratch)?,
            "context.assembled" => self.i1.assembled(step, scratch, found)?,
            "capability.invoked" => {
                self.i2.invoked(step, scratch)?;
                IdempotencyKeys::invoked(step, found);
            }
            "privacy.egress" => self.i2.left(step, scratch)?,
            REVOKED => Revocations::revoked(step, found),
            kind if kind.starts_with("assistant.") => ContentByReference::said(step, found),
            _ => {}
        }
        self.i6.step(step);
        self.i5.step(step, scratch)
    }

    /// Returns the number of hosts seen.
    pub(super) fn hosts(&self) -> u64 {
        self.i6.hosts()
    }

    /// Gives up on what still waits, and returns what was found.
    ///
    /// # Errors
    /// `Io` when a temporary file cannot be used.
    pub(super) fn finish(mut self) -> Result<Findings> {
        self.i1.finish(&mut self.findings)?;
        self.i2.finish(&mut self.findings)?;
        self.i5.finish(&mut self.findings)?;
        self.i6.finish(&mut self.findings);
        Ok(self.findings)
    }

    /// Writes all they keep. Sorts what lies in memory, and changes nothing else.
    pub(super) fn write(&mut self, out: &mut Out<'_>) -> Result<()> {
        self.i1.write(out)?;
        self.i2.write(out)?;
        self.i5.write(out)?;
        self.i6.write(out)?;
        self.findings.write(out)
    }

    /// Reads what [`write`](Self::write) wrote, under the same options but for `state_max`.
    pub(super) fn read(options: &ReplayOptions, from: &mut In<'_>) -> Result<Self> {
        let bounds = Bounds { listed_max: options.listed_max, state_max: options.state_max };
        let scratch = options.scratch();
        Ok(Self {
            i1: ContextOfTurns::read(bounds, &scratch, from)?,
            i2: DeclaredEgress::read(bounds, &scratch, from)?,
            i5: EphemeralBudget::read(bounds, options.ephemeral_budget, &scratch, from)?,
            i6: OneOrder::read(from)?,
            findings: Findings::read(options.listed_max, from)?,
            scratch,
        })
    }
}
