//! Decides at append, exactly, whether an event would close a cycle.
//!
//! Events are known by their arrival, 0, 1, 2 and so on. The guard keeps one order of all arrivals in which
//! every held cause stands before the events that name it; the order of the contract is another matter.
//! While no event arrives after one that names it, arrival itself is such an order, and the guard is one
//! number.
//!
//! Invariants:
//! - for held events `c` and `e` where `e` names `c`, `c` stands before `e`;
//! - a refused or dropped check changes nothing;
//! - what was forgotten and has no place any more stands before everything else.
//!
//! Only events that are not held are forgotten. Such a one is in no `D` and has no causes that anyone could tell, so
//! no search goes on from it and nothing has to move before it; at most it is named as a cause, for which the place
//! before everything else is as good as any. The order of the events that are held stays as it was.
//!
//! A new event `y` has causes `C` and, if it is late, events `D` that named it already. It closes a cycle if
//! and only if some `d` of `D` is a cause, direct or indirect, of some `c` of `C`, or is one. Everything on
//! a path from `d` to `c` stands at or behind the first of `D`. So with no `D`, with no `C`, or with all of
//! `C` before the first of `D` there is no cycle, and `y` has a place; otherwise a search from `C` towards
//! causes, which goes no further than the first of `D`, either meets one of `D`, or else what it visited can
//! move, as it stands, to directly before the first of `D`, with `y` behind it. This is the backward half of
//! Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs" (2006): the forward
//! half needs every event's dependents, which only a late event's are at hand.

use std::collections::HashSet;
use std::fmt;

use super::runs::{Position, Runs};

/// Refuses the event that would close a cycle, at its append.
///
/// # Cost
/// An append that nothing waits for takes a look-up for each cause among the runs of the order, of which
/// there is one until an event comes late. A late event adds at most a few runs of about 60 bytes and
/// one search. Searches visit what stands between the causes and the first dependent of the event;
/// what was visited moves out of the way of the next ones, so a log that arrives host by host visits each
/// event a few times in all. The worst case, made on purpose, is every event at each late one.
///
/// # Example
/// ```
/// use causelog::order::{CycleGuard, Verdict};
///
/// // Event 0 names an event that is not held yet; event 1 is that one, and names event 0.
/// let log: [&[u64]; 1] = [&[]];
/// let mut guard = CycleGuard::new();
/// let mut causes_of = |arrival: u64, causes: &mut Vec<u64>| -> std::io::Result<()> {
///     causes.extend(log[arrival as usize]);
///     Ok(())
/// };
/// let Verdict::Clear(admission) = guard.check(&[], &[], &mut causes_of)? else { panic!() };
/// admission.accept();
/// let Verdict::Cycle(path) = guard.check(&[0], &[0], &mut causes_of)? else { panic!() };
/// assert_eq!(path, [0, 1]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CycleGuard {
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// The order of all arrivals.
    Known { runs: Runs, len: u64 },
    /// Some events of the history came late, and no order was given yet.
    Unknown { len: u64 },
}

/// What a check found.
#[derive(Debug)]
pub enum Verdict<'g> {
    /// No cycle. The event counts once [`Admission::accept`] is called.
    Clear(Admission<'g>),
    /// The event would close a cycle: each arrival is a cause of the next, the last is the event's own,
    /// and the event is a cause of the first.
    Cycle(Vec<u64>),
    /// The guard was opened over a history with late causes and now needs its order: call
    /// [`CycleGuard::rebuild`], then check again.
    NeedsOrder,
}

/// Leave to append one event. Dropping it changes nothing.
#[derive(Debug)]
#[must_use = "the event does not count until it is accepted"]
pub struct Admission<'g> {
    state: &'g mut State,
    plan: Plan,
}

#[derive(Debug)]
enum Plan {
    /// Only count it: the order is not known.
    Count,
    /// Directly behind the arrival before it.
    Extend,
    /// Last.
    Last,
    /// Directly before an arrival, with others in front of it.
    Before { at: u64, moved: Vec<Position> },
}

/// An order that does not name each arrival once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnOrder;

