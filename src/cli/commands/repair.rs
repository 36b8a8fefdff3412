//! `repair`: cuts what cannot be read.

use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::cli::progress::Unit;
use crate::store::{self, LostRange, Options, RepairMode, RepairReport, VerifyOutcome};

/// Cut what cannot be read, so that the store takes writes again. What is cut is kept beside it.
///
/// Says what it will do and asks. Exit 0: there was nothing to do. Exit 3: a torn tail was cut, nothing
/// that was confirmed is lost. Exit 4: there was damage; the events that are gone are named.
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
    let exit = match plan.outcome() {
        VerifyOutcome::Fine => Exit::Fine,
        VerifyOutcome::Torn => Exit::Torn,
        VerifyOutcome::Damaged => Exit::Damage,
    };
    if exit == Exit::Fine || args.how.dry_run {
        show(&plan, "a repair would:", output)?;
        return Ok(exit);
    }
    if !args.how.yes && !output.is_json() {
        show(&plan, "a repair would:", output)?;
    }
    if !super::confirmed(args.how, "Go ahead?", output)? {
        return Ok(Exit::No);
    }
    let report = go(RepairMode::Apply, output)?;
    show(&report, "repaired:", output)?;
    Ok(exit)
}

fn show(report: &RepairReport, title: &str, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(report);
    }
    if report.outcome() == VerifyOutcome::Fine {
        return output.summary("nothing to repair");
    }
    output.line(title)?;
    for action in &report.actions {
        output.line(format_args!("  {action}"))?;
    }
    for finding in &report.findings {
        output.line(format_args!("  damage: {finding}"))?;
    }
    for LostRange { host, first, last, .. } in &report.lost {
        let host = plain(host);
        output.line(format_args!("  lost: {host}#{first} to {host}#{last}"))?;
    }
    for kept in &report.kept {
        output.line(format_args!("  kept: {}", kept.display()))?;
    }
    Ok(())
}
