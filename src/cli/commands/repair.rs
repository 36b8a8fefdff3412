//! `repair`: cuts what cannot be read.

use serde::Serialize;

use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::cli::progress::Unit;
use crate::store::{self, LostRange, RepairMode, RepairReport, VerifyOutcome};

/// Cut what cannot be read, and keep a copy of it.
///
/// The store takes writes again afterwards. What is cut or replaced is copied first into its directory `kept`. Packs of
/// content are repaired too: what still opens is kept. Key files are not: nothing could make them again, so put them back
/// from a copy. Says what it will do and asks. Exit 0: there was nothing to do. Exit 3: the end of the log was torn; what
/// is missing, if anything, is named. Exit 4: there was damage; events and content that are gone are named, and content
/// comes back by putting it again.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    how: Destructive,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    let options = shared.options().lock_wait(args.writing.wait);
    let go = |mode, output: &Output| {
        let bar = output.bar("repairing", Unit::Bytes, None);
        store::repair(&dir, &options, mode, &bar).map_err(|error| open::absent(error, &dir))
    };
    let plan = go(RepairMode::DryRun, output)?;
    let exit = super::exit_of(plan.outcome());
    if exit == Exit::Fine || args.how.dry_run {
        return exit.after(show(&plan, args.how.dry_run, output));
    }
    if !args.how.yes && !output.is_json() {
        show(&plan, true, output)?;
    }
    if !super::confirmed(args.how, "Go ahead?", output)? {
        return Ok(Exit::No);
    }
    let report = go(RepairMode::Apply, output)?;
    exit.after(show(&report, false, output))
}

/// A report as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    dry_run: bool,
    outcome: VerifyOutcome,
    #[serde(flatten)]
    report: &'a RepairReport,
}

fn show(report: &RepairReport, dry_run: bool, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(&Shown { dry_run, outcome: report.outcome(), report });
    }
    if report.outcome() == VerifyOutcome::Fine {
        return output.summary("nothing to repair");
    }
    output.line(if dry_run { "a repair would:" } else { "repaired:" })?;
    for action in &report.actions {
        output.line(format_args!("  {action}"))?;
    }
    if let Some(torn) = &report.cut {
        output.line(format_args!("  {torn}"))?;
    }
    for finding in &report.findings {
        output.line(format_args!("  damage: {finding}"))?;
    }
    for LostRange { host, first, last, .. } in &report.lost {
        let host = plain(host);
        output.line(format_args!("  lost: {host}#{first} to {host}#{last}"))?;
    }
    for address in &report.content_lost {
        output.line(format_args!("  lost: content {address}"))?;
    }
    for kept in &report.kept {
        output.line(format_args!("  kept: {}", plain(&kept.to_string_lossy())))?;
    }
    Ok(())
}
