//! I3: an invocation that is not pure carries an idempotency key. Keeps nothing.

use super::{Findings, Invariant, Step};
use crate::replay::payload::Raw;

pub(super) struct IdempotencyKeys;

impl IdempotencyKeys {
    pub(super) fn invoked(step: &Step<'_>, found: &mut Findings) {
        let [effects, key] = step.payload.pick(["effects", "idempotencyKey"]);
        let pure = effects.and_then(Raw::as_str).is_some_and(|effects| effects == "pure");
        if !pure && !key.is_some_and(Raw::is_truthy) {
            found.event(Invariant::I3, step.event.id(), step.position);
        }
    }
}
