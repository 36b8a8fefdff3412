//! Events on their way into the store, some at a time.

use crate::cli::intake::Faults;
use crate::contract::{Event, Result};
use crate::store::{Appended, BatchMode, Store};

use super::report::Report;

/// Most events of a batch, and most bytes of payload.
const EVENTS_MAX: usize = 1000;
const BYTES_MAX: usize = 4 << 20;

/// Gathers events and appends them together.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    store: &'a Store,
    lenient: bool,
    events: Vec<Event>,
    lines: Vec<u64>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    pub(super) fn new(store: &'a Store, lenient: bool) -> Self {
        Self { store, lenient, events: Vec::with_capacity(EVENTS_MAX), lines: Vec::new(), bytes: 0 }
    }

    /// Reports whether the batch should be flushed.
    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= EVENTS_MAX || self.bytes >= BYTES_MAX
    }

    pub(super) fn push(&mut self, line: u64, event: Event) {
        self.bytes += event.payload.as_str().len();
        self.events.push(event);
        self.lines.push(line);
    }

    /// Appends what was gathered; `false` when a line was refused and nothing may follow it.
    pub(super) fn flush(&mut self, report: &mut Report, faults: &mut Faults) -> Result<bool> {
        if self.events.is_empty() {
            return Ok(true);
        }
        let mode = if self.lenient { BatchMode::Each } else { BatchMode::StopAtFirst };
        let outcomes = self.store.append_batch(&self.events, mode)?.outcomes;
        let mut all = true;
        for (line, outcome) in self.lines.iter().zip(outcomes) {
            match outcome {
                Ok(Appended::Stored) => report.stored += 1,
                Ok(Appended::Duplicate) => report.duplicates += 1,
                Err(error) if error.is_refusal() => {
                    faults.add(*line, error);
                    all = self.lenient;
                }
                Err(error) => return Err(error.at_line(*line)),
            }
        }
        self.events.clear();
        self.lines.clear();
        self.bytes = 0;
        Ok(all)
    }
}
