//! A segment in its active form: frames of all hosts in arrival order.
//!
//! Invariants:
//! - Bytes before the published end never change; the file is read with positioned reads, never mapped.
//! - `synced <= visible <= index.len()`, counted in events, and both only rise. Readers of this process see
//!   `visible` events; everyone else sees `synced`.
//! - Frames are staged in memory, in order, and written by one leader at a time; an offset is given when a
//!   frame is staged and stays. Until it is written a frame is read from memory, by the writer alone.
//! - Rolled: once the next segment exists, nothing is appended here and all is synced.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use rkyv::util::AlignedVec;

use super::active_index::ActiveIndex;
use super::error::LogError;
use super::record::{Record, TableSizes};
use crate::codec::{
    ActiveEntry, Fingerprint, Frame, FrameKind, FrameSeed, GroupMark, SegmentHeader, check_event,
};
use crate::contract::Result;
use crate::io::VfsFile;

/// Events whose frames lie within this many bytes are read with one call.
const READ_BYTES_MAX: u64 = 64 << 10;

/// An active or rolled segment, shared by its writer and its readers.
pub struct ActiveSegment {
    header: SegmentHeader,
    path: PathBuf,
    file: Arc<dyn VfsFile>,
    seed: FrameSeed,
    index: RwLock<ActiveIndex>,
    visible: AtomicU32,
    synced: AtomicU32,
    written: AtomicU64,
    staged: Mutex<Staged>,
}

/// Without the head, which holds the secret, and the frames, which hold what users typed.
impl fmt::Debug for ActiveSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActiveSegment({}, {} events)", self.number(), self.visible())
    }
}

/// Frames that are not written yet.
#[derive(Default)]
struct Staged {
    /// Frames that the leader is writing, and where they start.
    in_flight: (u64, Arc<Vec<u8>>),
    /// Frames behind those; the first is a group mark whose body is filled in when they are taken.
    pending: Vec<u8>,
    /// Where `pending` starts.
    start: u64,
    /// Events before `pending`.
    events_before: u64,
}

/// A group of frames to be written.
#[derive(Clone)]
pub struct Batch {
    /// Where the first frame starts.
    pub offset: u64,
    /// The frames.
    pub bytes: Arc<Vec<u8>>,
    /// Events of the segment up to the last frame.
    pub events: u32,
}

/// Without the frames, which hold what users typed.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} bytes at {})", self.bytes.len(), self.offset)
    }
}

impl Batch {
    /// Returns where the last frame ends.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Host and type numbers were checked when the segment was scanned, or are our own.
const ANY_NUMBER: TableSizes = TableSizes { hosts: u32::MAX, types: u32::MAX };

const MARK_BYTES: usize = Frame::bytes_for(GroupMark::BODY_BYTES);

impl ActiveSegment {
    /// Wraps an open file whose frames end at `end` and are all durable and indexed.
    pub fn new(
        header: SegmentHeader,
        path: PathBuf,
        file: Arc<dyn VfsFile>,
        index: ActiveIndex,
        end: u64,
    ) -> Self {
        let events = u32::try_from(index.len()).unwrap_or(u32::MAX);
        let seed = FrameSeed::new(&header.store, header.segment, header.form.code());
        Self {
            header,
            path,
            file,
            seed,
            index: RwLock::new(index),
            visible: AtomicU32::new(events),
            synced: AtomicU32::new(events),
            written: AtomicU64::new(end),
            staged: Mutex::new(Staged { start: end, events_before: events.into(), ..Staged::default() }),
        }
    }

    /// Returns the segment's number.
    pub fn number(&self) -> u64 {
        self.header.segment
    }

    /// Returns the segment's head.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file.
    pub fn file(&self) -> &Arc<dyn VfsFile> {
        &self.file
    }

    /// Returns what the frames' checksums start from.
    pub fn seed(&self) -> FrameSeed {
        self.seed
    }

    /// Returns the index; hold the lock for moments only.
    pub fn index(&self) -> &RwLock<ActiveIndex> {
        &self.index
    }

    /// Returns how many events this process's readers see.
    pub fn visible(&self) -> u32 {
        self.visible.load(Ordering::Acquire)
    }

    /// Returns how many events are durable.
    pub fn synced(&self) -> u32 {
        self.synced.load(Ordering::Acquire)
    }

    /// Shows the first `events` events to this process's readers.
    pub fn publish_visible(&self, events: u32) {
        self.visible.fetch_max(events, Ordering::Release);
    }

    /// Says that the first `events` events are durable.
    pub fn publish_synced(&self, events: u32) {
        self.synced.fetch_max(events, Ordering::Release);
        self.publish_visible(events);
    }

    /// Stages a frame behind all others and returns its offset and size.
    ///
    /// # Errors
    /// When the body is too long for a frame.
    pub fn stage(&self, kind: FrameKind, ordinal: u32, body: &[u8]) -> Result<(u64, u32)> {
        let mut staged = self.staged.lock();
        if staged.pending.is_empty() {
            staged.pending.resize(MARK_BYTES, 0);
        }
        let offset = staged.start + staged.pending.len() as u64;
        let bytes = Frame::encode(&mut staged.pending, self.seed, offset, kind, ordinal, body)
            .map_err(LogError::from)?;
        Ok((offset, u32::try_from(bytes).unwrap_or(u32::MAX)))
    }

    /// Returns where the next frame will be staged.
    pub fn staged_end(&self) -> u64 {
        let staged = self.staged.lock();
        staged.start + staged.pending.len().max(MARK_BYTES) as u64
    }

    /// Returns how many bytes wait to be taken.
    pub fn pending_bytes(&self) -> usize {
        self.staged.lock().pending.len()
    }

