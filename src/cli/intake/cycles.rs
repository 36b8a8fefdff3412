//! Events that would close a cycle among the events of the file.
//!
//! A cycle needs an event that goes in before one of its causes, so most files are done after a look at
//! the schedule. The rest are put in order by number, at below 32 bytes an event; only where that
//! fails is the place looked for at which each cycle closes.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::faults::Faults;
use super::ids::Link;
use super::resolve::Arranged;
use super::schedule::{Schedule, Verdict};
use crate::contract::{Code, Error, Result};
use crate::order::{self, CycleGuard, Graph};

/// Fills `cyclic`, and reports the lines.
pub(super) fn find(arranged: &mut Arranged, faults: &mut Faults) -> Result<()> {
    if !any_early(arranged)? {
        return Ok(());
    }
    let stuck = match graph(arranged)?.linearize() {
        Ok(_) => return Ok(()),
        Err(cycle) => cycle.stuck.into_iter().map(u64::from).collect::<HashSet<u64>>(),
    };
    arranged.cyclic = closing(arranged, &stuck)?;
    report(arranged, faults)
}

fn any_early(arranged: &Arranged) -> Result<bool> {
    let mut schedule = Schedule::new(arranged);
    while let Some(turn) = schedule.next()? {
        if turn.early {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads causes by rank; a rank is an event's number in the graph.
pub(super) fn graph(arranged: &Arranged) -> Result<Graph> {
    let too_many = || Error::invalid(Code::Limit, "more events than can be put in order at once");
    let events = usize::try_from(arranged.events()).map_err(|_| too_many())?;
    let mut graph = Graph::with_capacity(events);
    let mut links = arranged.links.records();
    let mut ahead = links.header()?;
    let mut causes = Vec::new();
    for rank in 0..arranged.events() {
        causes.clear();
        while let Some(link) = ahead
            && let [number, second, third] = link.key
            && number == rank
        {
            if let Link::Cause(cause) = Link::read([second, third]) {
                causes.push(u32::try_from(cause).map_err(|_| too_many())?);
            }
            ahead = links.header()?;
        }
        graph.push(causes.iter().copied()).map_err(|_| too_many())?;
    }
    Ok(graph)
}

/// Returns the ranks of duplicates, rising.
pub(super) fn duplicates(arranged: &Arranged) -> Result<Vec<u64>> {
    let mut ranks = Vec::new();
    let mut links = arranged.links.records();
    while let Some(link) = links.header()? {
        let [rank, second, third] = link.key;
        if Link::read([second, third]) == Link::Duplicate {
            ranks.push(rank);
        }
    }
    Ok(ranks)
}

/// Goes through the schedule and returns, sorted, the ranks that close a cycle when their turn comes.
///
/// What closes a cycle stays out, so that the events behind it can go in. All cycles lie among the
/// `stuck` ranks.
fn closing(arranged: &Arranged, stuck: &HashSet<u64>) -> Result<Vec<u64>> {
    let mut causes: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut links = arranged.links.records();
    while let Some(link) = links.header()? {
        let [rank, second, third] = link.key;
        if let Link::Cause(cause) = Link::read([second, third])
            && stuck.contains(&rank)
            && stuck.contains(&cause)
        {
            causes.entry(rank).or_default().push(cause);
        }
    }
    let mut replay = Replay {
        causes,
        guard: CycleGuard::new(),
        arrivals: HashMap::new(),
        ranks: Vec::new(),
        waiting: HashMap::new(),
    };
    let mut closing = Vec::new();
    let mut schedule = Schedule::new(arranged);
    while let Some(turn) = schedule.next()? {
        if turn.verdict == Verdict::New && stuck.contains(&turn.rank) && !replay.arrives(turn.rank) {
            closing.push(turn.rank);
        }
    }
    closing.sort_unstable();
    Ok(closing)
}

/// The stuck events that went in so far, in the eyes of the store's own guard.
struct Replay {
    /// Causes by rank.
    causes: HashMap<u64, Vec<u64>>,
    guard: CycleGuard,
    /// Arrival by rank, and rank by arrival.
    arrivals: HashMap<u64, u64>,
    ranks: Vec<u64>,
    /// By rank, the arrivals that name an event which is not there yet.
    waiting: HashMap<u64, Vec<u64>>,
}

impl Replay {
    /// Takes the next event in; `false` when it closes a cycle and stays out.
    fn arrives(&mut self, rank: u64) -> bool {
        let own = self.guard.len();
        let causes = self.causes.get(&rank).map_or(&[][..], Vec::as_slice);
        let arrival =
            |cause: &u64| if *cause == rank { Some(own) } else { self.arrivals.get(cause).copied() };
        let held: Vec<u64> = causes.iter().filter_map(arrival).collect();
        let dependents = self.waiting.get(&rank).map_or(&[][..], Vec::as_slice);
        let causes_of = |arrival: u64, out: &mut Vec<u64>| -> Result<(), Infallible> {
            let rank = usize::try_from(arrival).ok().and_then(|arrival| self.ranks.get(arrival));
            let causes = rank.and_then(|rank| self.causes.get(rank)).into_iter().flatten();
            out.extend(causes.filter_map(|cause| self.arrivals.get(cause)));
            Ok(())
        };
        let Ok(order::Verdict::Clear(admission)) = self.guard.check(&held, dependents, causes_of) else {
            return false;
        };
        admission.accept();
        self.arrivals.insert(rank, own);
        self.ranks.push(rank);
        for cause in causes.iter().filter(|cause| !self.arrivals.contains_key(cause)) {
            self.waiting.entry(*cause).or_default().push(own);
        }
        true
    }
}

fn report(arranged: &Arranged, faults: &mut Faults) -> Result<()> {
    let mut records = arranged.records.records();
    for rank in 0..arranged.events() {
        let Some(record) = records.header()? else { break };
        if arranged.cyclic.binary_search(&rank).is_ok() {
            let [_, _, line] = record.key;
            faults.add(line, Error::invalid(Code::Cycle, "the event's causes lead back to it"));
        }
    }
    Ok(())
}
