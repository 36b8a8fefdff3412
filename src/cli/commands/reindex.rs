//! `reindex`: builds the index again.

use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::Output;
use crate::cli::progress::Unit;
use crate::store::{self, Options};

/// Drop the index and build it again from the log, which is the truth. No event is touched.
///
/// Rarely needed: opening a store notices an index that is missing, old or damaged.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    how: Destructive,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    if args.how.dry_run {
        let stats = open::read(shared, output)?.stats()?;
        if output.is_json() {
            output.json(&serde_json::json!({"dryRun": true, "segments": stats.segments.len(), "events": stats.events}))?;
        } else {
            output.line(format_args!(
                "would drop the index and build it again from {} segments with {} events",
                stats.segments.len(),
                stats.events
            ))?;
        }
        return Ok(Exit::Fine);
    }
    if !super::confirmed(args.how, "Drop the index and build it again?", output)? {
        return Ok(Exit::No);
    }
    let dir = shared.store_dir();
    let options = Options::new().lock_wait(args.writing.wait);
    let bar = output.bar("indexing", Unit::Bytes, None);
    let report = store::reindex(&dir, &options, &bar).map_err(|error| open::absent(error, &dir))?;
    drop(bar);
    if output.is_json() {
        output.json(&report)?;
    } else {
        output.summary(format_args!(
            "built the index again from {} segments with {} events",
            report.segments, report.events
        ))?;
    }
    Ok(Exit::Fine)
}
