//! What the rules found, listed up to a bound and counted beyond it.

use crate::contract::{EventId, IdRef};

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

    /// Notes that an event breaks an invariant, found once all events were seen.
    pub(super) fn waited(&mut self, invariant: Invariant, id: EventId, position: u64) {
        self.add(invariant, 1, || (Some((id, position)), None));
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
        let reported = Invariant::REPORTED.iter().position(|other| *other == invariant);
        let Some(list) = reported.and_then(|at| self.lists.get_mut(at)) else { return };
        list.total += 1;
        if list.found.len() < self.listed_max {
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
