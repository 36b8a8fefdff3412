//! The segments of a log in one row, in either form.
//!
//! Invariants:
//! - Segments are listed by rising number, whatever their forms: where a sealed file was damaged and its active form is
//!   still there, a rolled segment stands before sealed ones.
//! - Per host, `seq` rises from one segment to the next.

use std::sync::Arc;

use super::active::ActiveSegment;
use super::cursor::HostCursor;
use super::error::LogError;
use super::ids::IdTables;
use super::recent::Place;
use super::record::Record;
use super::sealed::SealedSegment;
use crate::codec::{ActiveEntry, ControlState};
use crate::contract::Result;
use crate::order::index::EventKey;

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

impl Segments {
    /// Lists the segments by rising number; of the active one, `visible` events are seen.
    pub fn parts(&self, visible: u32) -> Parts<'_> {
        let active = self.active.as_ref().map(|segment| (segment, visible));
        Parts { sealed: &self.sealed, rolled: &self.rolled, active }
    }

    /// Puts a sealed segment in the place of its rolled form.
    pub fn seal(&mut self, segment: Arc<SealedSegment>) {
        let number = segment.number();
        self.rolled.retain(|rolled| rolled.number() != number);
        let at = self.sealed.partition_point(|sealed| sealed.number() < number);
        self.sealed.insert(at, Arc::clone(&segment));
        self.ids = Arc::new(self.ids.with_segment(segment));
    }

    /// Returns the state in which a segment starts; `None` where there is no such segment.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn state_before(&self, number: u64) -> Result<Option<ControlState>> {
        if let Some(sealed) = self.ids.segment(number) {
            return Ok(Some(sealed.header()?.state));
        }
        let found = self.rolled.iter().chain(&self.active).find(|segment| segment.number() == number);
        Ok(found.map(|segment| segment.header().state.clone()))
    }
}

/// The segments of a log by rising number.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    sealed: &'a [Arc<SealedSegment>],
    rolled: &'a [Arc<ActiveSegment>],
    active: Option<(&'a Arc<ActiveSegment>, u32)>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        match (self.sealed.split_first(), self.rolled.split_first()) {
            (Some((sealed, left)), rolled)
                if rolled.is_none_or(|(rolled, _)| sealed.number() < rolled.number()) =>
            {
                self.sealed = left;
                Some(Part::Sealed(sealed))
            }
            (_, Some((rolled, left))) => {
                self.rolled = left;
                Some(Part::Active(rolled, rolled.visible()))
            }
            _ => self.active.take().map(|(segment, visible)| Part::Active(segment, visible)),
        }
    }

    fn nth(&mut self, mut n: usize) -> Option<Part<'a>> {
        // Rolled segments mostly stand behind the sealed ones, which are then passed over at once.
        let behind = |rolled: &Arc<ActiveSegment>| {
            self.sealed.last().is_none_or(|sealed| sealed.number() < rolled.number())
        };
        if self.rolled.first().is_none_or(behind) {
            let skipped = n.min(self.sealed.len());
            self.sealed = self.sealed.get(skipped..).unwrap_or_default();
            n -= skipped;
        }
        for _ in 0..n {
            self.next()?;
        }
        self.next()
    }
}

impl<'a> DoubleEndedIterator for Parts<'a> {
    fn next_back(&mut self) -> Option<Part<'a>> {
        if let Some((segment, visible)) = self.active.take() {
            return Some(Part::Active(segment, visible));
        }
        match (self.sealed.split_last(), self.rolled.split_last()) {
            (Some((sealed, left)), rolled)
                if rolled.is_none_or(|(rolled, _)| sealed.number() > rolled.number()) =>
            {
                self.sealed = left;
                Some(Part::Sealed(sealed))
            }
            (_, rolled) => {
                let (rolled, left) = rolled?;
                self.rolled = left;
                Some(Part::Active(rolled, rolled.visible()))
            }
        }
    }
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
    /// Returns what the order knows the event by.
    pub fn key(&self) -> EventKey {
        let record = self.record.get();
        EventKey { host: record.host.to_native(), seq: record.seq().get() }
    }

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

    /// Says where a record of this segment stands in the whole log.
    pub fn found(&self, record: Record) -> Found {
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

    /// Lists where a host's events of a type stand in this segment, by rising `seq`: for [`Part::records`]. Cost: a
    /// search in a sealed segment; in an active one a walk over the shorter of the host's list and the type's.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn places_of_kind(&self, kind: u32, host: u32) -> Result<Vec<u64>> {
        match self {
            Self::Sealed(segment) => {
                let Some(entry) = segment.host_entry(host) else { return Ok(Vec::new()) };
                Ok(segment.of_kind(kind)?.within(entry.start, entry.end).collect())
            }
            Self::Active(segment, visible) => {
                let index = segment.index().read();
                let both = |entry: &ActiveEntry| entry.host == host && entry.kind == kind;
                let either = index.of_host_or_kind(host, kind, *visible).iter();
                Ok(either.filter(|at| index.entry(**at).is_some_and(both)).map(|at| u64::from(*at)).collect())
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
                Source::Active { segment: Arc::clone(segment), visible: *visible, host, from }
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
    Active {
        segment: Arc<ActiveSegment>,
        visible: u32,
        host: u32,
        /// Events below this `seq` were read.
        from: u64,
    },
}

impl HostReader {
    /// Returns up to `most` further events; empty at the end.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn next(&mut self, most: usize) -> Result<Vec<Record>> {
        match &mut self.0 {
            Source::Sealed(cursor) => cursor.take(most).collect(),
            Source::Active { segment, visible, host, from } => {
                let ordinals: Vec<u32> = {
                    let index = segment.index().read();
                    index.of_host(*host, *from, *visible).iter().take(most).copied().collect()
                };
                let records = segment.records(&ordinals)?;
                if records.len() != ordinals.len() {
                    let message = "an event of the index is not in the segment".to_owned();
                    return Err(LogError::Chain(message).at(segment.path(), segment.number(), 0));
                }
                if let Some(last) = records.last() {
                    *from = last.get().seq().get() + 1;
                }
                Ok(records)
            }
        }
    }
}
