//! `reindex`: builds the index again.

use serde_json::json;

use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::Output;
use crate::cli::progress::Unit;
use crate::contract::Error;
use crate::replay::count;
use crate::store::{self, ReindexReport};

/// Drop the index and build it again from the log.
///
/// The log is the truth, and no event is touched. All of it is checked first: a damaged store is left as it is, exit 4.
/// Rarely needed: opening a store notices an index that is missing, old or damaged.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    how: Destructive,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    if args.how.dry_run {
        return plan(shared, output);
    }
    if !super::confirmed(args.how, "Drop the index and build it again?", output)? {
        return Ok(Exit::No);
    }
    let options = shared.options().lock_wait(args.writing.wait);
    let bar = output.bar("indexing", Unit::Bytes, None);
    let report = store::reindex(&dir, &options, &bar).map_err(|error| open::absent(error, &dir))?;
    drop(bar);
    if let Some(torn) = &report.torn {
        output.warn(format_args!("{torn}; the log goes on before it"));
    }
    if output.is_json() {
        let ReindexReport { segments, events, dropped, .. } = report;
        output.json(&json!({"dryRun": false, "segments": segments, "events": events, "dropped": dropped}))?;
    } else {
        output.summary(format_args!("built the index again from {}", of(report.segments, report.events)))?;
    }
    Ok(Exit::Fine)
}

/// Says what would be done, after the same look at the whole log.
fn plan(shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    let bar = output.bar("checking", Unit::Bytes, None);
    let found = store::verify(&dir, &shared.options(), &bar).map_err(|error| open::absent(error, &dir))?;
    drop(bar);
    if let Some(finding) = found.findings.first() {
        return Err(Error::corrupt(format!("the log is damaged: {finding}")).at_path(dir).into());
    }
    if let Some(torn) = &found.torn {
        output.warn(format_args!("{torn}; it would be cut"));
    }
    if output.is_json() {
        output.json(&json!({"dryRun": true, "segments": found.segments, "events": found.events}))?;
    } else {
        let what = of(found.segments, found.events);
        output.line(format_args!("would build the index again from {what}"))?;
    }
    Ok(Exit::Fine)
}

fn of(segments: u64, events: u64) -> String {
    format!("{} with {}", count(segments, "segment"), count(events, "event"))
}
