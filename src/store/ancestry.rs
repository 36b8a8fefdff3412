//! What an event rests on: its causes, their causes, and so on, depth first.

use std::collections::HashSet;

use crate::contract::{EventFields, EventId, IdRef, Result};
use crate::log::{StoredEvent, View};

/// The event, then what its first cause rests on, then its second, each event once, as the other implementations
/// list it. No recursion: the stack holds ids. Memory: the events seen and those to come.
pub(super) struct Ancestry {
    view: View,
    stack: Vec<EventId>,
    seen: HashSet<u64>,
}

impl Ancestry {
    pub(super) fn new(view: View, id: EventId) -> Self {
        Self { view, stack: vec![id], seen: HashSet::new() }
    }

    fn advance(&mut self) -> Result<Option<StoredEvent>> {
        while let Some(id) = self.stack.pop() {
            let Some(found) = self.view.find(id.as_ref())? else { continue };
            if !self.seen.insert(found.arrival) {
                continue;
            }
            let event = self.view.event(found);
            let first = self.stack.len();
            self.stack.extend(event.causes().map(IdRef::to_owned));
            if let Some(causes) = self.stack.get_mut(first..) {
                causes.reverse();
            }
            return Ok(Some(event));
        }
        Ok(None)
    }
}

impl Iterator for Ancestry {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