impl CycleGuard {
    /// Creates the guard of an empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::from_history(false, 0)
    }

    /// Creates the guard of a history of `len` events. `late_causes` tells whether any of them arrived
    /// after an event that names it; if in doubt, it is true.
    ///
    /// O(1) either way: with late causes the order is asked for when a check first depends on it, by
    /// [`Verdict::NeedsOrder`].
    #[must_use]
    pub fn from_history(late_causes: bool, len: u64) -> Self {
        let state = if late_causes {
            State::Unknown { len }
        } else {
            State::Known { runs: Runs::of_arrival(len), len }
        };
        Self { state }
    }

    /// Gives the guard the order of all its arrivals: any in which causes stand first. The one closest to
    /// arrival needs the least memory; it is what [`Graph`](super::Graph) gives for arrivals as numbers.
    ///
    /// O(n log n).
    ///
    /// # Errors
    /// [`NotAnOrder`] unless each of `0..len` comes exactly once; the guard is then as before. Whether causes
    /// stand first is the caller's word.
    pub fn rebuild(&mut self, order: impl IntoIterator<Item = u64>) -> Result<(), NotAnOrder> {
        let len = self.len();
        let runs = Runs::of_order(order, len).ok_or(NotAnOrder)?;
        self.state = State::Known { runs, len };
        Ok(())
    }

    /// Forgets what is known of the arrivals before `oldest`, none of which is held any longer: of them none may be
    /// told as a dependent again. What is left takes no more runs than events are held, and one.
    pub fn forget(&mut self, oldest: u64) {
        if let State::Known { runs, .. } = &mut self.state {
            runs.forget(oldest);
        }
    }

    /// Returns the number of events accepted; the next one's arrival.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self.state {
            State::Known { len, .. } | State::Unknown { len } => len,
        }
    }

    /// Reports whether no event was accepted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of runs that the order is kept as; 0 while it is not known.
    #[must_use]
    pub fn runs(&self) -> usize {
        match &self.state {
            State::Known { runs, .. } => runs.count(),
            State::Unknown { .. } => 0,
        }
    }

    /// Decides whether the next event would close a cycle.
    ///
    /// `causes` are the arrivals of its held causes, its own arrival [`len`](Self::len) where it names
    /// itself; `dependents` are the held events that name it. Either may repeat. `causes_of` appends the
    /// held causes of an event to the list; it is called once for each event a search visits.
    ///
    /// An event that is no longer held may stay in the order and may be left out of every answer; among `dependents`
    /// it must not be.
    ///
    /// # Errors
    /// Those of `causes_of`.
    pub fn check<E>(
        &mut self,
        causes: &[u64],
        dependents: &[u64],
        causes_of: impl FnMut(u64, &mut Vec<u64>) -> Result<(), E>,
    ) -> Result<Verdict<'_>, E> {
        let own = self.len();
        if causes.contains(&own) {
            return Ok(Verdict::Cycle(vec![own]));
        }
        let runs = match &self.state {
            State::Known { runs, .. } => runs,
            State::Unknown { .. } if causes.is_empty() || dependents.is_empty() => {
                return Ok(Verdict::Clear(Admission { state: &mut self.state, plan: Plan::Count }));
            }
            State::Unknown { .. } => return Ok(Verdict::NeedsOrder),
        };
        let position = |arrival: &u64| runs.position(*arrival);
        let last_cause = causes.iter().map(position).max();
        let first_dependent = dependents.iter().map(position).min();
        let before = own.checked_sub(1).map(|arrival| runs.position(arrival));
        // Behind the arrival before it, an event extends a run instead of making one.
        let extends = before >= last_cause
            && before.is_some()
            && first_dependent.is_none_or(|first| before < Some(first));
        let plan = match first_dependent {
            _ if extends => Plan::Extend,
            None => Plan::Last,
            Some(first) if last_cause < Some(first) => Plan::Before { at: first.arrival, moved: Vec::new() },
            Some(first) => match search(runs, own, causes, dependents, first, causes_of)? {
                Found::Cycle(path) => return Ok(Verdict::Cycle(path)),
                Found::Visited(moved) => Plan::Before { at: first.arrival, moved },
            },
        };
        Ok(Verdict::Clear(Admission { state: &mut self.state, plan }))
    }
}

impl Default for CycleGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Admission<'_> {
    /// Counts the event, as appended. O(log runs) for each event the check's search visited.
    pub fn accept(self) {
        match self.state {
            State::Unknown { len } => *len += 1,
            State::Known { runs, len } => {
                match self.plan {
                    Plan::Extend => runs.extend(*len),
                    Plan::Before { at, moved } => runs.move_before(at, &moved, *len),
                    Plan::Last | Plan::Count => runs.push_last(*len),
                }
                *len += 1;
            }
        }
    }
}

enum Found {
    Cycle(Vec<u64>),
    Visited(Vec<Position>),
}

/// Visits the causes of `own`, direct and indirect, that stand at or behind `first`.
fn search<E>(
    runs: &Runs,
    own: u64,
    causes: &[u64],
    dependents: &[u64],
    first: Position,
    mut causes_of: impl FnMut(u64, &mut Vec<u64>) -> Result<(), E>,
) -> Result<Found, E> {
    let mut closing = dependents.to_vec();
    closing.sort_unstable();
    let mut seen = HashSet::new();
    // Each with the place in this list of the event that named it; the list is the queue as well, so the
    // path found is a shortest one.
    let mut visited: Vec<(Position, Option<usize>)> = Vec::new();
    let mut named = causes.to_vec();
    let mut namer = None;
    let mut next = 0;
    loop {
        for arrival in named.drain(..) {
            let position = runs.position(arrival);
            if arrival < own && position >= first && seen.insert(arrival) {
                visited.push((position, namer));
            }
        }
        let Some((position, _)) = visited.get(next) else { break };
        if closing.binary_search(&position.arrival).is_ok() {
            return Ok(Found::Cycle(path(&visited, next, own)));
        }
        causes_of(position.arrival, &mut named)?;
        namer = Some(next);
        next += 1;
    }
    let mut visited: Vec<Position> = visited.into_iter().map(|(position, _)| position).collect();
    visited.sort_unstable();
    Ok(Found::Visited(visited))
}

/// Returns the way from a visited event to the one that the search began for.
fn path(visited: &[(Position, Option<usize>)], from: usize, own: u64) -> Vec<u64> {
    let mut path = Vec::new();
    let mut place = Some(from);
    while let Some((position, namer)) = place.and_then(|place| visited.get(place)) {
        path.push(position.arrival);
        place = *namer;
    }
    path.push(own);
    path
}

impl fmt::Display for NotAnOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an order of all arrivals")
    }
}

impl std::error::Error for NotAnOrder {}

#[cfg(test)]
mod tests;
