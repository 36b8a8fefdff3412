//! What the rules found, listed up to a bound and counted beyond it.

use crate::contract::{EventId, IdRef, Result};
use crate::replay::state::{First, In, Out, Wire, damaged};

use super::Invariant;

/// A violation, with what is needed to list it in another order.
#[derive(Clone, Debug)]
pub(in crate::replay) struct Found {
    pub(in crate::replay) invariant: Invariant,
    /// The event's id and position, or `None` where the violation is one of the set.
    pub(in crate::replay) event: Option<(EventId, u64)>,
    pub(in crate::replay) detail: Option<String>,
    /// 1 for what a rule finds in a second pass over the set, as the other implementations run it.
    pub(in crate::replay) pass: u8,
}

/// Everything found, by invariant.
#[derive(Debug)]
pub(in crate::replay) struct Findings {
    lists: [List; Invariant::REPORTED.len()],
    listed_max: usize,
}

#[derive(Debug, Default)]
struct List {
    found: Vec<Found>,
    total: u64,
}

impl Findings {
    pub(super) fn new(listed_max: usize) -> Self {
        Self { lists: Default::default(), listed_max }
    }

    /// Notes that an event breaks an invariant.
    pub(super) fn event(&mut self, invariant: Invariant, id: IdRef<'_>, position: u64) {
        self.add(invariant, 0, || (Some((id.to_owned(), position)), None));
    }

    /// Notes events that break an invariant, found once all events were seen.
    pub(super) fn waited(&mut self, invariant: Invariant, lost: First<EventId>) {
        let (lost, others) = lost.finish();
        for (position, id) in lost {
            self.add(invariant, 1, || (Some((id, position)), None));
        }
        self.more(invariant, others);
    }

    /// Counts further violations of an invariant, which are not listed.
    pub(super) fn more(&mut self, invariant: Invariant, others: u64) {
        if let Some(list) = self.list(invariant) {
            list.total += others;
        }
    }

    fn list(&mut self, invariant: Invariant) -> Option<&mut List> {
        let reported = Invariant::REPORTED.iter().position(|other| *other == invariant);
        reported.and_then(|at| self.lists.get_mut(at))
    }

    /// Notes that the set breaks an invariant. The detail holds no text of a payload.
    pub(super) fn set(&mut self, invariant: Invariant, detail: impl FnOnce() -> String) {
        self.add(invariant, 0, || (None, Some(detail())));
    }

    /// Notes that an event breaks an invariant, and how. The detail holds no text of a payload.
    pub(super) fn event_with(&mut self, invariant: Invariant, id: EventId, position: u64, detail: String) {
        self.add(invariant, 0, || (Some((id, position)), Some(detail)));
    }

    fn add(
        &mut self,
        invariant: Invariant,
        pass: u8,
        make: impl FnOnce() -> (Option<(EventId, u64)>, Option<String>),
    ) {
        let listed_max = self.listed_max;
        let Some(list) = self.list(invariant) else { return };
        list.total += 1;
        if list.found.len() < listed_max {
            let (event, detail) = make();
            list.found.push(Found { invariant, event, detail, pass });
        }
    }

    /// Returns the number of violations, listed or not.
    pub(in crate::replay) fn total(&self) -> u64 {
        self.lists.iter().map(|list| list.total).sum()
    }

    /// Returns the number of violations of one invariant, listed or not.
    pub(in crate::replay) fn total_of(&self, invariant: Invariant) -> u64 {
        let lists = Invariant::REPORTED.iter().zip(&self.lists);
        lists.filter(|(other, _)| **other == invariant).map(|(_, list)| list.total).sum()
    }

    /// Returns the violations: by invariant as every implementation reports them, then by the order.
    pub(in crate::replay) fn into_list(self) -> Vec<Found> {
        self.lists.into_iter().flat_map(|list| list.found).collect()
    }
}

impl Findings {
    pub(super) fn write(&self, out: &mut Out<'_>) -> Result<()> {
        for list in &self.lists {
            list.total.write(out)?;
            list.found.write(out)?;
        }
        Ok(())
    }

    pub(super) fn read(listed_max: usize, from: &mut In<'_>) -> Result<Self> {
        let mut findings = Self::new(listed_max);
        for list in &mut findings.lists {
            *list = List { total: Wire::read(from)?, found: Wire::read(from)? };
        }
        Ok(findings)
    }
}

impl Wire for Found {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.invariant.write(out)?;
        self.event.write(out)?;
        self.detail.write(out)?;
        self.pass.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (invariant, event) = (Wire::read(from)?, Wire::read(from)?);
        Ok(Self { invariant, event, detail: Wire::read(from)?, pass: Wire::read(from)? })
    }
}

impl Wire for Invariant {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        let number = Self::REPORTED.iter().position(|other| other == self);
        number.and_then(|number| u8::try_from(number).ok()).unwrap_or(u8::MAX).write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let number = usize::from(u8::read(from)?);
        Self::REPORTED.get(number).copied().ok_or_else(damaged)
    }
}
