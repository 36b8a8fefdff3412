//! Sets of events that come in any order, such as those of a file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::BufRead;

use crate::codec::{Lines, parse_event, upcast_event};
use crate::contract::{
    Code, Error, ErrorKind, Event, EventFields, IdRef, Result, TypeRegistry, UnknownTypes, Upcasts, same,
};
use crate::order::linearize;

use super::harness::Replay;
use super::invariants::{Found, Invariant};
use super::options::ReplayOptions;
use super::report::{ReplayReport, Violation};
use super::resolve::{NoResolver, Resolver};

/// Reads the events of a JSON lines input in whatever order they come and lifts older versions.
///
/// Each is checked as an append does, but for the rules of its payload: those of a log are for the
/// invariants to judge. Holds all of them in memory.
///
/// # Errors
/// The first line that is refused, by number, and kind `Io` when the input cannot be read.
pub fn read_events(
    input: impl BufRead,
    upcasts: &Upcasts,
    registry: &TypeRegistry,
    unknown: UnknownTypes,
) -> Result<Vec<Event>> {
    let mut lines = Lines::new(input);
    let mut events = Vec::new();
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        let event = line.text.and_then(|text| match upcast_event(text, upcasts, registry, unknown) {
            // The payload is what is looked at last, so all the rest is in order.
            Err(error) if error.code() == Code::Payload => parse_event(text),
            other => other,
        });
        events.push(event.map_err(|error| error.at_line(number))?);
    }
    Ok(events)
}

/// Puts a set of events in its order, then replays it. An event that is given twice counts once.
///
/// # Errors
/// `CYCLE` when the causes form one, `ID` when two events have the same id and other content, and what the
/// resolver fails with.
pub fn replay_set<E: EventFields>(
    events: Vec<E>,
    options: &ReplayOptions,
    resolver: &dyn Resolver,
) -> Result<ReplayReport> {
    let events = distinct(events)?;
    let mut replay = Replay::new(options, resolver);
    for event in linearize(&events)?.into_iter().filter_map(|index| events.get(index)) {
        replay.push(event)?;
    }
    replay.finish()
}

/// Checks I1 to I7 on a set of events and nothing else.
///
/// Violations are listed by invariant as in a report, but within one as the events were given, which is
/// how other implementations answer; a verdict that depends on the set alone comes from [`replay_set`].
///
/// # Errors
/// `CYCLE` when the causes form one, `ID` when two events have the same id and other content.
pub fn check_invariants<E: EventFields>(events: Vec<E>, options: &ReplayOptions) -> Result<Vec<Violation>> {
    let events = distinct(events)?;
    let order = linearize(&events)?;
    let mut replay = Replay::new(&options.clone().check_content(false), &NoResolver);
    for event in order.iter().filter_map(|index| events.get(*index)) {
        replay.push(event)?;
    }
    let mut found = replay.into_findings()?.into_list();
    found.sort_by_key(|found| (reported(found.invariant), found.pass, given(found, &order)));
    Ok(found.into_iter().map(Violation::from).collect())
}

/// Drops repeated events, as an append does.
fn distinct<E: EventFields>(mut events: Vec<E>) -> Result<Vec<E>> {
    let mut first: HashMap<IdRef<'_>, &E> = HashMap::with_capacity(events.len());
    let mut repeated = Vec::new();
    for (index, event) in events.iter().enumerate() {
        match first.entry(event.id()) {
            Entry::Vacant(entry) => {
                entry.insert(event);
            }
            Entry::Occupied(entry) if same(*entry.get(), event)? => repeated.push(index),
            Entry::Occupied(_) => {
                let message = format!("two events with other content have the id {}", event.id());
                return Err(Error::new(ErrorKind::Equivocation, Code::Id, message));
            }
        }
    }
    drop(first);
    let mut repeated = repeated.into_iter().peekable();
    let mut index = 0;
    events.retain(|_| {
        let repeats = repeated.next_if_eq(&index).is_some();
        index += 1;
        !repeats
    });
    Ok(events)
}

fn reported(invariant: Invariant) -> Option<usize> {
    Invariant::REPORTED.iter().position(|other| *other == invariant)
}

/// Returns where the event of a violation stood among those given.
fn given(found: &Found, order: &[usize]) -> Option<usize> {
    let (_, position) = found.event.as_ref()?;
    order.get(usize::try_from(*position).ok()?).copied()
}
