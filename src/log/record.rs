//! A stored event, in place: a share of the bytes it lies in, checked once.

use std::sync::{Arc, OnceLock};

use rkyv::util::AlignedVec;

use crate::codec::{ArchivedEventRecord, FRAME_HEADER_BYTES, Frame, FrameKind, FrameSeed};
use crate::contract::limits::SEQ_MAX;
use crate::contract::{Error, Result};
use crate::io::{Mapping, ProofBudget, Proven, Validated};

use super::trouble::to_usize;

/// Bytes of which records are read: a mapped file, or a buffer.
pub(super) type Source = Validated<ArchivedEventRecord<'static>>;

/// How many hosts and types the state defines that a record is read under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// Host numbers are below this.
    pub hosts: u32,
    /// Type numbers are below this.
    pub types: u32,
}

/// An event's record in a mapped segment or in a buffer. Cloning counts a reference.
///
/// Invariants, checked before one is made: the frame's checksum and padding, the archive's structure and text,
/// `seq` and `at` in range, host and type number below [`TableSizes`].
#[derive(Clone, Debug)]
pub struct Record {
    record: Proven<ArchivedEventRecord<'static>>,
    ordinal: u32,
}

impl Record {
    /// Returns the record.
    #[must_use]
    pub fn get(&self) -> &ArchivedEventRecord<'static> {
        &self.record
    }

    /// Returns the event's arrival order within its segment, from 0.
    #[must_use]
    pub const fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Checks the frame at the start of a buffer that was read at `offset` of a segment.
    ///
    /// Costs a pass over the frame and an allocation or two; the bytes stay in the buffer.
    ///
    /// # Errors
    /// `Corrupt`, naming the offset, when it is not an event's frame.
    pub fn from_buffer(
        buffer: AlignedVec<16>,
        offset: u64,
        seed: FrameSeed,
        sizes: TableSizes,
    ) -> Result<Self, FrameTrouble> {
        let source = buffered(buffer);
        let frame =
            event_frame(source.bytes(), seed, offset).map_err(|what| FrameTrouble { what, offset })?;
        Self::check(&source, 0, &frame, sizes).map_err(|what| FrameTrouble { what, offset })
    }

    /// Checks the record in a frame whose checksum was checked and which starts at `start` of the source.
    pub(super) fn check(
        source: &Arc<Source>,
        start: usize,
        frame: &Frame<'_>,
        sizes: TableSizes,
    ) -> Result<Self, String> {
        let record = Self::checked_before(source, start, frame)?;
        check_fields(record.get(), sizes)?;
        Ok(record)
    }

    /// Makes a record of a frame that was checked before.
    pub(super) fn checked_before(
        source: &Arc<Source>,
        start: usize,
        frame: &Frame<'_>,
    ) -> Result<Self, String> {
        let body = start.saturating_add(FRAME_HEADER_BYTES);
        let record = source.record(body..body.saturating_add(frame.body.len())).map_err(|e| e.to_string())?;
        Ok(Self { record, ordinal: frame.ordinal })
    }
}

/// What is wrong with a frame that was read into a buffer, and where it stands in its segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct FrameTrouble {
    /// What is wrong.
    pub what: String,
    /// Offset of the frame in the segment.
    pub offset: u64,
}

impl FrameTrouble {
    /// Turns it into the crate's error.
    #[must_use]
    pub fn in_segment(self, segment: u64) -> Error {
        Error::corrupt(self.what).at_offset(segment, self.offset)
    }
}

/// Decodes the frame at the start of `bytes`, which must be an event's.
pub(super) fn event_frame(bytes: &[u8], seed: FrameSeed, offset: u64) -> Result<Frame<'_>, String> {
    let frame = Frame::decode(bytes, seed, offset).map_err(|e| e.to_string())?;
    if frame.kind != FrameKind::Event {
        return Err("the frame holds no event".to_owned());
    }
    Ok(frame)
}

/// Checks what the archive's structure does not say.
fn check_fields(record: &ArchivedEventRecord<'_>, sizes: TableSizes) -> Result<(), String> {
    if record.seq.to_native() > SEQ_MAX {
        return Err("seq is out of range".to_owned());
    }
    if !record.at.to_native().is_finite() {
        return Err("at is not finite".to_owned());
    }
    if record.host.to_native() >= sizes.hosts {
        return Err(format!("host number {} is not defined", record.host));
    }
    if record.kind.to_native() >= sizes.types {
        return Err(format!("type number {} is not defined", record.kind));
    }
    Ok(())
}

fn buffered(buffer: AlignedVec<16>) -> Arc<Source> {
    // Each record of a buffer is checked once and kept as a `Proven`, so no proof is looked for later.
    static NONE: OnceLock<Arc<ProofBudget>> = OnceLock::new();
    let budget = NONE.get_or_init(|| ProofBudget::new(0));
    Arc::new(Validated::new(Mapping::new(buffer), Arc::clone(budget)))
}

/// Returns the bytes of a source from an offset on; none past its end.
pub(super) fn bytes_from(source: &Source, offset: u64) -> &[u8] {
    source.bytes().get(to_usize(offset)..).unwrap_or_default()
}
