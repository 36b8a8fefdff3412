//! An import that looks at the whole file first.

use std::path::PathBuf;

use crate::cli::exit::Failure;
use crate::cli::input::Input;
use crate::cli::intake::{Against, Arranged, Causal, Faults, Rules, read, resolve};
use crate::cli::output::{Output, report_faults};
use crate::cli::progress::Unit;
use crate::store::Store;

use super::batch::Batch;
use super::report::{Report, hint};

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

/// Reads, checks, sorts and stores; reports bad lines on the way. `report` counts what was done, also where
/// it ends in an error.
///
/// Everything that can be known beforehand is: a line that the store itself refuses later was made
/// bad by something that nobody could see in the file, and ends an import that is not lenient.
pub(crate) fn sorted(
    store: &Store,
    input: Input,
    rules: &Rules,
    how: &How,
    report: &mut Report,
    output: &mut Output,
) -> Result<(), Failure> {
    report.dry_run = how.dry_run;
    let mut faults = Faults::default();
    let against = Against::store(store.snapshot()?)?;
    let bar = output.bar("reading", Unit::Bytes, input.bytes);
    let intake = read(input.watched(&bar), rules, &against, &how.temp_dir, &mut faults)?;
    drop(bar);

    report.lines = intake.lines;
    let bar = output.bar("checking", Unit::Count, Some(intake.lines));
    let arranged = resolve(intake, &how.temp_dir, &mut faults, &against, || bar.advance(1))?;
    drop((bar, against));
    report.duplicates = arranged.duplicates;
    report.refused = faults.count();
    report.hold_back_the_rest();

    let outcome = if faults.count() > 0 && !how.lenient {
        // Nothing goes in.
        Ok(())
    } else if how.dry_run {
        report.stored = report.held_back;
        Ok(())
    } else {
        put(store, &arranged, how.lenient, &mut faults, report, output)
    };
    report.refused = faults.count();
    report.hold_back_the_rest();
    report_faults(&faults, output);
    hint(rules, &faults, output);
    outcome
}

/// Stores what can go in, and makes it safe.
fn put(
    store: &Store,
    arranged: &Arranged,
    lenient: bool,
    faults: &mut Faults,
    report: &mut Report,
    output: &mut Output,
) -> Result<(), Failure> {
    let bar = output.bar("storing", Unit::Count, Some(report.held_back));
    let mut batch = Batch::new(store, lenient);
    let mut causal = Causal::new(arranged);
    let mut all = true;
    while all && let Some(due) = causal.next()? {
        batch.push(due.line, due.event);
        bar.advance(1);
        if batch.is_full() {
            all = batch.flush(report, faults)?;
        }
    }
    if all {
        batch.flush(report, faults)?;
    }
    Ok(store.sync()?)
}
