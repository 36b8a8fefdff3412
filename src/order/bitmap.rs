//! A set of small numbers that gives up its least member: the ready set of Kahn's algorithm.
//!
//! Invariant: bit `i` of a level is set if and only if word `i` of the level below is not zero. The
//! topmost level is one word.

/// Members of one word.
const WORD_BITS: usize = 64;

/// A set of numbers below a bound, as a hierarchy of 64-bit words.
///
/// Costs 1/8 byte for each possible member plus 1/63 of that; both operations touch one word a level, at
/// most six levels for `u32` numbers, however many members there are. A binary heap costs as little only
/// while it is small.
pub(super) struct Bitmap {
    /// From the members up to the single word.
    levels: Vec<Vec<u64>>,
}

impl Bitmap {
    /// Creates an empty set for numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = bound;
        loop {
            words = words.div_ceil(WORD_BITS).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
        }
    }

    /// Adds a number. A number at or above the bound is not added.
    #[inline]
    pub(super) fn insert(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(index / WORD_BITS) else { return };
            let before = *word;
            *word |= 1 << (index % WORD_BITS);
            if before != 0 {
                return; // the levels above know of this word
            }
            index /= WORD_BITS;
        }
    }

    /// Takes the least member out.
    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<u32> {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            let word = *level.get(index)?;
            if word == 0 {
                return None; // only the topmost word can be zero here
            }
            index = index * WORD_BITS + word.trailing_zeros() as usize;
        }
        let number = u32::try_from(index).ok()?;
        for level in &mut self.levels {
            let word = level.get_mut(index / WORD_BITS)?;
            *word &= !(1 << (index % WORD_BITS));
            if *word != 0 {
                break;
            }
            index /= WORD_BITS;
        }
        Some(number)
    }

    /// Returns the bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.capacity() * size_of::<u64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn equals_a_sorted_set(
            bound in prop_oneof![1usize..200, 4_000usize..5_000, 262_100usize..262_200],
            steps in prop::collection::vec(prop::option::of(any::<u32>()), 0..300),
        ) {
            let (mut bitmap, mut plain) = (Bitmap::new(bound), BTreeSet::new());
            for step in steps {
                if let Some(number) = step {
                    let number = number % u32::try_from(bound).unwrap();
                    bitmap.insert(number);
                    plain.insert(number);
                } else {
                    prop_assert_eq!(bitmap.pop_first(), plain.pop_first());
                }
            }
            while let Some(number) = plain.pop_first() {
                prop_assert_eq!(bitmap.pop_first(), Some(number));
            }
            prop_assert_eq!(bitmap.pop_first(), None);
        }
    }

    #[test]
    fn an_empty_bound_holds_nothing() {
        let mut bitmap = Bitmap::new(0);
        assert_eq!(bitmap.pop_first(), None);
        bitmap.insert(64);
        assert_eq!(bitmap.pop_first(), None);
    }

    #[test]
    fn level_edges() {
        for bound in [63usize, 64, 65, 4_095, 4_096, 4_097, 262_143, 262_144, 262_145] {
            let last = u32::try_from(bound - 1).unwrap();
            let mut bitmap = Bitmap::new(bound);
            bitmap.insert(last);
            bitmap.insert(0);
            assert_eq!(
                [bitmap.pop_first(), bitmap.pop_first(), bitmap.pop_first()],
                [Some(0), Some(last), None]
            );
        }
    }
}
