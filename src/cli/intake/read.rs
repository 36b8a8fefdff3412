//! The first pass: every line is checked, every event goes into the sort.

use std::io::BufRead;
use std::path::Path;

use super::faults::Faults;
use super::hosts::Hosts;
use super::record;
use crate::cli::sort::{Sorted, Sorter};
use crate::codec::{Lines, parse_event, read_event};
use crate::contract::{Event, Result, TypeRegistry, UnknownTypes};

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
/// Kind `Io` when the input or a temporary file in `dir` cannot be used. Bad lines go to `faults`.
pub(crate) fn read(input: impl BufRead, rules: &Rules, dir: &Path, faults: &mut Faults) -> Result<Intake> {
    let mut hosts = Hosts::default();
    let mut sorter = Sorter::new(dir, SORT_BYTES);
    let mut lines = Lines::new(input);
    let mut count = 0;
    while let Some(line) = lines.next_line()? {
        count += 1;
        let number = line.number;
        let event = line.text.and_then(|text| rules.read(text));
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
