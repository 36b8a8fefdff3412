//! What is known of each event of a file, by its rank, on disk.

use std::path::Path;

use crate::cli::sort::{Record, Records, Sorted, Sorter};
use crate::contract::Result;

/// Memory of the sort.
const SORT_BYTES: usize = 16 << 20;

/// What is known of an event of the file. An event has one verdict at most: one of the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The store holds it.
    Duplicate,
    /// It contradicts the store or an earlier line.
    Refused,
    /// It is the event of this rank again.
    Repeat(u64),
    /// It names the event of this rank as a cause.
    Cause(u64),
    /// The held event of this arrival names it as a cause.
    Awaited(u64),
}

impl Link {
    fn words(self) -> [u64; 2] {
        match self {
            Self::Duplicate => [0, 0],
            Self::Refused => [0, 1],
            Self::Repeat(rank) => [1, rank],
            Self::Cause(rank) => [2, rank],
            Self::Awaited(arrival) => [3, arrival],
        }
    }

    fn of([second, third]: [u64; 2]) -> Self {
        match second {
            0 if third == 0 => Self::Duplicate,
            0 => Self::Refused,
            1 => Self::Repeat(third),
            2 => Self::Cause(third),
            _ => Self::Awaited(third),
        }
    }

    /// Returns the rank that a record is about, and its link.
    pub(super) fn read(record: Record) -> (u64, Self) {
        let [rank, second, third] = record.key;
        (rank, Self::of([second, third]))
    }

    /// Reports whether the event does not go in.
    pub(super) fn is_verdict(self) -> bool {
        matches!(self, Self::Duplicate | Self::Refused | Self::Repeat(_))
    }
}

/// Gathers links.
#[derive(Debug)]
pub(super) struct Links(Sorter);

impl Links {
    pub(super) fn new(dir: &Path) -> Self {
        Self(Sorter::new(dir, SORT_BYTES))
    }

    pub(super) fn push(&mut self, rank: u64, link: Link) -> Result<()> {
        if self.0.is_full() {
            self.0.spill(|first| first)?;
        }
        let [second, third] = link.words();
        self.0.push([rank, second, third], |_| {})
    }

    /// Sorts them by rank, verdicts first.
    pub(super) fn finish(self) -> Result<Sorted> {
        self.0.finish(|first| first)
    }
}

/// Reads links, rank by rank.
#[derive(Debug)]
pub(super) struct ByRank {
    links: Records,
    ahead: Option<Record>,
}

impl ByRank {
    pub(super) fn new(links: &Sorted) -> Result<Self> {
        let mut links = links.records();
        let ahead = links.header()?;
        Ok(Self { links, ahead })
    }

    /// Replaces `out` by the links of a rank. Ranks must rise from call to call.
    pub(super) fn read(&mut self, rank: u64, out: &mut Vec<Link>) -> Result<()> {
        out.clear();
        while let Some((number, link)) = self.ahead.map(Link::read)
            && number <= rank
        {
            if number == rank {
                out.push(link);
            }
            self.ahead = self.links.header()?;
        }
        Ok(())
    }
}
