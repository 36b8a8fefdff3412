//! Where the latest events stand, in a table of fixed size.
//!
//! Invariant: an event that is found was noted, at that place. One that was noted may be gone: a slot holds one event, and
//! the last one stays. Consecutive events of a host have consecutive slots.

/// Spreads hosts over the table.
const HOST_STEP: u64 = 0x9E37_79B9;

/// No host has this number.
const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    host: u32,
    seq: u64,
    position: u64,
}

#[derive(Debug)]
pub(super) struct Recent {
    slots: Vec<Slot>,
}

impl Recent {
    /// `slots` is not 0.
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: vec![Slot { host: NOBODY, seq: 0, position: 0 }; slots] }
    }

    fn slot(&self, host: u32, seq: u64) -> usize {
        let spread = u64::from(host).wrapping_mul(HOST_STEP).wrapping_add(seq);
        let slots = u64::try_from(self.slots.len()).unwrap_or(u64::MAX);
        spread.checked_rem(slots).and_then(|slot| usize::try_from(slot).ok()).unwrap_or_default()
    }

    pub(super) fn note(&mut self, host: u32, seq: u64, position: u64) {
        let slot = self.slot(host, seq);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot { host, seq, position };
        }
    }

    pub(super) fn find(&self, host: u32, seq: u64) -> Option<u64> {
        let slot = self.slots.get(self.slot(host, seq))?;
        (slot.host == host && slot.seq == seq).then_some(slot.position)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_found_was_noted(
            events in prop::collection::vec((0..4_u32, 0..12_u64), 1..60),
            slots in 1..40_usize,
        ) {
            let (mut recent, mut plain) = (Recent::new(slots), HashMap::new());
            for (position, (host, seq)) in (0..).zip(events) {
                recent.note(host, seq, position);
                plain.insert((host, seq), position);
                prop_assert_eq!(recent.find(host, seq), Some(position));
                for host in 0..4 {
                    for seq in 0..12 {
                        let found = recent.find(host, seq);
                        prop_assert!(found.is_none() || found == plain.get(&(host, seq)).copied());
                    }
                }
            }
        }
    }
}
