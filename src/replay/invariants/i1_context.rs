//! I1: a turn that ended had its context assembled, and every resident of a context is a reference.
//!
//! Exempt are turns that took no step (`stepped` is false) and relayed ones: the gateway only passed them
//! on, and who assembled their context is elsewhere.
//!
//! The context may stand behind the end, so an end without one waits. Kept: a digest of 16 bytes for each
//! turn with a context, and the id of each turn that ended before its context.
//!
//! Invariants:
//! - A turn whose context was seen is in `assembled` or in `older`; an end that is neither settled nor `lost` is in
//!   `waiting`. At the end the two are joined, so that it does not matter what was in memory when.
//! - Memory holds so many digests, and about as many ends, as the options say; the rest lies on disk.

use std::collections::HashSet;

use crate::contract::{EventFields, EventId, Result};
use crate::replay::payload::{Digest, Raw, digest};
use crate::replay::reference;
use crate::replay::state::{First, In, Out, Pile, Scratch, Wire};

use super::{Bounds, Findings, Invariant, Step, id_bytes, read_id};

/// The host that relays turns of partners and phones.
const GATEWAY: &str = "gateway";

/// Where relayed turns come from; a name follows.
const RELAYED_SURFACES: [&str; 2] = ["partner:", "phone:"];

#[derive(Debug)]
pub(super) struct ContextOfTurns {
    state_max: usize,
    /// Turns with a context, the latest ones.
    assembled: HashSet<Digest>,
    /// Further ones, by digest.
    older: Pile,
    /// Ends without a context so far, by the turn's digest, with their ids.
    waiting: Pile,
    /// Ends of turns whose `turnId` equals no other, such as an array.
    lost: First<EventId>,
}

impl ContextOfTurns {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            state_max: bounds.state_max,
            assembled: HashSet::new(),
            older: Pile::new(bounds.state_max),
            waiting: Pile::new(bounds.state_max),
            lost: First::new(bounds.listed_max),
        }
    }

    pub(super) fn assembled(
        &mut self,
        step: &Step<'_>,
        scratch: &Scratch,
        found: &mut Findings,
    ) -> Result<()> {
        let [turn, resident] = step.payload.pick(["turnId", "resident"]);
        if resident.is_some_and(|resident| !resident.elements().all(reference::is_reference)) {
            found.event(Invariant::I1, step.event.id(), step.position);
        }
        if self.assembled.len() >= self.state_max {
            for turn in std::mem::take(&mut self.assembled) {
                self.older.push(scratch, turn, 0, &[])?;
            }
            self.older.spill(scratch)?;
        }
        self.assembled.extend(turn_key(turn));
        Ok(())
    }

    pub(super) fn ended(&mut self, step: &Step<'_>, scratch: &Scratch) -> Result<()> {
        let [turn, stepped, relayed, surface] =
            step.payload.pick(["turnId", "stepped", "relayed", "surface"]);
        if stepped.is_some_and(|stepped| stepped.text() == "false")
            || is_relayed(step.event, relayed, surface)
        {
            return Ok(());
        }
        match turn_key(turn) {
            Some(turn) if self.assembled.contains(&turn) => Ok(()),
            Some(turn) => id_bytes(step.event.id(), |id| self.waiting.push(scratch, turn, step.position, id)),
            None => self.lost.add(step.position, || Ok(step.event.id().to_owned())),
        }
    }

    pub(super) fn finish(self, found: &mut Findings) -> Result<()> {
        let Self { assembled, mut older, mut waiting, mut lost, .. } = self;
        let (mut turns, mut ends) = (older.merged()?, waiting.merged()?);
        let mut turn = turns.next()?;
        while let Some(end) = ends.next()? {
            while turn.as_ref().is_some_and(|turn| turn.key < end.key) {
                turn = turns.next()?;
            }
            let is_settled = turn.as_ref().is_some_and(|turn| turn.key == end.key);
            if !is_settled && !assembled.contains(&end.key) {
                lost.add(end.position, || Ok(read_id(&end.value)))?;
            }
        }
        found.waited(Invariant::I1, lost);
        Ok(())
    }

    pub(super) fn write(&mut self, out: &mut Out<'_>) -> Result<()> {
        let mut assembled: Vec<Digest> = self.assembled.iter().copied().collect();
        assembled.sort_unstable();
        assembled.write(out)?;
        self.older.write(out)?;
        self.waiting.write(out)?;
        self.lost.write(out)
    }

    pub(super) fn read(bounds: Bounds, scratch: &Scratch, from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            state_max: bounds.state_max,
            assembled: Vec::read(from)?.into_iter().collect(),
            older: Pile::read(bounds.state_max, scratch, from)?,
            waiting: Pile::read(bounds.state_max, scratch, from)?,
            lost: First::read(bounds.listed_max, from)?,
        })
    }
}

/// Events without a `turnId` belong to one turn, as `undefined` equals itself.
fn turn_key(turn: Option<Raw<'_>>) -> Option<Digest> {
    turn.map_or_else(|| Some(digest(b'u', &[])), Raw::scalar_key)
}

fn is_relayed(event: &dyn EventFields, relayed: Option<Raw<'_>>, surface: Option<Raw<'_>>) -> bool {
    event.host() == GATEWAY
        && relayed.is_some_and(|relayed| relayed.text() == "true")
        && surface.and_then(Raw::as_str).is_some_and(|surface| {
            RELAYED_SURFACES
                .iter()
                .any(|prefix| surface.strip_prefix(prefix).is_some_and(|name| !name.is_empty()))
        })
}
