//! An import that looks at the whole file first.

use std::path::PathBuf;

use crate::cli::exit::Failure;
use crate::cli::input::Input;
use crate::cli::intake::{Causal, Faults, Rules, read, resolve};
use crate::cli::output::{Output, report_faults};
use crate::cli::progress::Unit;
use crate::store::Store;

use super::against::Judge;
use super::batch::Batch;
use super::report::Report;

/// What is done about bad lines, and where.
#[derive(Clone, Debug)]
pub(crate) struct How {
    /// Bad lines are left out.
    pub(crate) lenient: bool,
    /// Nothing is stored.
    pub(crate) dry_run: bool,
    /// Directory of temporary files.
    pub(crate) temp_dir: PathBuf,
}

/// Reads, checks, sorts and stores; reports bad lines on the way.
///
/// Everything that can be known beforehand is: a line that the store itself refuses later was made
/// bad by something that nobody could see in the file, and ends an import that is not lenient.
pub(crate) fn sorted(
    store: &Store,
    input: Input,
    rules: &Rules,
    how: &How,
    output: &mut Output,
) -> Result<Report, Failure> {
    let mut faults = Faults::default();
    let bar = output.bar("reading", Unit::Bytes, input.bytes);
    let intake = read(input.watched(&bar), rules, &how.temp_dir, &mut faults)?;
    drop(bar);

    let mut report = Report { lines: intake.lines, dry_run: how.dry_run, ..Report::default() };
    let judge = Judge::new(store.snapshot()?)?;
    let bar = output.bar("checking", Unit::Count, Some(intake.lines));
    let arranged = resolve(intake, &how.temp_dir, &mut faults, |event| {
        bar.advance(1);
        judge.judge(event)
    })?;
    drop((bar, judge));
    report.duplicates = arranged.duplicates;

    let goes_in = report.lines - report.duplicates - faults.count();
    if faults.count() > 0 && !how.lenient {
        // Nothing goes in.
    } else if how.dry_run {
        report.stored = goes_in;
    } else {
        let bar = output.bar("storing", Unit::Count, Some(goes_in));
        let mut batch = Batch::new(store, how.lenient);
        let mut causal = Causal::new(&arranged);
        let mut all = true;
        while all && let Some(due) = causal.next()? {
            batch.push(due.line, due.event);
            bar.advance(1);
            if batch.is_full() {
                all = batch.flush(&mut report, &mut faults)?;
            }
        }
        if all {
            batch.flush(&mut report, &mut faults)?;
        }
        store.sync()?;
    }
    report.refused = faults.count();
    report_faults(&faults, output);
    Ok(report)
}
