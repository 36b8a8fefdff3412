//! An import that stores as it reads.

use std::io::BufReader;

use crate::cli::exit::Failure;
use crate::cli::input::Input;
use crate::cli::intake::{Faults, Rules};
use crate::cli::output::{Output, report_beyond};
use crate::cli::progress::{Bar, Unit};
use crate::codec::Lines;
use crate::contract::{Event, Result, same};
use crate::store::Store;

use super::batch::Batch;
use super::report::{Report, hint};

/// Stores events in the order of their lines. Nothing waits for a full batch: what was read is stored
/// before the next read, which may take its time, and a bad line is reported then too. `report` counts what
/// was done, also where it ends in an error.
pub(super) fn stream(
    store: &Store,
    input: Input,
    rules: &Rules,
    lenient: bool,
    report: &mut Report,
    output: &mut Output,
) -> Result<(), Failure> {
    let bar = output.bar("importing", Unit::Bytes, input.bytes);
    let mut bad = Bad { faults: Faults::default(), told: 0, bar: &bar, output };
    let outcome = take(store, Lines::new(input.watched(&bar)), rules, lenient, report, &mut bad);
    report.refused = bad.faults.count();
    report.end_here();
    report_beyond(&bad.faults, bad.output);
    hint(rules, &bad.faults, bad.output);
    Ok(outcome?)
}

fn take(
    store: &Store,
    mut lines: Lines<BufReader<impl std::io::Read>>,
    rules: &Rules,
    lenient: bool,
    report: &mut Report,
    bad: &mut Bad<'_>,
) -> Result<()> {
    let mut batch = Batch::new(store, lenient);
    let mut all = true;
    while all {
        let Some(line) = lines.next_line()? else { break };
        let number = line.number;
        let event = match line.text {
            Ok(text) => rules.read_or_held(text, |event| holds(store, event))?,
            Err(error) => Err(error),
        };
        let is_bad = event.is_err();
        let fault = event.map(|event| batch.push(number, event)).err();
        // What stands before a bad line goes in first, and may be refused itself.
        if is_bad || batch.is_full() || BufReader::buffer(lines.input()).is_empty() {
            all = batch.flush(report, &mut bad.faults)?;
        }
        if all && let Some(error) = fault {
            bad.faults.add(number, error);
            all = lenient;
        }
        bad.tell();
    }
    if all {
        batch.flush(report, &mut bad.faults)?;
        bad.tell();
    }
    Ok(())
}

fn holds(store: &Store, event: &Event) -> Result<bool> {
    store.get(&event.id)?.map_or(Ok(false), |held| same(&held, event))
}

/// Bad lines, told as they are found.
struct Bad<'a> {
    faults: Faults,
    /// How many were told.
    told: usize,
    bar: &'a Bar,
    output: &'a mut Output,
}

impl Bad<'_> {
    /// Tells the new ones. Lines rise, so they stand behind those that were told.
    fn tell(&mut self) {
        for error in self.faults.kept().skip(self.told) {
            self.told += 1;
            self.bar.aside(|| self.output.error(error));
        }
    }
}
