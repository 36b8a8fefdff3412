//! What the end of the active segment says: free space, a torn tail, or damage.
//!
//! Invariants:
//! - *Free*: nothing but zeros from where the frames end. Nothing is reported.
//! - *Damage*: bytes that do not check below a durable end. A durable end is named by a group mark or a
//!   watermark behind the bad bytes, or by the mark file or a checkpoint as long as the file reaches that far.
//!   Damage is never cut.
//! - *Torn*: all else. The last group was never confirmed, so what checks of it stays and the rest is
//!   cut, also when good frames stand behind the bad one. A file that ends before the marked end is torn too:
//!   nothing is there that a cut could destroy; the report says how many confirmed bytes are missing.

use std::path::PathBuf;

use super::error::LogError;
use super::resync::each_frame;
use crate::codec::{Frame, FrameKind, FrameSeed, GroupMark};
use crate::io::VfsFile;

/// A torn tail: the end of a log that was being written when the process or the machine stopped.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Torn {
    /// The file.
    pub path: PathBuf,
    /// The segment.
    pub segment: u64,
    /// Where the tail starts: the log is whole before it.
    pub offset: u64,
    /// Bytes from there to the last one that is not zero.
    pub bytes: u64,
    /// Whole events within these bytes, behind the first bad frame, that were never confirmed.
    pub events: u64,
    /// Bytes that mark file or checkpoint say were synced and that the file does not hold any more.
    pub missing_bytes: u64,
    /// Acknowledged events that were in these bytes, or behind the tear.
    pub missing_events: u64,
}

impl std::fmt::Display for Torn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { segment, offset, bytes, events, missing_bytes, missing_events, .. } = self;
        if *bytes > 0 {
            write!(f, "torn tail of {bytes} bytes in segment {segment} at offset {offset}")?;
        } else {
            write!(f, "segment {segment} ends early, at offset {offset}")?;
        }
        if *events > 0 {
            write!(f, ", with {events} unconfirmed events behind the tear")?;
        }
        if *missing_bytes > 0 {
            write!(f, "; {missing_bytes} bytes that were synced are missing, ")?;
            match missing_events {
                0 => f.write_str("no event among them")?,
                1 => f.write_str("and with them an acknowledged event")?,
                many => write!(f, "and with them {many} acknowledged events")?,
            }
        }
        Ok(())
    }
}

/// What stands behind the last good frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Free space, or nothing.
    Free,
    /// Never confirmed; may be cut.
    Torn {
        /// Bytes up to the last one that is not zero.
        bytes: u64,
        /// Whole events among them.
        events: u64,
        /// Bytes short of the marked end.
        missing_bytes: u64,
    },
    /// Confirmed, and not as it was written.
    Damaged {
        /// The durable end that proves it.
        durable_end: u64,
        /// Whole events behind the bad frame.
        events: u64,
    },
}

/// Judges the bytes from `offset`, where the first frame that does not check starts.
///
/// `marked_end` is the durable end that mark file or checkpoint name, zero when they name none in this segment.
///
/// # Errors
/// System calls.
pub fn judge(file: &dyn VfsFile, seed: FrameSeed, offset: u64, marked_end: u64) -> Result<Tail, LogError> {
    let size = file.size().map_err(LogError::io("read a segment's size"))?;
    let survey = Survey::run(file, seed, offset, size)?;
    if survey.durable_end > offset {
        return Ok(Tail::Damaged { durable_end: survey.durable_end, events: survey.events });
    }
    if marked_end > offset && size >= marked_end {
        return Ok(Tail::Damaged { durable_end: marked_end, events: survey.events });
    }
    let missing_bytes = marked_end.saturating_sub(offset);
    match survey.last_byte {
        None if missing_bytes == 0 => Ok(Tail::Free),
        last => Ok(Tail::Torn {
            bytes: last.map_or(0, |last| last + 1 - offset),
            events: survey.events,
            missing_bytes,
        }),
    }
}

/// Everything that checks behind a bad frame.
struct Survey {
    /// Offset of the last byte that is not zero.
    last_byte: Option<u64>,
    /// Greatest durable end that a mark names.
    durable_end: u64,
    /// Events that check.
    events: u64,
}

impl Survey {
    fn run(file: &dyn VfsFile, seed: FrameSeed, from: u64, size: u64) -> Result<Self, LogError> {
        let mut survey = Self { last_byte: None, durable_end: 0, events: 0 };
        survey.last_byte = each_frame(file, seed, from, size, |_, frame| survey.take(frame))?;
        Ok(survey)
    }

    fn take(&mut self, frame: &Frame<'_>) {
        match frame.kind {
            FrameKind::Event => self.events += 1,
            FrameKind::Control => {}
            FrameKind::Group | FrameKind::Watermark => {
                if let Some(mark) = GroupMark::from_body(frame.body) {
                    self.durable_end = self.durable_end.max(mark.durable_end);
                }
            }
        }
    }
}
