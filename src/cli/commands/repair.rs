//! `repair`: cuts what cannot be read.

use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::cli::progress::Unit;
use crate::store::{self, Options, RepairMode, RepairReport, VerifyOutcome};

/// Cut what cannot be read, so that the store takes writes again. What is cut is kept beside it.
///
/// Says what it will do and asks. Exit 0: there was nothing to do. Exit 3: a torn tail was cut, nothing
/// that was confirmed is lost. Exit 4: there was damage; what is wrong is named, and the events that are gone.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    how: Destructive,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    let options = Options::new().lock_wait(args.writing.wait);
    let go = |mode, output: &Output| {
        let bar = output.bar("repairing", Unit::Bytes, None);
        store::repair(&dir, &options, mode, &bar).map_err(|error| open::absent(error, &dir))
    };
    let plan = go(RepairMode::DryRun, output)?;
    let exit = exit(&plan);
    if exit == Exit::Fine || args.how.dry_run {
        show(&plan, true, output)?;
        return Ok(exit);
    }
    if !args.how.yes && !output.is_json() {
        show(&plan, true, output)?;
    }
    if !super::confirmed(args.how, "Go ahead?", output)? {
        return Ok(Exit::No);
    }
    let report = go(RepairMode::Apply, output)?;
    show(&report, false, output)?;
    Ok(exit)
}

fn exit(report: &RepairReport) -> Exit {
    match report.outcome() {
        VerifyOutcome::Fine => Exit::Fine,
        VerifyOutcome::Torn => Exit::Torn,
        VerifyOutcome::Damaged => Exit::Damage,
    }
}

fn show(report: &RepairReport, plan: bool, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(report);
    }
    if report.actions.is_empty() && report.cut.is_none() {
        return output.summary("nothing to repair");
    }
    for finding in &report.findings {
        output.line(finding)?;
    }
    output.line(if plan { "a repair would:" } else { "repaired:" })?;
    for action in &report.actions {
        output.line(format_args!("  {action}"))?;
    }
    for lost in &report.lost {
        output.line(format_args!("  lost: {}#{} to #{}", plain(&lost.host), lost.first, lost.last))?;
    }
    for kept in &report.kept {
        output.line(format_args!("  kept: {}", kept.display()))?;
    }
    Ok(())
}
