//! I2: every invocation that declares egress has a `privacy.egress` that names it as a cause.
//!
//! A cause stands before what it causes, so the egress comes later. Kept: the id of each invocation that
//! still waits for one.

use std::collections::BTreeMap;

use crate::contract::EventId;

use super::{Findings, Invariant, Step};

#[derive(Debug, Default)]
pub(super) struct DeclaredEgress {
    /// Position of the invocation to its id.
    waiting: BTreeMap<u64, EventId>,
}

impl DeclaredEgress {
    pub(super) fn invoked(&mut self, step: &Step<'_>) {
        let [egress] = step.payload.pick(["egress"]);
        if egress.is_some_and(|egress| egress.is_truthy() && egress.as_str().as_deref() != Some("none")) {
            self.waiting.insert(step.position, step.event.id().to_owned());
        }
    }

    pub(super) fn left(&mut self, step: &Step<'_>) {
        for cause in step.causes.iter().flatten() {
            self.waiting.remove(cause);
        }
    }

    pub(super) fn finish(self, found: &mut Findings) {
        for (position, id) in self.waiting {
            found.waited(Invariant::I2, id, position);
        }
    }
}
