//! Control records: what the log says about itself, and the state they add up to.
//!
//! Invariants:
//! - The state of a segment's header is the fold of every control record and event before that segment;
//!   a reader that holds one header and the frames behind it knows everything.
//! - Hosts and types are numbered from 0 in the order in which they were first written, without gaps; a
//!   number never changes its meaning.
//! - High marks only rise, and stay when events are evicted or lost.
//! - Counts of a state that is read lie far below what a `u64` holds, and every `seq` within the contract's limit, so
//!   that counting on from them never overflows.
//! - Once a host is declared, it stays so; what it promises can change.
//! - A host or type whose name was lost keeps its number and has an empty name; no event bears it.

use rkyv::rancor;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize};

use super::ranges::{HostRange, RangeKind, Ranges};
use crate::contract::limits::SEQ_MAX;

/// Most events that a state can count: as many as one host has values of `seq`.
const EVENTS_MAX: u64 = SEQ_MAX;

/// A control record.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub enum Control {
    /// The next host number stands for this name.
    HostDefined {
        /// The host's name.
        name: String,
    },
    /// The next type number stands for this name.
    TypeDefined {
        /// The type, `family.kind`.
        name: String,
    },
    /// What a host promises from here on.
    HostDeclared {
        /// The host's number.
        host: u32,
        /// Each event names its host's previous one.
        chained: bool,
        /// No further event of this host will come.
        closed: bool,
    },
    /// Events that were held and are not any more.
    Evicted(EvictedRange),
    /// A segment was sealed and has this root.
    SegmentSealed {
        /// The segment's number.
        segment: u64,
        /// BLAKE3 of its sealed file.
        root: [u8; 32],
    },
    /// From here on some event was written after an event that names it.
    LateCauses,
    /// The store is to be opened for reading alone, for this reason; an empty reason lifts it.
    ReadOnly {
        /// A line for people.
        reason: String,
    },
    /// Frames were lost and the store was repaired.
    Repaired {
        /// The segment that was damaged.
        segment: u64,
        /// Events that could not be read again, as far as it is known.
        lost: u64,
    },
    /// No eviction takes this event.
    Pinned {
        /// The host's number.
        host: u32,
        /// The event's `seq`.
        seq: u64,
    },
    /// An eviction may take this event again.
    Unpinned {
        /// The host's number.
        host: u32,
        /// The event's `seq`.
        seq: u64,
    },
    /// A sealed segment is about to be replaced by one without its evicted events, which has this root.
    Rewriting {
        /// The segment's number.
        segment: u64,
        /// BLAKE3 of the sealed file that takes its place.
        root: [u8; 32],
    },
}

/// A range of one host's events that were held and evicted.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct EvictedRange {
    /// The host's number.
    pub host: u32,
    /// First `seq` of the range.
    pub first: u64,
    /// Last `seq` of the range.
    pub last: u64,
}

/// A segment that was damaged or missing, and repaired around.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct RepairedSegment {
    /// The segment's number.
    pub segment: u64,
    /// Its events that could not be read again, as far as it is known.
    pub lost: u64,
}

/// What is known of one host.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct HostState {
    /// The name.
    pub name: String,
    /// Highest `seq` ever held; `None` before the first event.
    pub high: Option<u64>,
    /// Id of the event at `high`; empty before the first event.
    pub last_id: String,
    /// Events written, evicted ones included.
    pub events: u64,
    /// Each event names its host's previous one.
    pub chained: bool,
    /// No further event will come.
    pub closed: bool,
    /// The host was declared.
    pub declared: bool,
}

/// What all control records and events up to a point add up to.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[rkyv(derive(Debug))]
pub struct ControlState {
    /// Hosts by number.
    pub hosts: Vec<HostState>,
    /// Types by number.
    pub types: Vec<String>,
    /// What was evicted and what is pinned.
    pub ranges: Ranges,
    /// Why the store is read-only; empty when it is not.
    pub read_only: String,
    /// Events written before this point, evicted ones included: the next event's arrival ordinal.
    pub arrivals: u64,
    /// Some held event was written after an event that names it.
    pub late_causes: bool,
    /// Segments that were damaged and repaired around, each once.
    pub repaired: Vec<RepairedSegment>,
}

// The format is fixed.
const _: () = assert!(size_of::<ArchivedControlState>() == 56 && size_of::<ArchivedRepairedSegment>() == 16);
const _: () = assert!(std::mem::offset_of!(ArchivedControlState, repaired) == 44);
const _: () = assert!(size_of::<ArchivedHostState>() == 48 && size_of::<ArchivedControl>() == 48);
const _: () = assert!(std::mem::offset_of!(ArchivedHostState, declared) == 42);

