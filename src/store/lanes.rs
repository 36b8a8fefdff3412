//! Reading many hosts at once, each forward, with a read-ahead that is bounded for all of them together.

use std::collections::HashMap;

use super::events::HostEvents;
use super::numbering::Numbered;
use crate::contract::Result;
use crate::log::{StoredEvent, View};

/// Hosts that are read at once, at the most. With more, those that were not asked for lately start again.
const LANES_MAX: usize = 512;

/// Events that are read ahead, over all hosts.
const AHEAD_MAX: usize = 1_024;

/// One reader a host, for hosts whose events are almost always asked for one after the other.
///
/// Invariant: a host is in at most one of the generations, and together they are at most [`LANES_MAX`].
pub(super) struct Lanes {
    view: View,
    young: HashMap<u32, Lane>,
    old: HashMap<u32, Lane>,
    /// Events that a lane reads at once, at the most.
    fetch: usize,
}

struct Lane {
    /// The number of the event that comes next.
    next: u32,
    events: HostEvents,
}

impl Lanes {
    /// Starts to read a view in which so many hosts hold events.
    pub(super) fn new(view: View, hosts: usize) -> Self {
        let fetch = AHEAD_MAX / hosts.clamp(1, LANES_MAX);
        Self { view, young: HashMap::new(), old: HashMap::new(), fetch }
    }

    /// Reads an event; `None` where nothing is held from its `seq` on. Cost: mostly a look into memory; a look-up where
    /// it is not the one behind the last that was read of its host.
    ///
    /// # Errors
    /// System calls; damage.
    pub(super) fn read(&mut self, number: u32, place: &Numbered) -> Result<Option<StoredEvent>> {
        if !self.young.contains_key(&place.host) {
            if self.young.len() >= LANES_MAX / 2 {
                self.old = std::mem::take(&mut self.young);
            }
            if let Some(lane) = self.old.remove(&place.host) {
                self.young.insert(place.host, lane);
            }
        }
        let open = || Lane {
            next: number,
            events: HostEvents::new(self.view.clone(), place.host, place.seq, u64::MAX).fetching(self.fetch),
        };
        let lane = self.young.entry(place.host).or_insert_with(open);
        if lane.next != number {
            *lane = open();
        }
        let event = lane.events.next().transpose()?;
        lane.next = number + 1;
        if place.last {
            self.young.remove(&place.host);
        }
        Ok(event)
    }
}
