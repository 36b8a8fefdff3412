//! The events that a cycle can go through, by number: those of the file by rank and, behind them, those of
//! the store as they arrived.
//!
//! Such a cycle leads from the file to held events and back, so it needs held events that name ones of
//! the file; where there are none, nor is any event of the store here. The way back ends at one of them,
//! which bounds how far back arrivals matter.

use std::ops::Range;

use super::against::Against;
use super::arranged::Arranged;
use super::links::{ByRank, Link};
use super::record;
use crate::contract::{Code, Error, Result};
use crate::order::Graph;

/// The events of a file and of a store. Memory: 16 bytes for each cause that held events wait for.
#[derive(Debug)]
pub(super) struct Whole<'a> {
    arranged: &'a Arranged,
    against: &'a Against,
    /// Arrival of a held event and rank of the event that it waits for, sorted.
    awaiting: Vec<(u64, u64)>,
    /// Arrivals of the held events that matter.
    held: Range<u64>,
}

impl<'a> Whole<'a> {
    pub(super) fn new(arranged: &'a Arranged, against: &'a Against) -> Result<Self> {
        let mut awaiting = Vec::new();
        let mut links = arranged.links.records();
        while let Some(record) = links.header()? {
            if let (rank, Link::Awaited(arrival)) = Link::read(record) {
                awaiting.push((arrival, rank));
            }
        }
        awaiting.sort_unstable();
        let held = awaiting.first().map_or(0..0, |(first, _)| against.arrivals_above(*first));
        Ok(Self { arranged, against, awaiting, held })
    }

    /// Calls `visit` with the number of each event and those of its causes, by number.
    ///
    /// Without held events where no event of the file rests on one.
    pub(super) fn each(&self, mut visit: impl FnMut(u64, &[u64]) -> Result<()>) -> Result<()> {
        let mut by_rank = ByRank::new(&self.arranged.links)?;
        let mut records = self.arranged.records.records();
        let (mut links, mut causes) = (Vec::new(), Vec::new());
        let mut rests_on_held = false;
        for rank in 0..self.arranged.events() {
            by_rank.read(rank, &mut links)?;
            causes.clear();
            causes.extend(links.iter().filter_map(|link| match link {
                Link::Cause(cause) => Some(*cause),
                _ => None,
            }));
            if !self.held.is_empty() {
                records.header()?;
                if !links.first().is_some_and(|link| link.is_verdict()) {
                    let (_, ids) = record::read_ids(records.value()?)?;
                    for id in ids {
                        causes.extend(self.against.arrival(id)?.and_then(|arrival| self.number(arrival)));
                    }
                    rests_on_held |= causes.last().is_some_and(|cause| *cause >= self.arranged.events());
                }
            }
            visit(rank, &causes)?;
        }
        if !rests_on_held {
            return Ok(());
        }
        let mut awaiting = self.awaiting.iter().peekable();
        let mut arrivals = Vec::new();
        for arrival in self.held.clone() {
            arrivals.clear();
            self.against.causes_of(arrival, &mut arrivals)?;
            causes.clear();
            causes.extend(arrivals.iter().filter_map(|cause| self.number(*cause)));
            while let Some((_, rank)) = awaiting.next_if(|(waiting, _)| *waiting == arrival) {
                causes.push(*rank);
            }
            visit(self.arranged.events() + (arrival - self.held.start), &causes)?;
        }
        Ok(())
    }

    /// Returns the number of the held event of an arrival, if it matters.
    fn number(&self, arrival: u64) -> Option<u64> {
        let within = self.held.contains(&arrival).then(|| arrival - self.held.start)?;
        Some(self.arranged.events() + within)
    }

    /// Reads all causes by number.
    pub(super) fn graph(&self) -> Result<Graph> {
        let too_many = || Error::invalid(Code::Limit, "more events than can be put in order at once");
        let events = usize::try_from(self.arranged.events()).map_err(|_| too_many())?;
        let mut graph = Graph::with_capacity(events);
        let mut narrow = Vec::new();
        self.each(|_, causes| {
            narrow.clear();
            for cause in causes {
                narrow.push(u32::try_from(*cause).map_err(|_| too_many())?);
            }
            graph.push(narrow.iter().copied()).map(|_| ()).map_err(|_| too_many())
        })?;
        Ok(graph)
    }
}
