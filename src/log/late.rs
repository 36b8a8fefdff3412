//! Causes that come late: refusing the event that would close a cycle.
//!
//! The guard of the order layer knows events by arrival; this gives it the log to search in.

use super::parts::Found;
use super::recent::Place;
use super::stored::resolved_causes;
use super::view::View;
use crate::codec::ControlState;
use crate::contract::{Code, Error, IdRef, Result};
use crate::order::{CycleGuard, Graph, Verdict};

/// A cause as an event names it, and where it stands if it is held.
pub type Cause<'e> = (IdRef<'e>, Option<Place>);

/// Creates the guard of a log in this state.
pub fn guard_of(state: &ControlState) -> CycleGuard {
    CycleGuard::from_history(state.late_causes, state.arrivals)
}

/// Checks the next event with the guard, then takes it in with `stage`, and counts it if that stored it.
///
/// # Errors
/// `CYCLE` with the ids on it; what `stage` returns; system calls and damage.
pub fn admit<T>(
    guard: &mut CycleGuard,
    id: IdRef<'_>,
    causes: &[Cause<'_>],
    namers: &[Found],
    view: &View,
    stage: impl FnOnce() -> Result<(T, bool)>,
) -> Result<T> {
    let own = guard.len();
    let mut held: Vec<u64> =
        causes.iter().filter_map(|(_, place)| place.map(|place| place.arrival)).collect();
    if causes.iter().any(|(cause, _)| *cause == id) {
        held.push(own);
    }
    let late: Vec<u64> = namers.iter().map(|found| found.arrival).collect();
    let causes_of = |arrival: u64, out: &mut Vec<u64>| causes_of(view, arrival, out);
    // A guard without an order does not search, so nothing is searched twice.
    if guard.runs() == 0 && matches!(guard.check(&held, &late, causes_of)?, Verdict::NeedsOrder) {
        let order = arrival_order(view, own)?;
        guard.rebuild(order).map_err(|_| Error::corrupt("the log's arrivals are not numbered one by one"))?;
    }
    match guard.check(&held, &late, causes_of)? {
        Verdict::Clear(admission) => {
            let (value, stored) = stage()?;
            if stored {
                admission.accept();
            }
            Ok(value)
        }
        Verdict::Cycle(path) => Err(cycle(id, own, &path, view)),
        Verdict::NeedsOrder => Err(Error::corrupt("the log's arrivals have no order")),
    }
}

fn cycle(id: IdRef<'_>, own: u64, path: &[u64], view: &View) -> Error {
    const SHOWN_MAX: usize = 8;
    let mut names: Vec<String> = path
        .iter()
        .filter(|arrival| **arrival != own)
        .take(SHOWN_MAX)
        .filter_map(|arrival| view.arrived(*arrival).ok().flatten())
        .map(|found| found.record.get().id.get().to_string())
        .collect();
    if path.len() > SHOWN_MAX {
        names.push(format!("{} more", path.len() - SHOWN_MAX));
    }
    names.insert(0, id.to_string());
    Error::invalid(Code::Cycle, format!("event {id} would close a cycle of causes: {}", names.join(" -> ")))
}

/// Appends the arrivals of an event's held causes.
///
/// # Errors
/// System calls; damage.
pub fn causes_of(view: &View, arrival: u64, out: &mut Vec<u64>) -> Result<()> {
    let Some(found) = view.arrived(arrival)? else { return Ok(()) };
    let record = found.record.get();
    for (host, seq) in resolved_causes(record) {
        out.extend(view.at(host, seq)?.map(|cause| cause.arrival));
    }
    for cause in record.causes.iter().filter(|cause| cause.resolved().is_none()) {
        out.extend(view.find(cause.id.get())?.map(|cause| cause.arrival));
    }
    Ok(())
}

/// Puts all arrivals in an order in which causes stand first. Cost: a look-up for each cause of the log;
/// needed once after a log with late causes is opened, when the next event comes late.
fn arrival_order(view: &View, len: u64) -> Result<Vec<u64>> {
    let too_many = |_| Error::invalid(Code::Limit, "a log with late causes holds at most 2^32 events");
    let events = usize::try_from(len).unwrap_or(usize::MAX);
    let mut graph = Graph::with_capacity(events);
    let mut causes = Vec::new();
    for arrival in 0..len {
        causes.clear();
        causes_of(view, arrival, &mut causes)?;
        let numbers: Vec<u32> =
            causes.iter().map(|cause| u32::try_from(*cause)).collect::<Result<_, _>>().map_err(too_many)?;
        graph
            .push(numbers)
            .map_err(|_| Error::invalid(Code::Limit, "a log with late causes is too large"))?;
    }
    let order = graph.linearize().map_err(|_| Error::corrupt("the log's causes form a cycle"))?;
    Ok(order.into_iter().map(u64::from).collect())
}
