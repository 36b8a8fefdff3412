//! A file's events, sorted and joined, on disk.

use crate::cli::sort::Sorted;
use crate::contract::HostId;

/// A host's events in the sorted file.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) host: HostId,
    /// Rank of its first event, and the rank behind its last.
    pub(super) ranks: std::ops::Range<u64>,
    /// Where its records start and end.
    pub(super) records: std::ops::Range<u64>,
    /// Where its links start and end.
    pub(super) links: std::ops::Range<u64>,
}

/// A file's events by `(host, seq)`, ready to go in. An event's *rank* is its place there.
#[derive(Debug)]
pub(crate) struct Arranged {
    pub(super) lanes: Vec<Lane>,
    pub(super) records: Sorted,
    pub(super) links: Sorted,
    /// Ranks of events that would close a cycle, sorted.
    pub(super) cyclic: Vec<u64>,
    /// How many lines repeat an event of the store or of an earlier line.
    pub(crate) duplicates: u64,
}

impl Arranged {
    /// Returns the number of good lines.
    pub(crate) fn events(&self) -> u64 {
        self.records.len()
    }
}
