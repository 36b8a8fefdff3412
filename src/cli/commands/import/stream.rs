//! An import that stores as it reads.

use std::io::BufReader;

use crate::cli::exit::Failure;
use crate::cli::input::Input;
use crate::cli::intake::{Faults, Rules};
use crate::cli::output::{Output, report_faults};
use crate::cli::progress::Unit;
use crate::codec::Lines;
use crate::store::Store;

use super::batch::Batch;
use super::report::Report;

/// Stores events in the order of their lines. Nothing waits for a full batch: what was read is stored
/// before the next read, which may take its time.
pub(super) fn stream(
    store: &Store,
    input: Input,
    rules: &Rules,
    lenient: bool,
    output: &mut Output,
) -> Result<Report, Failure> {
    let bar = output.bar("importing", Unit::Bytes, input.bytes);
    let mut lines = Lines::new(input.watched(&bar));
    let mut report = Report::default();
    let mut faults = Faults::default();
    let mut batch = Batch::new(store, lenient);
    let mut all = true;
    while all {
        let Some(line) = lines.next_line()? else { break };
        report.lines += 1;
        let number = line.number;
        match line.text.and_then(|text| rules.read(text)) {
            Ok(event) => {
                batch.push(number, event);
                if batch.is_full() || BufReader::buffer(lines.input()).is_empty() {
                    all = batch.flush(&mut report, &mut faults)?;
                }
            }
            Err(error) => {
                // What stands before the bad line goes in first, and may be refused itself.
                all = batch.flush(&mut report, &mut faults)?;
                if all {
                    faults.add(number, error);
                    all = lenient;
                }
            }
        }
    }
    if all {
        batch.flush(&mut report, &mut faults)?;
    }
    drop(lines);
    drop(bar);
    report.refused = faults.count();
    report_faults(&faults, output);
    Ok(report)
}
