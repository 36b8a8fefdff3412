//! The newest events by id, in memory: most causes name one of them, and need no look-up on disk.
//!
//! Invariants: bounded to two generations; an answer is exact (whole ids are compared), a miss means nothing; what was
//! dropped from the log is not in it.

use std::collections::HashMap;

use crate::contract::{EventId, IdRef};

/// Events in one generation, at the most.
const GENERATION_MAX: usize = 32_768;

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of its host.
    pub host: u32,
    /// Ordinal within the host.
    pub seq: u64,
    /// Arrival order in the whole log.
    pub arrival: u64,
}

/// Ids of the newest events.
#[derive(Debug, Default)]
pub struct Recent {
    young: HashMap<EventId, Place>,
    old: HashMap<EventId, Place>,
}

impl Recent {
    /// Returns where an event stands, if it is one of the newest.
    pub fn get(&self, id: IdRef<'_>) -> Option<Place> {
        let id = id.to_owned();
        self.young.get(&id).or_else(|| self.old.get(&id)).copied()
    }

    /// Adds an event.
    pub fn insert(&mut self, id: IdRef<'_>, place: Place) {
        if self.young.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id.to_owned(), place);
    }

    /// Forgets the events that arrived before `oldest`.
    pub fn forget(&mut self, oldest: u64) {
        for generation in [&mut self.young, &mut self.old] {
            generation.retain(|_, place| place.arrival >= oldest);
            generation.shrink_to(generation.len() * 2);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}
