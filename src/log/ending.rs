//! How a segment in its active form ends: what a scan found, against what is known of it.
//!
//! Invariants:
//! - Opening, checking and repairing judge by this one rule.
//! - Mark file and checkpoint were written after the sync of what they name; they count for the last segment.
//! - Events that they count and that are neither held nor recorded as lost are gone, wherever the file ends.
//! - A rolled segment is whole up to the length that the next head names; where none does, up to free space.

use super::error::LogError;
use super::finding::Finding;
use super::head::Head;
use super::mark::Mark;
use super::scan::Scan;
use super::tail::{Tail, Torn, judge};
use crate::codec::{Checkpoint, FrameSeed, SegmentHeader};
use crate::contract::Result;

/// What mark file and checkpoint say was durable in a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Offset behind it.
    pub end: u64,
    /// Events before that offset.
    pub events: u64,
}

impl Known {
    /// What a mark and a checkpoint know of a segment.
    pub fn of(number: u64, mark: Option<Mark>, checkpoint: Option<&Checkpoint>) -> Self {
        let marked = mark.filter(|mark| mark.segment == number).map(|mark| (mark.end, mark.events));
        let covered = checkpoint.map(|checkpoint| (checkpoint.end, checkpoint.entries.len() as u64));
        let (end, events) = marked.into_iter().chain(covered).max().unwrap_or_default();
        Self { end, events }
    }
}

/// How a segment ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At a frame's end; behind it there is free space or nothing.
    Whole,
    /// In a torn tail.
    Torn(Torn),
    /// In bytes that were confirmed and are not as they were written.
    Damaged(Finding),
}

/// Returns what the checksums of a segment's frames start from.
pub fn seed_of(header: &SegmentHeader) -> FrameSeed {
    FrameSeed::new(&header.store, header.segment, header.form.code())
}

/// Judges the end of the last segment, of whose `size` bytes a scan checked what it could.
///
/// # Errors
/// System calls.
pub fn judge_last(head: &Head, found: &Scan, size: u64, known: Known) -> Result<Ending> {
    let short = known.end > size.max(found.end);
    let recorded = found.state.lost().saturating_sub(head.header.state.lost());
    let missing_events = known.events.saturating_sub((found.index.len() as u64).saturating_add(recorded));
    if found.stop.is_none() && !short && missing_events == 0 {
        return Ok(Ending::Whole);
    }
    let (segment, offset) = (head.header.segment, found.end);
    let torn = |bytes, events, missing_bytes| {
        let path = head.path.clone();
        Ending::Torn(Torn { path, segment, offset, bytes, events, missing_bytes, missing_events })
    };
    Ok(match tail(head, offset, known.end)? {
        Tail::Free if missing_events == 0 => Ending::Whole,
        Tail::Free => torn(0, 0, 0),
        Tail::Damaged { durable_end, events } => {
            let what = format!("{}, below the durable end at {durable_end}", why(found));
            Ending::Damaged(finding(head, offset, what)?.with_events_behind(events))
        }
        Tail::Torn { bytes, events, missing_bytes } => torn(bytes, events, missing_bytes),
    })
}

/// Judges the end of a rolled segment, which was scanned up to the length that the next head names if that is known,
/// else up to its size.
///
/// # Errors
/// System calls.
pub fn judge_rolled(head: &Head, found: &Scan, length_known: bool) -> Result<Ending> {
    if found.stop.is_none() {
        return Ok(Ending::Whole);
    }
    let events = match tail(head, found.end, 0)? {
        Tail::Free if !length_known => return Ok(Ending::Whole),
        Tail::Free => 0,
        Tail::Torn { events, .. } | Tail::Damaged { events, .. } => events,
    };
    Ok(Ending::Damaged(finding(head, found.end, why(found))?.with_events_behind(events)))
}

fn tail(head: &Head, offset: u64, durable_end: u64) -> Result<Tail> {
    let tail = judge(&*head.file, seed_of(&head.header), offset, durable_end);
    tail.map_err(|e| e.at(&head.path, head.header.segment, offset))
}

fn why(found: &Scan) -> String {
    found.stop.as_ref().map_or_else(|| "bytes are missing".to_owned(), ToString::to_string)
}

fn finding(head: &Head, offset: u64, what: String) -> Result<Finding> {
    Finding::of(LogError::Chain(what).at(&head.path, head.header.segment, offset))
}
