//! The first of many by position, and how many there are.

use std::collections::BinaryHeap;

use crate::contract::Result;

use super::wire::{In, Out, Wire};

/// Keeps those of the least positions, up to a bound, in whatever order they come. Positions are distinct.
#[derive(Debug)]
pub(in crate::replay) struct First<T> {
    max: usize,
    kept: BinaryHeap<(u64, T)>,
    total: u64,
}

impl<T: Ord> First<T> {
    pub(in crate::replay) const fn new(max: usize) -> Self {
        Self { max, kept: BinaryHeap::new(), total: 0 }
    }

    /// Takes one. `make` is called if it is kept.
    pub(in crate::replay) fn add(&mut self, position: u64, make: impl FnOnce() -> Result<T>) -> Result<()> {
        self.total += 1;
        if self.kept.len() >= self.max {
            if self.kept.peek().is_none_or(|(last, _)| *last < position) {
                return Ok(());
            }
            self.kept.pop();
        }
        self.kept.push((position, make()?));
        Ok(())
    }

    /// Returns those that are kept, rising, and the number of the others.
    pub(in crate::replay) fn finish(self) -> (Vec<(u64, T)>, u64) {
        let others = self.total.saturating_sub(u64::try_from(self.kept.len()).unwrap_or(u64::MAX));
        (self.kept.into_sorted_vec(), others)
    }
}

impl<T: Ord + Clone + Wire> First<T> {
    pub(in crate::replay) fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.total.write(out)?;
        self.kept.clone().into_sorted_vec().write(out)
    }

    pub(in crate::replay) fn read(max: usize, from: &mut In<'_>) -> Result<Self> {
        let total = u64::read(from)?;
        Ok(Self { max, total, kept: Vec::read(from)?.into() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_the_first_of_a_sorted_list(
            positions in prop::collection::hash_set(0..50_u64, 0..20),
            max in 0..6_usize,
        ) {
            let mut first = First::new(max);
            for position in &positions {
                first.add(*position, || Ok(position.to_string())).unwrap();
            }
            let mut sorted: Vec<_> = positions.iter().map(|position| (*position, position.to_string())).collect();
            sorted.sort();
            let others = sorted.len().saturating_sub(max);
            sorted.truncate(max);
            prop_assert_eq!(first.finish(), (sorted, others as u64));
        }
    }
}
