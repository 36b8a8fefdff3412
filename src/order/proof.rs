//! A check that a sequence is the one order, in one pass and without computing the order.
//!
//! A sequence is the order of its set if and only if, for every event `y`:
//! - each held cause of `y` stands before `y`, and
//! - every event between `y`'s last held cause, or the start, and `y` has a smaller key than `y`.
//!
//! `y` becomes ready right after its last cause, and from then on the ready set emits only smaller keys
//! until `y` is its least. Conversely, were `y` ready and smaller than something emitted before it, that
//! event would stand between `y`'s last cause and `y` with a greater key.
//!
//! So for each event one question remains: does the nearest event to its left with a greater key stand
//! after its last cause? A stack answers it. Invariant: it holds the events, rising by position, that no
//! later event has overtaken with a greater key; keys fall from bottom to top.

use std::fmt;

use crate::contract::Error;

/// A running proof that a sequence of events is the one order of its set.
///
/// `K` is what orders the events without causes: the key itself, or its rank among all keys.
///
/// # Memory
/// One entry for each event that no later one has overtaken. In a log whose writers never name something
/// that came of their own later events that is at most one a host; in the worst case one an event.
#[derive(Clone, Debug)]
pub struct Proof<K> {
    stack: Vec<(K, u64)>,
    length: u64,
}

/// Why a sequence is not the one order. Positions count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderViolation {
    /// A held cause of the event stands at or behind it.
    CauseBehind {
        /// Where the event stands.
        position: u64,
    },
    /// An event with a greater key, or the same, went first although this one was ready.
    Overtaken {
        /// Where the event stands.
        position: u64,
        /// Where the event stands that had to come after it.
        by: u64,
    },
}

impl<K: Ord> Proof<K> {
    /// Starts a proof of an empty sequence.
    #[must_use]
    pub const fn new() -> Self {
        Self { stack: Vec::new(), length: 0 }
    }

    /// Takes the next event of the sequence: its key and the position of its last held cause, `None`
    /// where it has none. Amortised O(1).
    ///
    /// A held cause that has not come yet is told by any position from [`len`](Self::len) on, such as
    /// `u64::MAX`.
    ///
    /// # Errors
    /// [`OrderViolation`] if the sequence is not the order; the event is then not taken.
    pub fn push(&mut self, key: K, last_cause: Option<u64>) -> Result<(), OrderViolation> {
        let position = self.length;
        if last_cause.is_some_and(|cause| cause >= position) {
            return Err(OrderViolation::CauseBehind { position });
        }
        let overtaken = self.stack.iter().rev().take_while(|(other, _)| *other < key).count();
        let left = self.stack.len() - overtaken;
        if let Some(&(_, by)) = left.checked_sub(1).and_then(|top| self.stack.get(top))
            && last_cause.is_none_or(|cause| by > cause)
        {
            return Err(OrderViolation::Overtaken { position, by });
        }
        self.stack.truncate(left);
        self.stack.push((key, position));
        self.length += 1;
        Ok(())
    }

    /// Returns the number of events taken.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Reports whether no event was taken yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<K: Ord> Default for Proof<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for OrderViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CauseBehind { position } => {
                write!(f, "the event at position {position} of the order stands before one of its causes")
            }
            Self::Overtaken { position, by } => {
                write!(f, "the event at position {position} of the order belongs before the one at {by}")
            }
        }
    }
}

impl std::error::Error for OrderViolation {}

impl From<OrderViolation> for Error {
    fn from(violation: OrderViolation) -> Self {
        Self::corrupt(violation.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Graph;
    use proptest::prelude::*;

    /// Proves `order`, whose numbers are ranks of keys.
    fn prove(causes: &[Vec<u32>], order: &[u32]) -> Result<(), OrderViolation> {
        let mut position = vec![u64::MAX; causes.len()];
        let mut proof = Proof::new();
        for (place, &number) in (0u64..).zip(order) {
            let held = causes[number as usize].iter().filter_map(|cause| position.get(*cause as usize));
            proof.push(number, held.max().copied())?;
            position[number as usize] = place;
        }
        assert_eq!(proof.len(), order.len() as u64);
        Ok(())
    }

    fn order_of(causes: &[Vec<u32>]) -> Option<Vec<u32>> {
        let mut graph = Graph::default();
        for list in causes {
            graph.push(list.iter().copied()).unwrap();
        }
        graph.linearize().ok()
    }

    /// Mostly earlier numbers as causes, some later and some never held.
    fn histories(events: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<u32>>> {
        events.prop_flat_map(|events| {
            let bound = u32::try_from(events).unwrap() + 2;
            prop::collection::vec(prop::collection::vec((0..bound, 0u32..8), 0..3), events).prop_map(
                |draws| {
                    let cause =
                        |own: u32, (any, late): (u32, u32)| if late == 0 { any } else { any % own.max(1) };
                    (0u32..)
                        .zip(draws)
                        .map(|(own, list)| {
                            list.into_iter().map(|draw| cause(own, draw)).filter(|c| *c != own).collect()
                        })
                        .collect()
                },
            )
        })
    }

    proptest! {
        #[test]
        fn proves_the_order_and_refuses_every_swap_of_neighbours(causes in histories(1..60)) {
            let Some(order) = order_of(&causes) else { return Ok(()) };
            prop_assert_eq!(prove(&causes, &order), Ok(()));
            for place in 1..order.len() {
                let mut wrong = order.clone();
                wrong.swap(place - 1, place);
                prop_assert!(prove(&causes, &wrong).is_err(), "swap before {}", place);
            }
        }

        #[test]
        fn proves_nothing_but_the_order(
            (causes, order) in histories(1..7).prop_flat_map(|causes| {
                let numbers: Vec<u32> = (0u32..).take(causes.len()).collect();
                (Just(causes), Just(numbers).prop_shuffle())
            }),
        ) {
            prop_assert_eq!(prove(&causes, &order).is_ok(), order_of(&causes) == Some(order));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let mut proof = Proof::default();
        assert_eq!(proof.push("b", Some(0)), Err(OrderViolation::CauseBehind { position: 0 }));
        assert_eq!(proof.push("b", None), Ok(()));
        assert_eq!(proof.push("a", None), Err(OrderViolation::Overtaken { position: 1, by: 0 }));
        assert_eq!(proof.push("b", None), Err(OrderViolation::Overtaken { position: 1, by: 0 }));
        assert_eq!(proof.push("a", Some(0)), Ok(()));
        assert_eq!(proof.len(), 2);
    }

    #[test]
    fn the_stack_holds_what_was_not_overtaken() {
        let mut proof = Proof::new();
        for number in 0..10_000u32 {
            proof.push(number, None).unwrap();
            assert_eq!(proof.stack.len(), 1);
        }
    }
}
