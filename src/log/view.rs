//! One state of the log: its segments, and how far the active one may be read.
//!
//! Invariants:
//! - A host's history is the concatenation of what each segment holds of it, by rising number.
//! - A view never changes. What it names stays readable while it is held, also when the files are replaced or
//!   removed meanwhile: maps and open files outlive their names.

use std::fmt;
use std::sync::Arc;

use super::interner::Names;
use super::parts::{Found, Part, Parts, Segments};
use super::standing::Standing;
use super::stored::StoredEvent;
use crate::codec::{Fingerprint, HostState};
use crate::contract::{HostId, IdRef, Result};

/// A stable view of the log for readers.
#[derive(Clone)]
pub struct View {
    segments: Arc<Segments>,
    names: Arc<Names>,
    standing: Arc<Standing>,
    secret: [u8; 16],
    /// Events of the active segment that are in the view.
    visible: u32,
}

/// Without the secret and the names.
impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({} segments, {} events)", self.parts().count(), self.len())
    }
}

impl View {
    /// Takes a view of segments, of whose active one `visible` events are seen.
    pub fn new(segments: Arc<Segments>, names: Arc<Names>, secret: [u8; 16], visible: u32) -> Self {
        Self { segments, names, standing: Arc::default(), secret, visible }
    }

    /// Adds what is told of hosts beside their events.
    #[must_use]
    pub fn with_standing(mut self, standing: Arc<Standing>) -> Self {
        self.standing = standing;
        self
    }

    /// Returns declarations, evicted and pinned ranges.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Returns the names behind the numbers in records.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// Returns the segments.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Lists the segments by rising number.
    pub fn parts(&self) -> Parts<'_> {
        self.segments.parts(self.visible)
    }

    /// Returns the place among [`parts`](Self::parts) of the one in which a host's events from a `seq` on start. Cost: a
    /// look into the directories of those behind it.
    pub fn part_from(&self, host: u32, from: u64) -> usize {
        let starts_before = |part: &Part<'_>| part.host_first(host).is_some_and(|first| first <= from);
        let behind = self.parts().rev().take_while(|part| !starts_before(part)).count();
        let all = self.segments.sealed.len()
            + self.segments.rolled.len()
            + usize::from(self.segments.active.is_some());
        all.saturating_sub(behind + 1)
    }

    /// Gives an event that was found in the view, as a reader gets it.
    pub fn event(&self, found: Found) -> StoredEvent {
        StoredEvent::new(found.record, Arc::clone(&self.names), found.arrival)
    }

    /// Returns the number of events in the view.
    pub fn len(&self) -> u64 {
        self.parts().map(|part| part.events()).sum()
    }

    /// Computes an id's fingerprint.
    pub fn fingerprint(&self, id: IdRef<'_>) -> Fingerprint {
        Fingerprint::of(&self.secret, id)
    }

    /// Finds an event by id. Cost: a probe of the in-memory tables, of each fingerprint table's filter, and one
    /// read of a record for each hit.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn find(&self, id: IdRef<'_>) -> Result<Option<Found>> {
        let fingerprint = self.fingerprint(id);
        let active = self.segments.active.iter().map(|segment| (segment, self.visible));
        let rolled = self.segments.rolled.iter().rev().map(|segment| (segment, segment.visible()));
        for (segment, visible) in active.chain(rolled) {
            let candidates = segment.candidates(fingerprint, visible);
            let found = segment.records(&candidates)?.into_iter().find(|record| record.get().id.get() == id);
            if let Some(record) = found {
                return Ok(Some(Part::Active(segment, visible).found(record)));
            }
        }
        for candidate in self.segments.ids.candidates(fingerprint) {
            let (number, offset) = candidate?;
            let Some(segment) = self.segments.ids.segment(number) else { continue };
            let record = segment.record_at(offset)?;
            if record.get().id.get() == id {
                return Ok(Some(Part::Sealed(segment).found(record)));
            }
        }
        Ok(None)
    }

    /// Finds an event by host number and `seq`.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn at(&self, host: u32, seq: u64) -> Result<Option<Found>> {
        for part in self.parts().rev() {
            if part.host_first(host).is_some_and(|first| first <= seq) {
                // Ranges of a host rise from segment to segment: no other one can hold it.
                let mut reader = part.host_reader(host, seq)?;
                let next = reader.next(1)?.into_iter().next();
                let next = next.filter(|record| record.get().seq().get() == seq);
                return Ok(next.map(|record| part.found(record)));
            }
        }
        Ok(None)
    }

    /// Lists held events that name an id which was not held when they were written.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn namers(&self, id: IdRef<'_>) -> Result<Vec<Found>> {
        let fingerprint = self.fingerprint(id);
        let mut found = Vec::new();
        for part in self.parts() {
            match part {
                Part::Sealed(segment) => {
                    for offset in segment.unresolved(fingerprint)? {
                        found.push(part.found(segment.record_at(offset)?));
                    }
                }
                Part::Active(segment, visible) => {
                    let mut ordinals = segment.index().read().namers(fingerprint).to_vec();
                    ordinals.retain(|ordinal| *ordinal < visible);
                    found.extend(segment.records(&ordinals)?.into_iter().map(|record| part.found(record)));
                }
            }
        }
        found.retain(|found: &Found| found.record.get().causes.iter().any(|cause| cause.id.get() == id));
        Ok(found)
    }

    /// Returns the state of the hosts, by number, at the start of the newest segment: what is known of events that are
    /// gone, by eviction or by a loss that was repaired.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn known_hosts(&self) -> Result<Vec<HostState>> {
        Ok(match self.parts().next_back() {
            Some(Part::Active(segment, _)) => segment.header().state.hosts.clone(),
            Some(Part::Sealed(segment)) => segment.state_after()?.hosts,
            None => Vec::new(),
        })
    }

    /// Lists the hosts that had events before the first segment of the view, with their high marks and the
    /// ids there.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn evicted_highs(&self) -> Result<Vec<(HostId, u64, String)>> {
        let state = match self.parts().next() {
            Some(Part::Sealed(segment)) if segment.first_arrival() > 0 => segment.header()?.state,
            Some(Part::Active(segment, _)) => segment.header().state.clone(),
            _ => return Ok(Vec::new()),
        };
        let highs = state.hosts.into_iter().filter_map(|host| Some((host.name, host.high?, host.last_id)));
        highs.map(|(name, high, last_id)| Ok((HostId::new(&name)?, high, last_id))).collect()
    }

    /// Finds an event by its arrival ordinal in the whole log.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn arrived(&self, arrival: u64) -> Result<Option<Found>> {
        for part in self.parts().rev() {
            let first = part.arrivals_before();
            let Some(ordinal) = arrival.checked_sub(first).and_then(|ordinal| u32::try_from(ordinal).ok())
            else {
                continue;
            };
            let record = match part {
                Part::Sealed(segment) => {
                    segment.arrival(ordinal)?.map(|offset| segment.record_at(offset)).transpose()?
                }
                Part::Active(segment, visible) if ordinal < visible => {
                    segment.records(&[ordinal])?.into_iter().next()
                }
                Part::Active(..) => None,
            };
            return Ok(record.map(|record| Found { record, arrival }));
        }
        Ok(None)
    }
}
