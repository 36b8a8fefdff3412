//! The sections of a sealed file, gathered from its frames as they pass.
//!
//! Sealing writes what this gives; verifying compares it with what is there. About 50 bytes of memory an event.

use crate::codec::{
    ArchivedEventRecord, BlockEntry, ControlState, Fingerprint, HostEntry, Section, TableEntry, TableError,
    UNRESOLVED, place_of, write_table,
};
use crate::contract::{Error, Result};

use super::trouble::{table_error, to_u64, to_usize};

/// A block is closed when it reaches this size.
const BLOCK_BYTES: u64 = 32 << 10;

/// Gathers the sections from frames in file order.
pub(super) struct Sections {
    secret: [u8; 16],
    types: u32,
    blocks: Vec<BlockEntry>,
    directory: Vec<HostEntry>,
    /// By ordinal; zero where no event was seen. No frame stands at place 0.
    arrivals: Vec<u32>,
    kinds: Vec<(u32, u32)>,
    ids: Vec<TableEntry>,
    unresolved: Vec<TableEntry>,
}

impl Sections {
    /// Starts a segment of a known count of events.
    pub(super) fn new(secret: [u8; 16], state: &ControlState, events: usize) -> Self {
        Self {
            secret,
            types: u32::try_from(state.types.len()).unwrap_or(u32::MAX),
            blocks: Vec::new(),
            directory: Vec::new(),
            arrivals: vec![0; events],
            kinds: Vec::with_capacity(events),
            ids: Vec::with_capacity(events),
            unresolved: Vec::new(),
        }
    }

    /// Adds the next frame of the file.
    ///
    /// # Errors
    /// When the ordinal is none of the segment or was taken, or the frame is out of reach.
    pub(super) fn push(
        &mut self,
        record: &ArchivedEventRecord<'_>,
        ordinal: u32,
        offset: u64,
        frame_bytes: usize,
    ) -> Result<(), String> {
        let beyond = || "a sealed file cannot be larger than 32 GiB".to_owned();
        let start = place_of(offset).ok_or_else(beyond)?;
        let end = place_of(offset + to_u64(frame_bytes)).ok_or_else(beyond)?;
        match self.arrivals.get_mut(to_usize(u64::from(ordinal))) {
            Some(slot @ 0) => *slot = start,
            Some(_) => return Err(format!("two events have the ordinal {ordinal}")),
            None => return Err(format!("the ordinal {ordinal} is beyond the count of events")),
        }
        let (host, seq) = (record.host.to_native(), record.seq.to_native());
        self.grow_host(host, seq, start, end);
        self.grow_block(host, seq, start, end);
        self.kinds.push((record.kind.to_native(), start));
        let entry = |fingerprint| TableEntry { fingerprint, columns: [start, 0] };
        self.ids.push(entry(Fingerprint::of(&self.secret, record.id.get())));
        for cause in record.causes.iter().filter(|cause| cause.host.to_native() == UNRESOLVED) {
            self.unresolved.push(entry(Fingerprint::of(&self.secret, cause.id.get())));
        }
        Ok(())
    }

    fn grow_host(&mut self, host: u32, seq: u64, start: u32, end: u32) {
        match self.directory.last_mut() {
            Some(entry) if entry.host == host => {
                entry.events += 1;
                entry.last_seq = seq;
                entry.end = end;
            }
            _ => {
                let entry = HostEntry { host, events: 1, first_seq: seq, last_seq: seq, start, end };
                self.directory.push(entry);
            }
        }
    }

    fn grow_block(&mut self, host: u32, seq: u64, start: u32, end: u32) {
        match self.blocks.last_mut() {
            Some(block) if block.host == host && u64::from(block.end - block.start) * 8 < BLOCK_BYTES => {
                block.frames += 1;
                block.last_seq = seq;
                block.end = end;
            }
            _ => self.blocks.push(BlockEntry { start, end, first_seq: seq, last_seq: seq, host, frames: 1 }),
        }
    }

    /// Hands out each section in the order in which they stand, and how many unresolved causes there are.
    ///
    /// # Errors
    /// When an event is missing or the state cannot be archived; what `each` returns.
    pub(super) fn finish(
        mut self,
        state: &ControlState,
        mut each: impl FnMut(Section, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        if let Some(missing) = self.arrivals.iter().position(|place| *place == 0) {
            return Err(Error::corrupt(format!("no event has the ordinal {missing}")));
        }
        let blocks: Vec<u8> = self.blocks.iter().flat_map(|block| block.to_bytes()).collect();
        each(Section::Blocks, &blocks)?;
        each(Section::Arrivals, &le_bytes(self.arrivals.iter().copied()))?;
        each(Section::Kinds, &self.kinds_bytes()?)?;
        each(Section::Ids, &table_of(&mut self.ids).map_err(table_error)?)?;
        each(Section::Unresolved, &table_of(&mut self.unresolved).map_err(table_error)?)?;
        let directory: Vec<u8> = self.directory.iter().flat_map(|host| host.to_bytes()).collect();
        each(Section::Directory, &directory)?;
        each(Section::State, &state.to_bytes().map_err(Error::corrupt)?)?;
        Ok(to_u64(self.unresolved.len()))
    }

    fn kinds_bytes(&mut self) -> Result<Vec<u8>> {
        self.kinds.sort_unstable();
        let mut starts = Vec::new();
        let mut rest = self.kinds.iter().zip(0u32..).peekable();
        let all = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        for kind in 0..self.types {
            starts.push(rest.peek().map_or(all, |(_, index)| *index));
            while rest.next_if(|((of, _), _)| *of == kind).is_some() {}
        }
        if rest.next().is_some() {
            return Err(Error::corrupt("an event's type number is not defined"));
        }
        starts.push(all);
        Ok(le_bytes(starts.into_iter().chain(self.kinds.iter().map(|(_, place)| *place))))
    }
}

fn table_of(entries: &mut Vec<TableEntry>) -> Result<Vec<u8>, TableError> {
    entries.sort_unstable();
    // An event can name the same missing cause twice.
    entries.dedup();
    write_table(entries, 1)
}

fn le_bytes(values: impl Iterator<Item = u32>) -> Vec<u8> {
    values.flat_map(u32::to_le_bytes).collect()
}
