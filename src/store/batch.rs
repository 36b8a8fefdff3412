//! Many events, one sync.
//!
//! Invariant: a batch of any length leaves no more segments waiting to be sealed than single appends do.

use super::core::{Appended, Core};
use crate::contract::{Error, EventFields, Result};
use crate::log::Outcome;

/// What a refused event means for the rest of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchMode {
    /// The batch ends there; what came before it is stored.
    StopAtFirst,
    /// The rest goes on; each event has its own outcome.
    Each,
}

/// What became of a batch.
#[derive(Debug)]
pub struct BatchReport {
    /// One outcome for each event, in order. With [`BatchMode::StopAtFirst`] the list ends with the refusal.
    pub outcomes: Vec<Result<Appended>>,
}

impl BatchReport {
    /// Returns how many events were stored.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.outcomes.iter().filter(|outcome| matches!(outcome, Ok(Appended::Stored))).count()
    }

    /// Returns how many events were held already.
    #[must_use]
    pub fn duplicates(&self) -> usize {
        self.outcomes.iter().filter(|outcome| matches!(outcome, Ok(Appended::Duplicate))).count()
    }

    /// Iterates over the refused events: index in the batch and reason.
    pub fn refused(&self) -> impl Iterator<Item = (usize, &Error)> {
        self.outcomes.iter().enumerate().filter_map(|(index, outcome)| Some((index, outcome.as_ref().err()?)))
    }

    /// Returns the first refusal as an error, if there is one.
    ///
    /// # Errors
    /// The refusal.
    pub fn into_result(self) -> Result<()> {
        self.outcomes.into_iter().try_for_each(|outcome| outcome.map(|_| ()))
    }
}

pub(super) fn append<E: EventFields>(core: &Core, events: &[E], mode: BatchMode) -> Result<BatchReport> {
    let mut outcomes = Vec::with_capacity(events.len());
    let mut last = 0;
    let mut failed = None;
    let mut waiting = core.writer.rolled();
    for event in events {
        let outcome = match core.offer(event, last) {
            Ok(Outcome::Staged(ticket)) => {
                last = ticket;
                Ok(Appended::Stored)
            }
            Ok(Outcome::Duplicate(ticket)) => {
                last = last.max(ticket);
                Ok(Appended::Duplicate)
            }
            Ok(Outcome::Full) => Err(Error::corrupt("a fresh segment is full")),
            Err(error) => Err(error),
        };
        match outcome {
            Err(error) if !error.is_refusal() => {
                failed = Some(error);
                break;
            }
            refused @ Err(_) => {
                outcomes.push(refused);
                if mode == BatchMode::StopAtFirst {
                    break;
                }
            }
            taken => outcomes.push(taken),
        }
        let before = std::mem::replace(&mut waiting, core.writer.rolled());
        if waiting > before && core.is_behind(waiting) {
            // A segment was rolled, so all of it is written: sealing may not wait for the end of the batch.
            if let Err(error) = core.commit(last) {
                failed = Some(error);
                break;
            }
        }
    }
    // What was staged before a failure is still written, or fails with it; the last one fails if any before it does.
    let committed = core.commit(last);
    failed.map_or(Ok(()), Err)?;
    committed?;
    Ok(BatchReport { outcomes })
}
