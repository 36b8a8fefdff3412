//! The order of a snapshot, computed when it is asked for.
//!
//! Events are numbered by `(host, seq)`; a host's numbers are found from runs of consecutive `seq`. Memory:
//! that of [`Graph`], at most 32 bytes an event, while the order is computed; 4 bytes an event afterwards.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::events::HostEvents;
use crate::contract::{Code, Error, Result};
use crate::log::{StoredEvent, View, resolved_causes};
use crate::order::{Graph, Proof};

/// Consecutive events of one host: `seq` from `first` on, numbered from `number` on.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    number: u32,
    len: u32,
}

/// The numbers of all events of a view.
struct Numbering {
    /// By host number.
    hosts: HashMap<u32, Vec<Run>>,
    /// First number and host, by rising number.
    starts: Vec<(u32, u32)>,
    len: u32,
}

impl Numbering {
    fn of(view: &View) -> Result<Self> {
        let mut numbering = Self { hosts: HashMap::new(), starts: Vec::new(), len: 0 };
        for host in view.names().hosts_in_order() {
            let before = numbering.len;
            let mut runs: Vec<Run> = Vec::new();
            for part in view.parts() {
                for (first, len) in part.host_runs(*host)? {
                    numbering.add(&mut runs, first, len)?;
                }
            }
            if numbering.len > before {
                numbering.starts.push((before, *host));
                numbering.hosts.insert(*host, runs);
            }
        }
        Ok(numbering)
    }

    fn add(&mut self, runs: &mut Vec<Run>, first: u64, len: u64) -> Result<()> {
        let too_many = || Error::invalid(Code::Limit, "an order holds at most 2^32 - 1 events");
        let len = u32::try_from(len).map_err(|_| too_many())?;
        match runs.last_mut() {
            Some(run) if run.first + u64::from(run.len) == first => run.len += len,
            _ => runs.push(Run { first, number: self.len, len }),
        }
        self.len = self.len.checked_add(len).ok_or_else(too_many)?;
        Ok(())
    }

    /// Computes the order of all events, as numbers.
    fn order(&self, view: &View) -> Result<Vec<u32>> {
        let events = self.len as usize;
        let mut graph = Graph::with_capacity(events, events + events / 4);
        for (_, host) in &self.starts {
            for event in HostEvents::new(view.clone(), *host, 0, u64::MAX) {
                let causes = causes_of(&event?, view, self)?;
                graph.push(causes).map_err(Error::from)?;
            }
        }
        Ok(graph.linearize()?)
    }

    fn number(&self, host: u32, seq: u64) -> Option<u32> {
        let runs = self.hosts.get(&host)?;
        let run = runs.get(runs.partition_point(|run| run.first <= seq).checked_sub(1)?)?;
        let within = u32::try_from(seq - run.first).ok().filter(|within| *within < run.len)?;
        Some(run.number + within)
    }

    fn place(&self, number: u32) -> Option<(u32, u64)> {
        let at = self.starts.partition_point(|(start, _)| *start <= number).checked_sub(1)?;
        let (_, host) = self.starts.get(at)?;
        let runs = self.hosts.get(host)?;
        let run = runs.get(runs.partition_point(|run| run.number <= number).checked_sub(1)?)?;
        Some((*host, run.first + u64::from(number - run.number)))
    }
}

/// Events in the order.
pub(super) struct Ordered {
    view: View,
    numbering: Numbering,
    order: std::vec::IntoIter<u32>,
    cursors: HashMap<u32, Cursor>,
}

/// Reads one host forward. Almost always the order takes a host's events by rising `seq`; where causes on a
/// host's own later events break that, the event is looked up instead.
struct Cursor {
    events: std::iter::Peekable<HostEvents>,
    /// Events given out ahead of the cursor.
    ahead: BTreeSet<u64>,
}

impl Ordered {
    /// Computes the order of a view. Cost: two passes over the events' heads, and about 50 ns for each.
    ///
    /// # Errors
    /// `CYCLE`, which a store refuses at append, so only damage brings it about; system calls and damage.
    pub(super) fn of(view: View) -> Result<Self> {
        let numbering = Numbering::of(&view)?;
        let order = numbering.order(&view)?;
        Ok(Self { view, numbering, order: order.into_iter(), cursors: HashMap::new() })
    }

    fn advance(&mut self) -> Result<Option<StoredEvent>> {
        let Some(number) = self.order.next() else { return Ok(None) };
        let lost = || Error::corrupt("an event of the order is not held");
        let (host, seq) = self.numbering.place(number).ok_or_else(lost)?;
        let cursor = self.cursors.entry(host).or_insert_with(|| Cursor {
            events: HostEvents::new(self.view.clone(), host, 0, u64::MAX).peekable(),
            ahead: BTreeSet::new(),
        });
        while let Some(event) = cursor.events.next_if(|event| match event {
            Ok(event) => {
                let at = event.record().seq().get();
                at == seq || cursor.ahead.remove(&at)
            }
            Err(_) => true,
        }) {
            let event = event?;
            if event.record().seq().get() == seq {
                return Ok(Some(event));
            }
        }
        cursor.ahead.insert(seq);
        let found = self.view.at(host, seq)?.ok_or_else(lost)?;
        Ok(Some(StoredEvent::new(found.record, Arc::clone(self.view.names()), found.arrival)))
    }
}

impl Iterator for Ordered {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.order.size_hint()
    }
}

fn causes_of(event: &StoredEvent, view: &View, numbering: &Numbering) -> Result<Vec<u32>> {
    let record = event.record();
    let mut causes: Vec<u32> =
        resolved_causes(record).filter_map(|(host, seq)| numbering.number(host, seq)).collect();
    for cause in record.causes.iter().filter(|cause| cause.resolved().is_none()) {
        // It may have arrived since.
        if let Some(found) = view.find(cause.id.get())? {
            let place = found.place();
            causes.extend(numbering.number(place.host, place.seq));
        }
    }
    Ok(causes)
}

/// Computes the order of a view and proves it by the one-pass check. Returns the number of events.
///
/// # Errors
/// `CYCLE`; `Corrupt` when it is not the order; system calls and damage.
pub(super) fn prove(view: &View) -> Result<u64> {
    let numbering = Numbering::of(view)?;
    let order = numbering.order(view)?;
    let mut positions = vec![0u32; order.len()];
    for (position, number) in (0u32..).zip(&order) {
        if let Some(slot) = positions.get_mut(*number as usize) {
            *slot = position;
        }
    }
    // What the order says of each event is read again by number; the proof then runs in the order.
    let mut last_causes = vec![u32::MAX; order.len()];
    let mut slots = last_causes.iter_mut();
    for (_, host) in &numbering.starts {
        for event in HostEvents::new(view.clone(), *host, 0, u64::MAX) {
            let causes = causes_of(&event?, view, &numbering)?;
            let last = causes.iter().filter_map(|cause| positions.get(*cause as usize)).max();
            if let (Some(slot), Some(last)) = (slots.next(), last) {
                *slot = *last;
            }
        }
    }
    let mut proof = Proof::new();
    for number in &order {
        let last = last_causes.get(*number as usize).copied().filter(|last| *last != u32::MAX);
        proof.push(*number, last.map(u64::from))?;
    }
    Ok(order.len() as u64)
}
