//! I4: a revocation names its activation as a cause.
//!
//! Any activation among the direct causes will do; the capability's name is not compared, since other
//! implementations do not. Kept: one bit for each event up to the last activation.

use super::{Findings, Invariant, Step};

const WORD_BITS: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Revocations {
    /// Bit `p` is set if the event at position `p` is an activation.
    activations: Vec<u64>,
}

impl Revocations {
    pub(super) fn activated(&mut self, step: &Step<'_>) {
        let Some((word, bit)) = place(step.position) else { return };
        if self.activations.len() <= word {
            self.activations.resize(word + 1, 0);
        }
        if let Some(word) = self.activations.get_mut(word) {
            *word |= bit;
        }
    }

    pub(super) fn revoked(&mut self, step: &Step<'_>, found: &mut Findings) {
        if !step.causes.iter().flatten().any(|cause| self.is_activation(*cause)) {
            found.event(Invariant::I4, step.event.id(), step.position);
        }
    }

    fn is_activation(&self, position: u64) -> bool {
        place(position)
            .is_some_and(|(word, bit)| self.activations.get(word).is_some_and(|word| word & bit != 0))
    }
}

/// Returns the word of a position and its bit in it.
fn place(position: u64) -> Option<(usize, u64)> {
    Some((usize::try_from(position / WORD_BITS).ok()?, 1 << (position % WORD_BITS)))
}
