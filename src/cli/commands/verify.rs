//! `verify`: reads everything and checks it.

use crate::cli::args::Shared;
use crate::cli::exit::{Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, Tone};
use crate::cli::progress::Unit;
use crate::replay::count;
use crate::store::{self, VerifyOutcome, VerifyReport};

/// Read every byte of the store and check it; changes nothing.
///
/// Checks checksums, the chain of segments, ids, seqs, causes and the order, and that content hashes to its addresses;
/// without the master key content is compared with its checksums alone. Exit 0: all is well. Exit 3: the end of the log is
/// torn; what is missing, if anything, is named. Exit 4: damage, each place named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    let bar = output.bar("verifying", Unit::Bytes, None);
    let report = store::verify(&dir, &shared.options(), &bar).map_err(|error| open::absent(error, &dir))?;
    drop(bar);
    let said = if output.is_json() { output.json(&report) } else { people(&report, output) };
    super::exit_of(report.outcome()).after(said)
}

fn people(report: &VerifyReport, output: &mut Output) -> Result<(), Failure> {
    let (tone, verdict) = match report.outcome() {
        VerifyOutcome::Fine => (Tone::Good, "all is well"),
        VerifyOutcome::Torn => (Tone::Warning, "torn: the log ends in a tail that cannot be read"),
        VerifyOutcome::Damaged => (Tone::Bad, "DAMAGED"),
    };
    let VerifyReport { events, segments, bytes, .. } = report;
    output.line(output.tint(tone, verdict))?;
    let (events, segments, bytes) =
        (count(*events, "event"), count(*segments, "segment"), count(*bytes, "byte"));
    output.line(format_args!("  {events} in {segments}, {bytes} read"))?;
    if let Some(content) = report.content.filter(|content| content.records > 0) {
        let (blobs, packs) = (count(content.resident, "blob"), count(content.packs, "pack"));
        let how = if content.opened {
            "opened and hashed again"
        } else {
            "compared with its checksums: the master key, which would open it, is not here"
        };
        output.line(format_args!("  {blobs} in {packs}, {} read, {how}", count(content.bytes, "byte")))?;
    }
    if report.lost > 0 {
        output.line(format_args!("  {}", super::lost(report.lost)))?;
    }
    if let Some(ordered) = report.ordered {
        output.line(format_args!("  the order is proved over {}", count(ordered, "event")))?;
    }
    if report.missing_causes_total > 0 {
        let missing = count(report.missing_causes_total, "cause");
        output.line(format_args!("  {missing} named and not held, which is no damage"))?;
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
