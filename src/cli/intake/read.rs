//! The first pass: every line is checked, every event goes into the sort.

use std::io::BufRead;
use std::path::Path;

use super::faults::Faults;
use super::hosts::Hosts;
use super::record;
use crate::cli::sort::{Sorted, Sorter};
use crate::codec::{Lines, read_event};
use crate::contract::{Result, TypeRegistry, UnknownTypes};

/// Memory of the sort.
const SORT_BYTES: usize = 64 << 20;

/// What a line must be.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The types that are known.
    pub(crate) registry: TypeRegistry,
    /// What happens to the others.
    pub(crate) unknown: UnknownTypes,
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
        let event = line.text.and_then(|text| read_event(text, &rules.registry, rules.unknown));
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
