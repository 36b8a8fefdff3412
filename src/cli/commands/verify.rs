//! `verify`: reads everything and checks it.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, Tone};
use crate::cli::progress::Unit;
use crate::store::{self, Options};

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
        store::VerifyOutcome::Fine => Exit::Fine,
        store::VerifyOutcome::Torn => Exit::Torn,
        store::VerifyOutcome::Damaged => Exit::Damage,
    };
    if output.is_json() {
        output.json(&report)?;
        return Ok(exit);
    }
    let (tone, verdict) = match exit {
        Exit::Fine => (Tone::Good, "all is well"),
        Exit::Torn => (Tone::Warning, "torn: the last write did not complete"),
        _ => (Tone::Bad, "DAMAGED"),
    };
    output.line(output.tint(tone, verdict))?;
    output.line(format_args!(
        "  {} events in {} segments, {} bytes read",
        report.events, report.segments, report.bytes
    ))?;
    if let Some(torn) = &report.torn {
        output.line(format_args!(
            "  segment {}, offset {}: {} bytes would be cut",
            torn.segment, torn.offset, torn.bytes
        ))?;
    }
    for finding in &report.findings {
        output.line(format_args!("  {finding}"))?;
    }
    if exit != Exit::Fine {
        output.line("  `causelog repair --dry-run` says what a repair would do")?;
    }
    Ok(exit)
}
