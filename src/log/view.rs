//! One state of the log: its segments, and how far the active one may be read.
//!
//! Invariants:
//! - Segments are listed by rising number: sealed, then rolled, then the active one. Per host, `seq` rises from
//!   one to the next, so a host's history is the concatenation of what each holds of it.
//! - A view never changes. What it names stays readable while it is held, also when the files are replaced or
//!   removed meanwhile: maps and open files outlive their names.

use std::sync::Arc;

use super::active::ActiveSegment;
use super::cursor::HostCursor;
use super::error::LogError;
use super::ids::IdTables;
use super::interner::Names;
use super::recent::Place;
use super::record::Record;
use super::sealed::SealedSegment;
use crate::codec::{Fingerprint, offset_of};
use crate::contract::{HostId, IdRef, Result};

/// The segments of a log.
#[derive(Clone, Debug)]
pub struct Segments {
    /// Sealed segments by rising number.
    pub sealed: Vec<Arc<SealedSegment>>,
    /// Rolled segments that wait to be sealed, by rising number.
    pub rolled: Vec<Arc<ActiveSegment>>,
    /// The segment that takes appends; none in a store that is damaged before it.
    pub active: Option<Arc<ActiveSegment>>,
    /// Fingerprint tables over the sealed segments.
    pub ids: Arc<IdTables>,
}

/// A stable view of the log for readers.
#[derive(Clone, Debug)]
pub struct View {
    segments: Arc<Segments>,
    names: Arc<Names>,
    secret: [u8; 16],
    /// Events of the active segment that are in the view.
    visible: u32,
}

/// An event that was found, and when it arrived.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its record.
    pub record: Record,
    /// Arrival order in the whole log.
    pub arrival: u64,
}

impl Found {
    /// Returns where the event stands.
    pub fn place(&self) -> Place {
        let record = self.record.get();
        Place { host: record.host.to_native(), seq: record.seq().get(), arrival: self.arrival }
    }
}