    /// Takes everything that is staged to be written, as one group. `None` when nothing is.
    ///
    /// The caller holds the lock under which events are staged, so that `events` matches the frames.
    ///
    /// # Errors
    /// Never in practice: a group mark always fits a frame.
    pub fn take_batch(&self, events: u32, durable_end: u64) -> Result<Option<Batch>> {
        let mut staged = self.staged.lock();
        if staged.pending.is_empty() {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut staged.pending);
        let offset = staged.start;
        let mark = GroupMark { durable_end, events: staged.events_before }.to_body();
        let mut head = Vec::with_capacity(MARK_BYTES);
        Frame::encode(&mut head, self.seed, offset, FrameKind::Group, 0, &mark).map_err(LogError::from)?;
        if let Some(slot) = bytes.get_mut(..MARK_BYTES) {
            slot.copy_from_slice(&head);
        }
        let batch = Batch { offset, bytes: Arc::new(bytes), events };
        staged.start = batch.end();
        staged.events_before = events.into();
        staged.in_flight = (offset, Arc::clone(&batch.bytes));
        Ok(Some(batch))
    }

    /// Says that a batch is in the file.
    pub fn written(&self, batch: &Batch) {
        self.written.store(batch.end(), Ordering::Release);
        self.staged.lock().in_flight = (batch.end(), Arc::default());
    }

    /// Returns where the frames in the file end.
    pub fn written_end(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Drops everything that is not written, frames and index both.
    pub fn discard_unwritten(&self, events: u32) {
        let mut staged = self.staged.lock();
        let start = self.written_end();
        *staged = Staged { start, events_before: events.into(), ..Staged::default() };
        self.index.write().truncate(events as usize);
    }

    /// Reads events by ordinal, close ones with one call. Cost: one read for each 64 KiB or gap; events that are not
    /// written yet one by one.
    ///
    /// # Errors
    /// System calls; a frame that does not check.
    pub fn records(&self, ordinals: &[u32]) -> Result<Vec<Record>> {
        let entries: Vec<ActiveEntry> = {
            let index = self.index.read();
            ordinals.iter().filter_map(|ordinal| index.entry(*ordinal).copied()).collect()
        };
        let mut out = Vec::with_capacity(entries.len());
        let written = self.written_end();
        let mut rest = &entries[..];
        while let Some(first) = rest.first() {
            let near = |entry: &&ActiveEntry| {
                let end = entry.offset + u64::from(entry.bytes);
                entry.offset >= first.offset && end <= first.offset + READ_BYTES_MAX && end <= written
            };
            let window = rest.iter().take_while(near).count();
            let (group, after) = rest.split_at_checked(window.max(1)).unwrap_or((rest, &[]));
            self.read_group(group, &mut out)?;
            rest = after;
        }
        Ok(out)
    }

    fn read_group(&self, group: &[ActiveEntry], out: &mut Vec<Record>) -> Result<()> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
        let bytes = self.read_bytes(first.offset, last.offset + u64::from(last.bytes) - first.offset)?;
        for entry in group {
            // Each record gets a buffer of its own, so that holding one does not hold its neighbours.
            let at = usize::try_from(entry.offset - first.offset).unwrap_or(usize::MAX);
            let frame = bytes.get(at..).unwrap_or_default();
            let mut buffer = AlignedVec::with_capacity(entry.bytes as usize);
            buffer.extend_from_slice(frame.get(..entry.bytes as usize).unwrap_or(frame));
            let record = Record::from_buffer(buffer, entry.offset, self.seed, ANY_NUMBER);
            out.push(record.map_err(|e| e.in_segment(self.number()).at_path(&self.path))?);
        }
        Ok(())
    }

    fn read_bytes(&self, offset: u64, bytes: u64) -> Result<AlignedVec<16>> {
        let mut buffer = AlignedVec::new();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if offset >= self.written_end() {
            let staged = self.staged.lock();
            for (start, held) in
                [(staged.in_flight.0, &**staged.in_flight.1), (staged.start, &staged.pending)]
            {
                let at = offset.checked_sub(start).and_then(|at| usize::try_from(at).ok());
                if let Some(found) = at.and_then(|at| held.get(at..)?.get(..bytes)) {
                    buffer.extend_from_slice(found);
                    return Ok(buffer);
                }
            }
        }
        buffer.resize(bytes, 0);
        let read = self
            .file
            .read_at(&mut buffer, offset)
            .map_err(|e| LogError::io("read a segment")(e).at(&self.path, self.number(), offset))?;
        buffer.resize(read, 0);
        Ok(buffer)
    }

    /// Reads one event's body into `buffer`, checked.
    ///
    /// # Errors
    /// System calls; a frame that does not check.
    pub fn read_body(&self, entry: &ActiveEntry, buffer: &mut AlignedVec<16>) -> Result<()> {
        let bytes = self.read_bytes(entry.offset, u64::from(entry.bytes))?;
        let place = |e: LogError| e.at(&self.path, self.number(), entry.offset);
        let frame = Frame::decode(&bytes, self.seed, entry.offset).map_err(|e| place(e.into()))?;
        buffer.clear();
        buffer.extend_from_slice(frame.body);
        check_event(buffer).map(|_| ()).map_err(|e| place(LogError::Record(e)))
    }

    /// Lists the events among the first `visible` whose id has this fingerprint, the newest last.
    pub fn candidates(&self, id: Fingerprint, visible: u32) -> Vec<u32> {
        let mut found = self.index.read().candidates(id);
        found.retain(|ordinal| *ordinal < visible);
        found
    }
}
