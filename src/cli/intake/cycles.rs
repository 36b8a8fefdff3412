//! Events that would close a cycle, among the events of the file or through those of the store.
//!
//! A cycle needs an event that goes in after one that names it, in the file or in the store, so most files
//! are done after a look at the schedule. The rest are put in order by number, at below 32 bytes an
//! event; only where that fails is the place looked for at which each cycle closes. Events of the
//! store are among them, at the same price, where some wait for events of the file; `super::whole` says which.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::against::Against;
use super::arranged::Arranged;
use super::faults::Faults;
use super::links::{ByRank, Link};
use super::schedule::{Schedule, Verdict};
use super::whole::Whole;
use crate::contract::{Code, Error, Result};
use crate::order::{self, CycleGuard, Graph};

/// Fills `cyclic`, and reports the lines.
pub(super) fn find(arranged: &mut Arranged, against: &Against, faults: &mut Faults) -> Result<()> {
    if !any_early(arranged)? {
        return Ok(());
    }
    let whole = Whole::new(arranged, against)?;
    let stuck = match whole.graph()?.linearize() {
        Ok(_) => return Ok(()),
        Err(cycle) => cycle.stuck.into_iter().map(u64::from).collect::<HashSet<u64>>(),
    };
    arranged.cyclic = closing(arranged, &whole, &stuck)?;
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

/// Reads the file's causes by rank; a rank is an event's number in the graph.
pub(super) fn graph(arranged: &Arranged) -> Result<Graph> {
    Whole::new(arranged, &Against::nothing())?.graph()
}

/// Returns the ranks of duplicates, rising.
pub(super) fn duplicates(arranged: &Arranged) -> Result<Vec<u64>> {
    let mut ranks = Vec::new();
    let mut links = arranged.links.records();
    while let Some(record) = links.header()? {
        if let (rank, Link::Duplicate | Link::Repeat(_)) = Link::read(record) {
            ranks.push(rank);
        }
    }
    Ok(ranks)
}

/// Goes through the schedule and returns, sorted, the ranks that close a cycle when their turn comes.
///
/// What closes a cycle stays out, so that the events behind it can go in. All cycles lie among the
/// `stuck` numbers.
fn closing(arranged: &Arranged, whole: &Whole<'_>, stuck: &HashSet<u64>) -> Result<Vec<u64>> {
    let mut causes: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut held = Vec::new();
    whole.each(|number, named| {
        if stuck.contains(&number) {
            causes.insert(number, named.iter().filter(|cause| stuck.contains(cause)).copied().collect());
            held.extend((number >= arranged.events()).then_some(number));
        }
        Ok(())
    })?;
    let mut replay = Replay {
        causes,
        guard: CycleGuard::new(),
        arrivals: HashMap::new(),
        numbers: Vec::new(),
        waiting: HashMap::new(),
    };
    // The store took these.
    for number in held {
        replay.arrives(number);
    }
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
    /// Causes by number.
    causes: HashMap<u64, Vec<u64>>,
    guard: CycleGuard,
    /// Arrival by number, and number by arrival.
    arrivals: HashMap<u64, u64>,
    numbers: Vec<u64>,
    /// By number, the arrivals that name an event which is not there yet.
    waiting: HashMap<u64, Vec<u64>>,
}

impl Replay {
    /// Takes the next event in; `false` when it closes a cycle and stays out.
    fn arrives(&mut self, number: u64) -> bool {
        let own = self.guard.len();
        let causes = self.causes.get(&number).map_or(&[][..], Vec::as_slice);
        let arrival =
            |cause: &u64| if *cause == number { Some(own) } else { self.arrivals.get(cause).copied() };
        let held: Vec<u64> = causes.iter().filter_map(arrival).collect();
        let dependents = self.waiting.get(&number).map_or(&[][..], Vec::as_slice);
        let causes_of = |arrival: u64, out: &mut Vec<u64>| -> Result<(), Infallible> {
            let number = usize::try_from(arrival).ok().and_then(|arrival| self.numbers.get(arrival));
            let causes = number.and_then(|number| self.causes.get(number)).into_iter().flatten();
            out.extend(causes.filter_map(|cause| self.arrivals.get(cause)));
            Ok(())
        };
        let Ok(order::Verdict::Clear(admission)) = self.guard.check(&held, dependents, causes_of) else {
            return false;
        };
        admission.accept();
        self.arrivals.insert(number, own);
        self.numbers.push(number);
        for cause in causes.iter().filter(|cause| !self.arrivals.contains_key(cause)) {
            self.waiting.entry(*cause).or_default().push(own);
        }
        true
    }
}

/// Refuses the lines of events that close a cycle, and those that repeat one.
fn report(arranged: &mut Arranged, faults: &mut Faults) -> Result<()> {
    let mut records = arranged.records.records();
    let mut by_rank = ByRank::new(&arranged.links)?;
    let mut links = Vec::new();
    for rank in 0..arranged.events() {
        let Some(record) = records.header()? else { break };
        by_rank.read(rank, &mut links)?;
        let closes = |rank: &u64| arranged.cyclic.binary_search(rank).is_ok();
        let repeats = matches!(links.first(), Some(Link::Repeat(first)) if closes(first));
        if repeats || closes(&rank) {
            let [_, _, line] = record.key;
            faults.add(line, Error::invalid(Code::Cycle, "the event's causes lead back to it"));
            arranged.duplicates -= u64::from(repeats);
        }
    }
    Ok(())
}
