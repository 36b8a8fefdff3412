//! `verify`: reads everything and checks it.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, Tone};
use crate::cli::progress::Unit;
use crate::store::{self, Options, VerifyOutcome, VerifyReport};

/// Read every byte of the store and check it: checksums, the chain of segments, ids, seqs, the order.
/// Changes nothing.
///
/// Exit 0: all is well. Exit 3: the last write did not complete; nothing that was confirmed is lost.
/// Exit 4: damage, each place named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    let bar = output.bar("verifying", Unit::Bytes, None);
    let report = store::verify(&dir, &Options::new(), &bar).map_err(|error| open::absent(error, &dir))?;
    drop(bar);
    let exit = match report.outcome() {
        VerifyOutcome::Fine => Exit::Fine,
        VerifyOutcome::Torn => Exit::Torn,
        VerifyOutcome::Damaged => Exit::Damage,
    };
    if output.is_json() {
        output.json(&report)?;
        return Ok(exit);
    }
    people(&report, output)?;
    Ok(exit)
}

fn people(report: &VerifyReport, output: &mut Output) -> Result<(), Failure> {
    let (tone, verdict) = match report.outcome() {
        VerifyOutcome::Fine => (Tone::Good, "all is well"),
        VerifyOutcome::Torn => (Tone::Warning, "torn: the last write did not complete"),
        VerifyOutcome::Damaged => (Tone::Bad, "DAMAGED"),
    };
    let VerifyReport { events, segments, bytes, .. } = report;
    output.line(output.tint(tone, verdict))?;
    output.line(format_args!("  {events} events in {segments} segments, {bytes} bytes read"))?;
    if let Some(ordered) = report.ordered {
        output.line(format_args!("  the order is proved over {ordered} events"))?;
    }
    if report.missing_causes_total > 0 {
        let missing = report.missing_causes_total;
        output.line(format_args!("  {missing} causes are named and not held, which is no damage"))?;
    }
    if let Some(torn) = &report.torn {
        output.line(format_args!("  {torn}"))?;
    }
    for finding in &report.findings {
        output.line(format_args!("  {finding}"))?;
    }
    match report.outcome() {
        VerifyOutcome::Fine => Ok(()),
        VerifyOutcome::Torn => output.line("  the next write cuts the tail; so does `causelog repair`"),
        VerifyOutcome::Damaged => output.line("  `causelog repair --dry-run` says what a repair would do"),
    }
}