/// One segment, in either form, as a view sees it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A sealed segment.
    Sealed(&'a Arc<SealedSegment>),
    /// A rolled or active segment, of which so many events are visible.
    Active(&'a Arc<ActiveSegment>, u32),
}

impl View {
    /// Takes a view of segments, of whose active one `visible` events are seen.
    pub fn new(segments: Arc<Segments>, names: Arc<Names>, secret: [u8; 16], visible: u32) -> Self {
        Self { segments, names, secret, visible }
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
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = Part<'_>> {
        let sealed = self.segments.sealed.iter().map(Part::Sealed);
        let rolled = self.segments.rolled.iter().map(|segment| Part::Active(segment, segment.visible()));
        let active = self.segments.active.iter().map(|segment| Part::Active(segment, self.visible));
        sealed.chain(rolled).chain(active)
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
        for part in self.parts().rev() {
            let Part::Active(segment, visible) = part else { break };
            let candidates = segment.candidates(fingerprint, visible);
            let found = segment.records(&candidates)?.into_iter().find(|record| record.get().id.get() == id);
            if let Some(record) = found {
                return Ok(Some(part.found(record)));
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

impl Part<'_> {
    /// Returns the number of events.
    pub fn events(&self) -> u64 {
        match self {
            Self::Sealed(segment) => segment.events(),
            Self::Active(_, visible) => u64::from(*visible),
        }
    }

    /// Returns how many events were written before this segment.
    pub fn arrivals_before(&self) -> u64 {
        match self {
            Self::Sealed(segment) => segment.first_arrival(),
            Self::Active(segment, _) => segment.header().state.arrivals,
        }
    }

    fn found(&self, record: Record) -> Found {
        let arrival = self.arrivals_before() + u64::from(record.ordinal());
        Found { record, arrival }
    }

    /// Returns a host's first `seq` in this segment.
    pub fn host_first(&self, host: u32) -> Option<u64> {
        match self {
            Self::Sealed(segment) => segment.host_entry(host).map(|entry| entry.first_seq),
            Self::Active(segment, visible) => {
                let index = segment.index().read();
                index
                    .of_host(host, 0, *visible)
                    .first()
                    .and_then(|at| index.entry(*at))
                    .map(|entry| entry.seq)
            }
        }
    }

    /// Returns a host's last `seq` and the number of its events in this segment.
    pub fn host_last(&self, host: u32) -> Option<(u64, u64)> {
        match self {
            Self::Sealed(segment) => {
                segment.host_entry(host).map(|entry| (entry.last_seq, entry.events.into()))
            }
            Self::Active(segment, visible) => {
                let index = segment.index().read();
                let list = index.of_host(host, 0, *visible);
                list.last().and_then(|at| index.entry(*at)).map(|entry| (entry.seq, list.len() as u64))
            }
        }
    }

    /// Lists a host's `seq` in this segment as runs: the first, and how many follow one another.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn host_runs(&self, host: u32) -> Result<Vec<(u64, u64)>> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let mut push = |seq: u64| match runs.last_mut() {
            Some((first, len)) if *first + *len == seq => *len += 1,
            _ => runs.push((seq, 1)),
        };
        match self {
            Self::Sealed(segment) => {
                let Some(entry) = segment.host_entry(host) else { return Ok(runs) };
                let (first, last, events) = (entry.first_seq, entry.last_seq, u64::from(entry.events));
                if last - first + 1 == events {
                    return Ok(vec![(first, events)]);
                }
                for record in segment.seek(host, 0)? {
                    push(record?.get().seq().get());
                }
            }
            Self::Active(segment, visible) => {
                let index = segment.index().read();
                let list = index.of_host(host, 0, *visible);
                list.iter().filter_map(|at| index.entry(*at)).for_each(|entry| push(entry.seq));
            }
        }
        Ok(runs)
    }

    /// Lists where a host's events of a type stand in this segment, by rising `seq`: for [`Part::records`].
    ///
    /// # Errors
    /// System calls; damage.
    pub fn places_of_kind(&self, kind: u32, host: u32) -> Result<Vec<u64>> {
        match self {
            Self::Sealed(segment) => {
                let Some(entry) = segment.host_entry(host) else { return Ok(Vec::new()) };
                let (start, end) = (offset_of(entry.start), offset_of(entry.end));
                let within = segment.of_kind(kind)?.skip_while(|at| *at < start).take_while(|at| *at < end);
                Ok(within.collect())
            }
            Self::Active(segment, visible) => {
                let index = segment.index().read();
                let of_host = |at: &&u32| index.entry(**at).is_some_and(|entry| entry.host == host);
                Ok(index.of_kind(kind, *visible).iter().filter(of_host).map(|at| u64::from(*at)).collect())
            }
        }
    }

    /// Counts the events of a type.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn count_of_kind(&self, kind: u32) -> Result<u64> {
        Ok(match self {
            Self::Sealed(segment) => segment.of_kind(kind)?.count() as u64,
            Self::Active(segment, visible) => segment.index().read().of_kind(kind, *visible).len() as u64,
        })
    }

    /// Reads the events at places that this part gave out.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn records(&self, places: &[u64]) -> Result<Vec<Record>> {
        match self {
            Self::Sealed(segment) => places.iter().map(|at| segment.record_at(*at)).collect(),
            Self::Active(segment, _) => {
                let ordinals: Vec<u32> = places.iter().filter_map(|at| u32::try_from(*at).ok()).collect();
                segment.records(&ordinals)
            }
        }
    }

    /// Reads a host's events in this segment from a `seq` on.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn host_reader(&self, host: u32, from: u64) -> Result<HostReader> {
        Ok(HostReader(match self {
            Self::Sealed(segment) => Source::Sealed(segment.seek(host, from)?),
            Self::Active(segment, visible) => {
                let ordinals = segment.index().read().of_host(host, from, *visible).to_vec();
                Source::Active(Arc::clone(segment), ordinals, 0)
            }
        }))
    }
}

/// Events of one host in one segment, by rising `seq`.
#[derive(Debug)]
pub struct HostReader(Source);

#[derive(Debug)]
enum Source {
    Sealed(HostCursor),
    Active(Arc<ActiveSegment>, Vec<u32>, usize),
}

impl HostReader {
    /// Returns up to `most` further events; empty at the end.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn next(&mut self, most: usize) -> Result<Vec<Record>> {
        match &mut self.0 {
            Source::Sealed(cursor) => cursor.take(most).collect(),
            Source::Active(segment, ordinals, at) => {
                let end = (*at + most).min(ordinals.len());
                let records = segment.records(ordinals.get(*at..end).unwrap_or_default())?;
                if records.len() != end - *at {
                    let message = "an event of the index is not in the segment".to_owned();
                    return Err(LogError::Chain(message).at(segment.path(), segment.number(), 0));
                }
                *at = end;
                Ok(records)
            }
        }
    }
}
