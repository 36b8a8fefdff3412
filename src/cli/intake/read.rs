//! The first pass: every line is checked, every event goes into the sort.

use std::io::BufRead;
use std::path::Path;

use super::against::Against;
use super::faults::Faults;
use super::hosts::Hosts;
use super::record;
use crate::cli::sort::{Sorted, Sorter};
use crate::codec::{Lines, parse_event, read_event};
use crate::contract::{Code, Event, Result, TypeRegistry, UnknownTypes};

/// Memory of the sort.
const SORT_BYTES: usize = 64 << 20;

/// What a line must be.
#[derive(Debug)]
pub(crate) enum Rules {
    /// An event that may be appended.
    Append {
        /// The types that are known.
        registry: TypeRegistry,
        /// What happens to the others.
        unknown: UnknownTypes,
    },
    /// An event whose type and payload are not looked at.
    Envelope,
}

impl Rules {
    /// Reads a line's event.
    ///
    /// # Errors
    /// What the line breaks first.
    pub(crate) fn read(&self, text: &[u8]) -> Result<Event> {
        match self {
            Self::Append { registry, unknown } => read_event(text, registry, *unknown),
            Self::Envelope => parse_event(text),
        }
    }

    /// Reads a line's event. One that is held already is taken whatever is known of its type here, since it
    /// is a duplicate; `holds` is asked about events that only their type or payload speaks against.
    ///
    /// # Errors
    /// Those of `holds`; inside, what the line breaks first.
    pub(crate) fn read_or_held(
        &self,
        text: &[u8],
        holds: impl FnOnce(&Event) -> Result<bool>,
    ) -> Result<Result<Event>> {
        let refusal = match self.read(text) {
            Err(error) if matches!(error.code(), Code::Type | Code::Payload) => error,
            read => return Ok(read),
        };
        let Ok(event) = parse_event(text) else { return Ok(Err(refusal)) };
        Ok(if holds(&event)? { Ok(event) } else { Err(refusal) })
    }
}

/// The good lines of a file: their events by `(host, seq, line)`.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(super) hosts: Hosts,
    pub(super) records: Sorted,
    /// How many lines there were, blank ones aside.
    pub(crate) lines: u64,
}

/// Reads lines of events up to the end of the input.
///
/// # Errors
/// Kind `Io` when the input or a temporary file in `dir` cannot be used, and what the store reports. Bad
/// lines go to `faults`.
pub(crate) fn read(
    input: impl BufRead,
    rules: &Rules,
    against: &Against,
    dir: &Path,
    faults: &mut Faults,
) -> Result<Intake> {
    let mut hosts = Hosts::default();
    let mut sorter = Sorter::new(dir, SORT_BYTES);
    let mut lines = Lines::new(input);
    let mut count = 0;
    while let Some(line) = lines.next_line()? {
        count += 1;
        let number = line.number;
        let event = match line.text {
            Ok(text) => rules.read_or_held(text, |event| against.holds(event))?,
            Err(error) => Err(error),
        };
        match event.and_then(|event| Ok((hosts.number(&event.host)?, event))) {
            Ok((host, event)) => {
                if sorter.is_full() {
                    sorter.spill(hosts.ranks())?;
                }
                sorter.push([host, event.seq.get(), number], |out| record::write(&event, out))?;
            }
            Err(error) => faults.add(number, error),
        }
    }
    let records = sorter.finish(hosts.ranks())?;
    Ok(Intake { hosts, records, lines: count })
}