impl ControlState {
    /// Applies a control record.
    ///
    /// # Errors
    /// When the record names a host that is not defined, or what is no range.
    pub fn apply(&mut self, control: &Control) -> Result<(), String> {
        match control {
            Control::HostDefined { name } => {
                self.hosts.push(HostState { name: name.clone(), ..HostState::default() });
            }
            Control::TypeDefined { name } => self.types.push(name.clone()),
            Control::HostDeclared { host, chained, closed } => {
                let state = self.host_mut(*host)?;
                state.chained = *chained;
                state.closed = *closed;
                state.declared = true;
            }
            Control::Evicted(EvictedRange { host, first, last }) => {
                self.host_mut(*host)?;
                let (host, first, last) = (*host, *first, *last);
                self.ranges.insert(HostRange { host, kind: RangeKind::Evicted, first, last })?;
            }
            Control::Pinned { host, seq } => {
                self.host_mut(*host)?;
                let kind = RangeKind::Pinned;
                self.ranges.insert(HostRange { host: *host, kind, first: *seq, last: *seq })?;
            }
            Control::Unpinned { host, seq } => self.ranges.remove(RangeKind::Pinned, *host, *seq),
            Control::SegmentSealed { .. } | Control::Rewriting { .. } => {}
            Control::LateCauses => self.late_causes = true,
            Control::ReadOnly { reason } => self.read_only.clone_from(reason),
            Control::Repaired { segment, lost } => self.count_lost(*segment, *lost),
        }
        Ok(())
    }

    fn count_lost(&mut self, segment: u64, lost: u64) {
        match self.repaired.iter_mut().find(|repaired| repaired.segment == segment) {
            Some(repaired) => repaired.lost = repaired.lost.saturating_add(lost),
            None => self.repaired.push(RepairedSegment { segment, lost }),
        }
    }

    /// Returns how many events were lost to damage and repaired around, as far as it is known.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.repaired.iter().fold(0, |sum, repaired| sum.saturating_add(repaired.lost))
    }

    /// Returns how many events a segment lost; `None` when it was never repaired.
    #[must_use]
    pub fn lost_of(&self, segment: u64) -> Option<u64> {
        self.repaired.iter().find(|repaired| repaired.segment == segment).map(|repaired| repaired.lost)
    }

    /// Counts an event of a host.
    ///
    /// # Errors
    /// When the host is not defined, or its `seq` does not rise.
    pub fn count_event(&mut self, host: u32, seq: u64, id: &str) -> Result<(), String> {
        let state = self.host_mut(host)?;
        if state.high.is_some_and(|high| seq <= high) {
            return Err(format!("seq {seq} of host number {host} does not rise"));
        }
        state.high = Some(seq);
        state.last_id.clear();
        state.last_id.push_str(id);
        state.events += 1;
        self.arrivals += 1;
        Ok(())
    }

    fn host_mut(&mut self, host: u32) -> Result<&mut HostState, String> {
        usize::try_from(host)
            .ok()
            .and_then(|index| self.hosts.get_mut(index))
            .ok_or_else(|| format!("host number {host} is not defined"))
    }

    /// Archives the state.
    ///
    /// # Errors
    /// When it is longer than 32-bit pointers reach.
    pub fn to_bytes(&self) -> Result<AlignedVec, String> {
        rkyv::to_bytes::<rancor::Error>(self).map_err(|e| e.to_string())
    }

    /// Reads a state from bytes that may hold anything, at any alignment.
    ///
    /// # Errors
    /// What rkyv's validation found; a count or a `seq` that no log reaches.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let mut aligned = AlignedVec::<16>::with_capacity(bytes.len());
        aligned.extend_from_slice(bytes);
        let state = rkyv::from_bytes::<Self, rancor::Error>(&aligned).map_err(|e| e.to_string())?;
        let host_can_be =
            |host: &HostState| host.events <= EVENTS_MAX && host.high.is_none_or(|high| high <= SEQ_MAX);
        if state.arrivals > EVENTS_MAX || !state.hosts.iter().all(host_can_be) {
            return Err("a count is greater than any log's".to_owned());
        }
        if !state.ranges.can_be(state.hosts.len()) {
            return Err("the ranges of evicted and pinned events are not in order".to_owned());
        }
        Ok(state)
    }
}

/// Archives a control record.
///
/// # Errors
/// When it is longer than 32-bit pointers reach.
pub fn encode_control(control: &Control) -> Result<AlignedVec, String> {
    rkyv::to_bytes::<rancor::Error>(control).map_err(|e| e.to_string())
}

/// Reads a control record from bytes that may hold anything, at any alignment.
///
/// # Errors
/// What rkyv's validation found.
pub fn check_control(body: &[u8]) -> Result<Control, String> {
    let mut aligned = AlignedVec::<16>::with_capacity(body.len());
    aligned.extend_from_slice(body);
    rkyv::from_bytes::<Control, rancor::Error>(&aligned).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_is_repaired_twice_is_listed_once() {
        let mut state = ControlState::default();
        for (segment, lost) in [(3, 2), (5, 0), (3, 4)] {
            state.apply(&Control::Repaired { segment, lost }).unwrap();
        }
        assert_eq!((state.lost(), state.repaired.len()), (6, 2));
        assert_eq!((state.lost_of(3), state.lost_of(5), state.lost_of(4)), (Some(6), Some(0), None));
    }
}
