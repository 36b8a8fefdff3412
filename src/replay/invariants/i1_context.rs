//! I1: a turn that ended had its context assembled, and every resident of a context is a reference.
//!
//! Exempt are turns that took no step (`stepped` is false) and relayed ones: the gateway only passed them
//! on, and who assembled their context is elsewhere.
//!
//! The context may stand behind the end, so an end without one waits. Kept: a digest of 16 bytes for each
//! turn with a context, and the id of each turn that ended before its context.

use std::collections::HashSet;

use crate::contract::{EventFields, EventId};
use crate::replay::payload::{Digest, Raw, digest};
use crate::replay::reference;

use super::{Findings, Invariant, Step};

/// The host that relays turns of partners and phones.
const GATEWAY: &str = "gateway";

/// Where relayed turns come from; a name follows.
const RELAYED_SURFACES: [&str; 2] = ["partner:", "phone:"];

#[derive(Debug, Default)]
pub(super) struct ContextOfTurns {
    assembled: HashSet<Digest>,
    waiting: Vec<Ended>,
}

#[derive(Debug)]
struct Ended {
    /// `None` for a `turnId` that equals no other, such as an array.
    turn: Option<Digest>,
    id: EventId,
    position: u64,
}

impl ContextOfTurns {
    pub(super) fn assembled(&mut self, step: &Step<'_>, found: &mut Findings) {
        let [turn, resident] = step.payload.pick(["turnId", "resident"]);
        self.assembled.extend(turn_key(turn));
        if resident.is_some_and(|resident| !resident.elements().all(reference::is_reference)) {
            found.event(Invariant::I1, step.event.id(), step.position);
        }
    }

    pub(super) fn ended(&mut self, step: &Step<'_>) {
        let [turn, stepped, relayed, surface] =
            step.payload.pick(["turnId", "stepped", "relayed", "surface"]);
        if stepped.is_some_and(|stepped| stepped.text() == "false")
            || is_relayed(step.event, relayed, surface)
        {
            return;
        }
        let turn = turn_key(turn);
        if turn.is_none_or(|turn| !self.assembled.contains(&turn)) {
            self.waiting.push(Ended { turn, id: step.event.id().to_owned(), position: step.position });
        }
    }

    pub(super) fn finish(self, found: &mut Findings) {
        for Ended { turn, id, position } in self.waiting {
            if turn.is_none_or(|turn| !self.assembled.contains(&turn)) {
                found.waited(Invariant::I1, id, position);
            }
        }
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
