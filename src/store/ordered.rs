//! The order of a snapshot, computed when it is asked for.
//!
//! Events are numbered by `(host, seq)`. Memory: what [`Numbering`] and [`Graph`] take while the order is computed, and
//! the numbering, 4 bytes an event and a read-ahead of fixed size afterwards.

use super::events::HostEvents;
use super::lanes::Lanes;
use super::numbering::Numbering;
use crate::contract::{Error, Result};
use crate::log::{StoredEvent, View};
use crate::order::{Graph, Proof};

/// Events in the order.
pub(super) struct Ordered {
    numbering: Numbering,
    order: std::vec::IntoIter<u32>,
    lanes: Lanes,
}

impl Ordered {
    /// Computes the order of a view. Cost: two passes over the events' heads, and about 50 ns for each.
    ///
    /// # Errors
    /// `CYCLE`, which a store refuses at append, so only damage brings it about; system calls and damage.
    pub(super) fn of(view: View) -> Result<Self> {
        let numbering = Numbering::of(&view)?;
        let order = order_of(&numbering, &view)?;
        let lanes = Lanes::new(view, numbering.hosts().len());
        Ok(Self { numbering, order: order.into_iter(), lanes })
    }

    fn advance(&mut self) -> Result<Option<StoredEvent>> {
        let Some(number) = self.order.next() else { return Ok(None) };
        let lost = || Error::corrupt("an event of the order is not held");
        let place = self.numbering.place(number).ok_or_else(lost)?;
        let event = self.lanes.read(number, &place)?;
        event.filter(|event| event.record().seq().get() == place.seq).map(Some).ok_or_else(lost)
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

/// Computes the order of all events, as numbers.
fn order_of(numbering: &Numbering, view: &View) -> Result<Vec<u32>> {
    let mut graph = Graph::with_capacity(numbering.len() as usize);
    each_causes(numbering, view, |causes| graph.push(causes.iter().copied()).map(drop).map_err(Error::from))?;
    Ok(graph.linearize()?)
}

/// Shows the numbers of each event's held causes, event by event as they are numbered.
fn each_causes(numbering: &Numbering, view: &View, mut show: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
    let mut causes = Vec::new();
    for host in numbering.hosts() {
        for event in HostEvents::new(view.clone(), host, 0, u64::MAX) {
            causes.clear();
            numbering.causes_of(&event?, view, &mut causes)?;
            show(&causes)?;
        }
    }
    Ok(())
}

/// Computes the order of a view and proves it by the one-pass check. Returns the number of events.
///
/// # Errors
/// `CYCLE`; `Corrupt` when it is not the order; system calls and damage.
pub(super) fn prove(view: &View) -> Result<u64> {
    let numbering = Numbering::of(view)?;
    let order = order_of(&numbering, view)?;
    let mut positions = vec![0u32; order.len()];
    for (position, number) in (0u32..).zip(&order) {
        if let Some(slot) = positions.get_mut(*number as usize) {
            *slot = position;
        }
    }
    // What the order says of each event is read again by number; the proof then runs in the order.
    let mut last_causes = vec![u32::MAX; order.len()];
    let mut slots = last_causes.iter_mut();
    each_causes(&numbering, view, |causes| {
        let last = causes.iter().filter_map(|cause| positions.get(*cause as usize)).max();
        if let (Some(slot), Some(last)) = (slots.next(), last) {
            *slot = *last;
        }
        Ok(())
    })?;
    let mut proof = Proof::new();
    for number in &order {
        let last = last_causes.get(*number as usize).copied().filter(|last| *last != u32::MAX);
        proof.push(*number, last.map(u64::from))?;
    }
    Ok(order.len() as u64)
}
