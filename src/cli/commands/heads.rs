//! `heads`: the events that nothing follows from yet.

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::replay::count;

/// Show the events that no other event names as a cause.
///
/// By host and seq. These are where runs ended, or where they go on. With --json the whole events, ready to be imported.
/// Answered by an index, so only the events shown are read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  causelog heads --limit 10")]
pub(crate) struct Args {
    #[command(flatten)]
    listing: Listing,
    /// Only say how many there are
    #[arg(long, conflicts_with = "limit")]
    count: bool,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    if args.count {
        let heads = snapshot.heads_len()?;
        if output.is_json() {
            output.json(&serde_json::json!({"heads": heads}))?;
        } else {
            output.line(count(heads, "head"))?;
        }
        return Ok(Exit::Fine);
    }
    list(&snapshot, snapshot.heads()?, args.listing, Form::Whole, output)?;
    Ok(Exit::Fine)
}
