//! I4: a revocation names its activation as a cause. Keeps nothing: who knows where causes stand knows their types.
//!
//! Any activation among the direct causes will do; the capability's name is not compared, since other
//! implementations do not.

use super::{Findings, Invariant, Step};

pub(super) struct Revocations;

impl Revocations {
    pub(super) fn revoked(step: &Step<'_>, found: &mut Findings) {
        if !step.names_activation {
            found.event(Invariant::I4, step.event.id(), step.position);
        }
    }
}
