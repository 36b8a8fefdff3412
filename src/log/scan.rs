//! Reading a segment in its active form, frame by frame, from its start or from a checkpoint.
//!
//! Invariants:
//! - What a scan returns is what the frames before `end` say, each of which checked: checksum, padding,
//!   archive, ordinal, host number, rising seq, marks that fit.
//! - The first thing that does not check stops it; nothing is skipped.
//! - Memory: the index, and a buffer of one chunk or one frame, whichever is greater.

use std::collections::BTreeMap;

use rkyv::util::AlignedVec;

use super::active_index::ActiveIndex;
use super::error::LogError;
use crate::codec::{
    ActiveEntry, Control, ControlState, Fingerprint, Frame, FrameError, FrameKind, FrameSeed, GroupMark,
    check_control, check_event,
};
use crate::io::VfsFile;

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Where a scan starts and what is known there.
#[derive(Debug)]
pub struct ScanStart {
    /// Offset of the next frame.
    pub offset: u64,
    /// Events before it.
    pub index: ActiveIndex,
    /// State before it.
    pub state: ControlState,
}

/// What a scan found.
#[derive(Debug)]
pub struct Scan {
    /// All events before `end`.
    pub index: ActiveIndex,
    /// The state at `end`.
    pub state: ControlState,
    /// Where the first frame that did not check starts, or the end of what was to be scanned.
    pub end: u64,
    /// Everything before this offset is durable, as the frames say.
    pub confirmed: u64,
    /// Roots of sealed segments, by number, as the control records name them; the newest of each.
    pub roots: BTreeMap<u64, [u8; 32]>,
    /// Frames read.
    pub frames: u64,
    /// What stopped the scan; `None` when it reached the limit.
    pub stop: Option<LogError>,
}

/// Reads frames up to `limit`, an offset, or to the first that does not check.
///
/// # Errors
/// System calls alone; everything the bytes can do wrong is in [`Scan::stop`].
pub fn scan(
    file: &dyn VfsFile,
    seed: FrameSeed,
    secret: &[u8; 16],
    start: ScanStart,
    limit: u64,
) -> Result<Scan, LogError> {
    let confirmed = start.offset;
    let mut found = Scan {
        index: start.index,
        state: start.state,
        end: start.offset,
        confirmed,
        roots: BTreeMap::new(),
        frames: 0,
        stop: None,
    };
    let mut window = Window::new(file, limit);
    loop {
        if found.end >= limit {
            return Ok(found);
        }
        let bytes = window.frame_at(found.end)?;
        let step = Frame::decode(bytes, seed, found.end)
            .map_err(LogError::from)
            .and_then(|frame| found.take(&frame, secret).map(|()| frame.bytes));
        match step {
            Ok(bytes) => {
                found.end += bytes as u64;
                found.frames += 1;
            }
            Err(error) => {
                found.stop = Some(error);
                return Ok(found);
            }
        }
    }
}

impl Scan {
    fn take(&mut self, frame: &Frame<'_>, secret: &[u8; 16]) -> Result<(), LogError> {
        match frame.kind {
            FrameKind::Event => self.take_event(frame, secret),
            FrameKind::Control => {
                let control = check_control(frame.body).map_err(LogError::Record)?;
                if let Control::SegmentSealed { segment, root } = &control {
                    self.roots.insert(*segment, *root);
                }
                self.state.apply(&control).map_err(LogError::Record)
            }
            FrameKind::Group | FrameKind::Watermark => {
                let mark = GroupMark::from_body(frame.body)
                    .filter(|mark| mark.durable_end <= self.end && mark.events == self.index.len() as u64)
                    .ok_or_else(|| {
                        LogError::Record("a group mark does not fit what stands before it".to_owned())
                    })?;
                self.confirmed = self.confirmed.max(mark.durable_end);
                Ok(())
            }
        }
    }

    fn take_event(&mut self, frame: &Frame<'_>, secret: &[u8; 16]) -> Result<(), LogError> {
        let record = check_event(frame.body).map_err(LogError::Record)?;
        if frame.ordinal as usize != self.index.len() {
            let expected = self.index.len();
            return Err(LogError::Record(format!(
                "event {} of the segment where {expected} is due",
                frame.ordinal
            )));
        }
        let (host, kind, seq) = (record.host.to_native(), record.kind.to_native(), record.seq().get());
        if kind as usize >= self.state.types.len() {
            return Err(LogError::Record(format!("type number {kind} is not defined")));
        }
        record.id.get().with_str(|id| self.state.count_event(host, seq, id)).map_err(LogError::Record)?;
        let dangling = record
            .causes
            .iter()
            .filter(|c| c.resolved().is_none())
            .map(|c| Fingerprint::of(secret, c.id.get()));
        let bytes = u32::try_from(frame.bytes).map_err(|e| LogError::Record(e.to_string()))?;
        let id = Fingerprint::of(secret, record.id.get());
        self.index.push(ActiveEntry { offset: self.end, bytes, host, kind, seq, id }, dangling);
        Ok(())
    }
}

/// A window over a file that always holds the whole frame asked for, as far as the file goes.
struct Window<'a> {
    file: &'a dyn VfsFile,
    limit: u64,
    start: u64,
    buffer: AlignedVec<16>,
}

impl<'a> Window<'a> {
    fn new(file: &'a dyn VfsFile, limit: u64) -> Self {
        Self { file, limit, start: 0, buffer: AlignedVec::new() }
    }

    /// Returns the bytes of the frame at `offset`; where no whole frame is to be had, what there is.
    fn frame_at(&mut self, offset: u64) -> Result<&[u8], LogError> {
        if matches!(Frame::peek(self.held(offset)), Err(FrameError::Short { .. })) {
            self.fill(offset, CHUNK_BYTES)?;
        }
        if let Ok((_, bytes)) = Frame::peek(self.held(offset)) {
            if bytes > self.held(offset).len() {
                self.fill(offset, bytes)?;
            }
            let held = self.held(offset);
            return Ok(held.get(..bytes).unwrap_or(held));
        }
        Ok(self.held(offset))
    }

    fn held(&self, offset: u64) -> &[u8] {
        let skip = offset.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        skip.and_then(|skip| self.buffer.get(skip..)).unwrap_or_default()
    }

    /// Reads from `offset` on: `bytes`, at least a chunk, at most up to the limit.
    fn fill(&mut self, offset: u64, bytes: usize) -> Result<(), LogError> {
        let left = usize::try_from(self.limit.saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = bytes.max(CHUNK_BYTES).min(left);
        self.start = offset;
        self.buffer.clear();
        self.buffer.resize(want, 0);
        let read = self.file.read_at(&mut self.buffer, offset).map_err(LogError::io("read a segment"))?;
        self.buffer.resize(read, 0);
        Ok(())
    }
}
