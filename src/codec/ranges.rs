//! Ranges of `seq` that the control state keeps by host: what was evicted, and what is pinned.
//!
//! Invariants:
//! - Rising by kind, host and first `seq`; of one kind and host, two ranges neither overlap nor touch.
//! - No `seq` is both evicted and pinned: what is pinned is cut out of what is evicted before that is written down, and
//!   only an event that is held can be pinned.
//! - An evicted range says that no event of it is held once the eviction is done. Where the host's `seq` had gaps, there
//!   never was one.

use rkyv::{Archive, Deserialize, Serialize};

use crate::contract::limits::SEQ_MAX;

/// What is said of the events of a range.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[rkyv(derive(Debug))]
pub enum RangeKind {
    /// They were held and are not any more.
    Evicted,
    /// They are held, and no eviction takes them.
    Pinned,
}

/// A range of one host's events.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct HostRange {
    /// The host's number.
    pub host: u32,
    /// What is said of it.
    pub kind: RangeKind,
    /// First `seq` of the range.
    pub first: u64,
    /// Last `seq` of the range.
    pub last: u64,
}

impl HostRange {
    /// Returns how many values of `seq` it spans.
    #[must_use]
    pub const fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    fn rank(&self) -> (RangeKind, u32) {
        (self.kind, self.host)
    }
}

/// The ranges of all hosts.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct Ranges(Vec<HostRange>);

// The format is fixed.
const _: () = assert!(size_of::<ArchivedHostRange>() == 24 && size_of::<ArchivedRanges>() == 8);
const _: () = assert!(std::mem::offset_of!(ArchivedHostRange, kind) == 4);

impl Ranges {
    /// Reports whether there is no range of any kind.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the ranges of a kind, by host number and `seq`.
    pub fn of_kind(&self, kind: RangeKind) -> impl Iterator<Item = &HostRange> {
        self.0.iter().filter(move |range| range.kind == kind)
    }

    /// Returns the ranges of a kind and host, rising. Cost: two searches.
    #[must_use]
    pub fn of_host(&self, kind: RangeKind, host: u32) -> &[HostRange] {
        let start = self.0.partition_point(|range| range.rank() < (kind, host));
        let end = self.0.partition_point(|range| range.rank() <= (kind, host));
        self.0.get(start..end).unwrap_or_default()
    }

    /// Returns the range of a kind and host that holds a `seq`. Cost: a search.
    #[must_use]
    pub fn find(&self, kind: RangeKind, host: u32, seq: u64) -> Option<&HostRange> {
        let list = self.of_host(kind, host);
        let at = list.partition_point(|range| range.last < seq);
        list.get(at).filter(|range| range.first <= seq)
    }

    /// Adds a range, joined with those that it overlaps or touches.
    ///
    /// # Errors
    /// When it runs backwards or beyond the contract's limit.
    pub(super) fn insert(&mut self, mut new: HostRange) -> Result<(), String> {
        if new.first > new.last || new.last > SEQ_MAX {
            return Err(format!("seq {} to {} is no range", new.first, new.last));
        }
        let joins = |old: &HostRange| {
            old.rank() == new.rank()
                && old.first <= new.last.saturating_add(1)
                && new.first <= old.last.saturating_add(1)
        };
        let joined: Vec<HostRange> = self.0.extract_if(.., |old| joins(old)).collect();
        for old in joined {
            new.first = new.first.min(old.first);
            new.last = new.last.max(old.last);
        }
        let at = self.0.partition_point(|old| (old.rank(), old.first) < (new.rank(), new.first));
        self.0.insert(at, new);
        Ok(())
    }

    /// Takes one `seq` out of the ranges of a kind and host.
    pub(super) fn remove(&mut self, kind: RangeKind, host: u32, seq: u64) {
        let Some(old) = self.find(kind, host, seq).copied() else { return };
        self.0.retain(|range| *range != old);
        let before = seq.checked_sub(1).filter(|last| *last >= old.first);
        let behind = seq.checked_add(1).filter(|first| *first <= old.last);
        let left = before.map(|last| HostRange { last, ..old }).into_iter();
        for part in left.chain(behind.map(|first| HostRange { first, ..old })) {
            let at = self.0.partition_point(|range| (range.rank(), range.first) < (part.rank(), part.first));
            self.0.insert(at, part);
        }
    }

    /// Reports whether ranges that were read are as they are kept, each of one of so many hosts.
    pub(super) fn can_be(&self, hosts: usize) -> bool {
        let one = |range: &HostRange| {
            range.first <= range.last && range.last <= SEQ_MAX && (range.host as usize) < hosts
        };
        let pair = |pair: &[HostRange]| match pair {
            [a, b] if a.rank() == b.rank() => a.last.saturating_add(1) < b.first,
            [a, b] => a.rank() < b.rank(),
            _ => true,
        };
        self.0.iter().all(one) && self.0.windows(2).all(pair)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn kind_of(pinned: bool) -> RangeKind {
        if pinned { RangeKind::Pinned } else { RangeKind::Evicted }
    }

    proptest! {
        /// Whatever is added and taken out, the ranges say what a plain set says, and are in the one form they are kept in.
        #[test]
        fn they_are_a_set(ops in proptest::collection::vec((any::<bool>(), any::<bool>(), 0u32..3, 0u64..40, 0u64..6), 0..60)) {
            let mut ranges = Ranges::default();
            let mut model: BTreeSet<(bool, u32, u64)> = BTreeSet::new();
            for (add, pinned, host, first, more) in ops {
                if add {
                    ranges.insert(HostRange { host, kind: kind_of(pinned), first, last: first + more }).unwrap();
                    model.extend((first..=first + more).map(|seq| (pinned, host, seq)));
                } else {
                    ranges.remove(kind_of(pinned), host, first);
                    model.remove(&(pinned, host, first));
                }
                prop_assert!(ranges.can_be(3), "{ranges:?}");
                let listed: u64 = ranges.0.iter().map(HostRange::len).sum();
                prop_assert_eq!(listed, model.len() as u64);
                for (pinned, host, seq) in &model {
                    prop_assert!(ranges.find(kind_of(*pinned), *host, *seq).is_some());
                }
            }
        }
    }

    #[test]
    fn what_is_not_kept_so_is_refused() {
        let range = |host, first, last| HostRange { host, kind: RangeKind::Evicted, first, last };
        assert!(Ranges::default().insert(range(0, 2, 1)).is_err());
        assert!(Ranges::default().insert(range(0, 2, SEQ_MAX + 1)).is_err());
        assert!(Ranges(vec![range(0, 1, 2), range(0, 4, 5), range(1, 0, 0)]).can_be(2));
        for wrong in [
            vec![range(0, 2, 1)],
            vec![range(2, 1, 1)],
            vec![range(0, 1, u64::MAX)],
            vec![range(0, 1, 2), range(0, 3, 4)],
            vec![range(1, 0, 0), range(0, 1, 2)],
        ] {
            assert!(!Ranges(wrong.clone()).can_be(2), "{wrong:?}");
        }
    }
}
