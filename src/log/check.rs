//! Checking a segment in its active form: every frame from the start, and the index against them.

use super::active::ActiveSegment;
use super::active_index::ActiveIndex;
use super::error::LogError;
use super::finding::Finding;
use super::parts::Segments;
use super::scan::{ScanStart, scan};
use super::tail::{Tail, judge};
use crate::codec::ControlState;
use crate::contract::{Error, Result};

/// Reads every frame of a segment up to its end, checkpoints aside, and compares with what is in use: the events, the
/// causes that were not held, and, for the active segment, the state of the log behind them. Roots that its control
/// records name are compared with the sealed segments'.
///
/// Nobody appends to the segment meanwhile.
///
/// # Errors
/// System calls. Damage is in the list.
pub fn check_active(
    segment: &ActiveSegment,
    segments: &Segments,
    state: &ControlState,
) -> Result<Vec<Finding>> {
    let header = segment.header();
    let place = |e: LogError, offset: u64| e.at(segment.path(), segment.number(), offset);
    let frames_start = header.to_bytes().map_err(Error::corrupt)?.len() as u64;
    let start =
        ScanStart { offset: frames_start, index: ActiveIndex::default(), state: header.state.clone() };
    let end = segment.written_end();
    let found =
        scan(&**segment.file(), segment.seed(), &header.secret, start, end).map_err(|e| place(e, 0))?;
    let mut findings = Vec::new();
    if let Some(error) = found.stop {
        let behind =
            judge(&**segment.file(), segment.seed(), found.end, 0).map_err(|e| place(e, found.end))?;
        let events = match behind {
            Tail::Free => 0,
            Tail::Torn { events, .. } | Tail::Damaged { events, .. } => events,
        };
        findings.push(Finding::of(place(error, found.end))?.with_events_behind(events));
    } else {
        let index = segment.index().read();
        let is_last = segments.active.as_ref().is_some_and(|active| active.number() == segment.number());
        let same = index.entries() == found.index.entries()
            && index.dangling() == found.index.dangling()
            && (!is_last || found.state == *state);
        if !same {
            let what = "the checkpoint says other than the frames".to_owned();
            findings.push(Finding::of(place(LogError::Chain(what), frames_start))?);
        }
    }
    for (number, root) in found.roots {
        if let Some(sealed) = segments.ids.segment(number)
            && *sealed.root() != root
            && state.lost_of(number).is_none()
        {
            let what = "the segment has another root than was recorded when it was sealed".to_owned();
            findings.push(Finding::of(LogError::Chain(what).at(sealed.path(), number, 0))?);
        }
    }
    Ok(findings)
}
