//! Which hosts a sealed segment holds, and where.
//!
//! Invariants, checked when it is read:
//! - Hosts stand in the order of their names, and each name once.
//! - Their frames follow one another without gaps and are all frames of the segment.
//! - Each host has at least one event, at most one per `seq` of its range, and together they are all events.

use crate::codec::{HOST_ENTRY_BYTES, HostEntry, HostState, Trailer, offset_of};
use crate::contract::cmp_utf16;
use crate::contract::limits::SEQ_MAX;

use super::trouble::to_usize;

/// The hosts of a segment: 40 bytes a host.
#[derive(Debug)]
pub(super) struct Directory {
    /// In the order of the frames.
    entries: Box<[HostEntry]>,
    /// `(host number, index in entries)`, by host number.
    by_number: Box<[(u32, u32)]>,
}

impl Directory {
    /// Reads and checks a directory against the trailer and the names of all hosts.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub(super) fn read(bytes: &[u8], trailer: &Trailer, hosts: &[HostState]) -> Result<Self, &'static str> {
        let (entries, rest) = bytes.as_chunks::<HOST_ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err("its size is none");
        }
        let entries: Box<[HostEntry]> = entries.iter().map(HostEntry::from_bytes).collect();
        let mut end = trailer.frames_start;
        let mut events = 0u64;
        let mut last_name: Option<&str> = None;
        for entry in &entries {
            let host = usize::try_from(entry.host).ok().and_then(|number| hosts.get(number));
            let name = host.ok_or("it names a host that is not defined")?.name.as_str();
            if last_name.is_some_and(|last| cmp_utf16(last, name).is_ge()) {
                return Err("its hosts are not in the order of their names");
            }
            last_name = Some(name);
            if offset_of(entry.start) != end || entry.end <= entry.start {
                return Err("its hosts do not follow one another");
            }
            end = offset_of(entry.end);
            let width = entry.last_seq.checked_sub(entry.first_seq).ok_or("a range of seq is empty")?;
            if entry.last_seq > SEQ_MAX || entry.events == 0 || u64::from(entry.events) - 1 > width {
                return Err("a host's count of events does not fit its range of seq");
            }
            events += u64::from(entry.events);
        }
        if end != trailer.frames_end || events != trailer.events {
            return Err("its hosts are not all of the segment");
        }
        let mut by_number: Box<[(u32, u32)]> =
            entries.iter().zip(0..).map(|(entry, index)| (entry.host, index)).collect();
        by_number.sort_unstable();
        Ok(Self { entries, by_number })
    }

    /// Returns all hosts in the order of the frames.
    pub(super) fn entries(&self) -> &[HostEntry] {
        &self.entries
    }

    /// Returns the entry of a host, if the segment holds events of it.
    pub(super) fn get(&self, host: u32) -> Option<&HostEntry> {
        let found = self.by_number.binary_search_by_key(&host, |(number, _)| *number).ok()?;
        let (_, index) = self.by_number.get(found)?;
        self.entries.get(to_usize(u64::from(*index)))
    }
}
