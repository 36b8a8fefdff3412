//! The events of a sorted file, whole, in the order in which they go in.

use super::arranged::Arranged;
use super::record;
use super::schedule::{Schedule, Verdict, window_bytes};
use crate::cli::sort::Records;
use crate::contract::{Event, Result};

/// An event that goes in next.
#[derive(Debug)]
pub(crate) struct Due {
    /// The line it came from.
    pub(crate) line: u64,
    /// The event.
    pub(crate) event: Event,
}

/// Yields the events that go in, each after its causes where that can be.
#[derive(Debug)]
pub(crate) struct Causal<'a> {
    arranged: &'a Arranged,
    schedule: Schedule,
    lanes: Vec<Records>,
    current: Option<usize>,
    release_windows: bool,
}

impl<'a> Causal<'a> {
    /// Starts from the beginning.
    pub(crate) fn new(arranged: &'a Arranged) -> Self {
        let (window, release_windows) = window_bytes(arranged.lanes.len());
        let lanes = arranged
            .lanes
            .iter()
            .map(|lane| arranged.records.part(lane.records.start, lane.records.end, window))
            .collect();
        Self { arranged, schedule: Schedule::new(arranged), lanes, current: None, release_windows }
    }

    /// Returns the next event that goes in, or `None` at the end.
    ///
    /// # Errors
    /// Kind `Io` when a temporary file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Due>> {
        while let Some(turn) = self.schedule.next()? {
            if self.current != Some(turn.lane) {
                if self.release_windows
                    && let Some(records) = self.current.and_then(|lane| self.lanes.get_mut(lane))
                {
                    records.release();
                }
                self.current = Some(turn.lane);
            }
            let (Some(records), Some(lane)) =
                (self.lanes.get_mut(turn.lane), self.arranged.lanes.get(turn.lane))
            else {
                continue;
            };
            let Some(found) = records.header()? else { continue };
            if turn.verdict != Verdict::New || self.arranged.cyclic.binary_search(&turn.rank).is_ok() {
                continue;
            }
            let [_, seq, line] = found.key;
            let event = record::read(&lane.host, seq, records.value()?)?;
            return Ok(Some(Due { line, event }));
        }
        Ok(None)
    }
}
