//! What an event rests on: its causes, their causes, and so on, breadth first.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::contract::{EventFields, EventId, Result};
use crate::log::{StoredEvent, View};

/// The event, then its held causes breadth first, each once. Memory: the events seen and those to come.
pub(super) struct Ancestry {
    view: View,
    queue: VecDeque<EventId>,
    seen: HashSet<u64>,
}

impl Ancestry {
    pub(super) fn new(view: View, id: EventId) -> Self {
        Self { view, queue: VecDeque::from([id]), seen: HashSet::new() }
    }

    fn advance(&mut self) -> Result<Option<StoredEvent>> {
        while let Some(id) = self.queue.pop_front() {
            let Some(found) = self.view.find(id.as_ref())? else { continue };
            if !self.seen.insert(found.arrival) {
                continue;
            }
            let event = StoredEvent::new(found.record, Arc::clone(self.view.names()), found.arrival);
            self.queue.extend(event.causes().map(crate::contract::IdRef::to_owned));
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
