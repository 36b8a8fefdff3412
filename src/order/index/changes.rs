//! Where the order changed, by generation.
//!
//! Invariants: generations rise, and so do positions: a change hides all older ones that begin at or behind it. There are at
//! most [`MAX`]; beyond that the two oldest become one, which tells a position that may be too small, never one too
//! great.

/// How many changes are kept apart.
pub(super) const MAX: usize = 64;

/// The changes, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    entries: Vec<(u64, u64)>,
}

impl Changes {
    /// Notes that a generation changed the order from a position on.
    pub(super) fn note(&mut self, generation: u64, from: u64) {
        while self.entries.last().is_some_and(|(_, older)| *older >= from) {
            self.entries.pop();
        }
        self.entries.push((generation, from));
        if self.entries.len() > MAX
            && let [(_, from), (generation, _), ..] = *self.entries
        {
            self.entries.splice(..2, [(generation, from)]);
        }
    }

    /// Returns the least position at which anything changed in later generations.
    pub(super) fn since(&self, generation: u64) -> Option<u64> {
        self.entries.iter().find(|(later, _)| *later > generation).map(|(_, from)| *from)
    }

    pub(super) fn entries(&self) -> &[(u64, u64)] {
        &self.entries
    }

    /// `None` where they break an invariant.
    pub(super) fn from_entries(entries: Vec<(u64, u64)>) -> Option<Self> {
        let rising = entries.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1);
        (rising && entries.len() <= MAX).then_some(Self { entries })
    }
}
