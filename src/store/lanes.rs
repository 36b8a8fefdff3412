//! Reading many hosts at once, each forward, with a read-ahead that is bounded for all of them together.

use std::collections::VecDeque;

use super::events::HostEvents;
use crate::contract::{Error, EventFields, Result};
use crate::log::{StoredEvent, View};

/// Hosts that are read at once, at the most. With more, the one that was begun first starts again.
const LANES_MAX: usize = 512;

/// Events that are read ahead, and as many that were passed over, over all hosts.
const AHEAD_MAX: usize = 1_024;

/// One reader a host, for hosts whose events are almost always asked for one after the other, or nearly so.
///
/// Invariant: `open` names the hosts that have a lane, and they are at most [`LANES_MAX`].
pub(super) struct Lanes {
    view: View,
    /// By number of the host.
    lanes: Vec<Option<Box<Lane>>>,
    /// In the sequence in which they were begun.
    open: VecDeque<u32>,
    /// Events that a lane reads at once, and passes over, at the most.
    fetch: usize,
}

struct Lane {
    ahead: HostEvents,
    /// Events that were passed over because a later one was asked for first, by rising `seq`.
    passed: VecDeque<StoredEvent>,
    /// The last `seq` that was read.
    last: Option<u64>,
}

impl Lanes {
    /// Starts to read a view in which so many hosts hold events.
    pub(super) fn new(view: View, hosts: usize) -> Self {
        let fetch = AHEAD_MAX / hosts.clamp(1, LANES_MAX);
        Self { view, lanes: Vec::new(), open: VecDeque::new(), fetch }
    }

    /// Reads an event that is held. Cost: mostly a look into memory; a look-up where it is far from the last one that was
    /// read of its host.
    ///
    /// # Errors
    /// `Corrupt` where it is not in the log; system calls; damage.
    pub(super) fn read(&mut self, host: u32, seq: u64) -> Result<StoredEvent> {
        let at = host as usize;
        if self.lanes.len() <= at {
            self.lanes.resize_with(at + 1, || None);
        }
        if self.lanes.get(at).is_none_or(Option::is_none) {
            self.begin(host, seq);
        }
        let fetch = self.fetch;
        if let Some(Some(lane)) = self.lanes.get_mut(at)
            && let Some(event) = lane.read(seq, fetch)?
        {
            return Ok(event);
        }
        let found = self.view.at(host, seq)?;
        found.map(|found| self.view.event(found)).ok_or_else(|| {
            let name = self.view.names().host(host).unwrap_or_default();
            Error::corrupt(format!("{name}#{seq} is in the order and not in the log"))
        })
    }

    fn begin(&mut self, host: u32, seq: u64) {
        if self.open.len() >= LANES_MAX
            && let Some(oldest) = self.open.pop_front()
            && let Some(lane) = self.lanes.get_mut(oldest as usize)
        {
            *lane = None;
        }
        self.open.push_back(host);
        let ahead = HostEvents::new(self.view.clone(), host, seq, u64::MAX).fetching(self.fetch);
        if let Some(lane) = self.lanes.get_mut(host as usize) {
            *lane = Some(Box::new(Lane { ahead, passed: VecDeque::new(), last: None }));
        }
    }
}

impl Lane {
    /// Reads an event if it is near; passes over at most so many for it, and keeps them.
    fn read(&mut self, seq: u64, most: usize) -> Result<Option<StoredEvent>> {
        if self.last.is_some_and(|last| seq <= last) {
            let at = self.passed.partition_point(|event| event.seq().get() < seq);
            let is_it = self.passed.get(at).is_some_and(|event| event.seq().get() == seq);
            return Ok(if is_it { self.passed.remove(at) } else { None });
        }
        for _ in 0..=most {
            let Some(event) = self.ahead.next().transpose()? else { return Ok(None) };
            let read = event.seq().get();
            self.last = Some(read);
            if read == seq {
                return Ok(Some(event));
            }
            if self.passed.len() >= most {
                self.passed.pop_front();
            }
            self.passed.push_back(event);
            if read > seq {
                return Ok(None);
            }
        }
        Ok(None)
    }
}
