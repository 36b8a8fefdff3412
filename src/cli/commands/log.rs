//! `log`: the order, for people.

use std::collections::VecDeque;

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;

const EXAMPLES: &str = "\
A line is: host#seq, type, time (shown, never used to order), id, and behind <- the causes: host#seq of \
those that are held, ids of the others. `get`, `ancestry` and `append --cause` take both forms.

Examples:
  causelog log --limit 20
  causelog log --last 20 --payload
  causelog log --json | jq -r .type | sort | uniq -c";

/// Show the events in their one order.
///
/// It depends on the set of events alone, not on clocks and not on who came first. Payloads can hold what users typed
/// and are shown with --payload alone.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    listing: Listing,
    /// Show the last N events of the order
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    last: Option<usize>,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    let ordered = snapshot.ordered()?;
    let Some(last) = args.last else {
        list(&snapshot, ordered, args.listing, Form::Summary, output)?;
        return Ok(Exit::Fine);
    };
    let mut tail = VecDeque::new();
    for event in ordered {
        tail.push_back(event?);
        if tail.len() > last {
            tail.pop_front();
        }
    }
    list(&snapshot, tail.into_iter().map(Ok), args.listing, Form::Summary, output)?;
    Ok(Exit::Fine)
}
