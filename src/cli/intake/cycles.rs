//! Events that would close a cycle among the events of the file.
//!
//! A cycle needs an event that goes in before one of its causes, so most files are done after a look at
//! the schedule. The rest are put in order by number, at below 32 bytes an event; only where that
//! fails is the place looked for at which each cycle closes.

use std::collections::{HashMap, HashSet};

use super::faults::Faults;
use super::ids::Link;
use super::resolve::Arranged;
use super::schedule::{Schedule, Verdict};
use crate::contract::{Code, Error, Result};
use crate::order::Graph;

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
    let mut graph = Graph::with_capacity(events, usize::try_from(arranged.links.len()).unwrap_or(events));
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
    let none = Vec::new();
    let of = |rank: u64| causes.get(&rank).unwrap_or(&none);
    let (mut held, mut named, mut closing) = (HashSet::new(), HashSet::new(), Vec::new());
    let mut schedule = Schedule::new(arranged);
    while let Some(turn) = schedule.next()? {
        let rank = turn.rank;
        if turn.verdict != Verdict::New || !stuck.contains(&rank) {
            continue;
        }
        let named_before = named.contains(&rank) || of(rank).contains(&rank);
        if named_before && leads_back(rank, &held, of) {
            closing.push(rank);
            continue;
        }
        held.insert(rank);
        named.extend(of(rank).iter().copied());
    }
    closing.sort_unstable();
    Ok(closing)
}

/// Reports whether a path of causes leads from an event over held ones back to it.
fn leads_back<'a>(rank: u64, held: &HashSet<u64>, causes: impl Fn(u64) -> &'a Vec<u64>) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![rank];
    while let Some(event) = open.pop() {
        for cause in causes(event) {
            if *cause == rank {
                return true;
            }
            if held.contains(cause) && seen.insert(*cause) {
                open.push(*cause);
            }
        }
    }
    false
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
