//! `stable`: how much of the order can still change.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};

/// Say how much of the order is settled, and why no more.
///
/// A new event can take a place before older ones. What it can be is known once every host is declared (`hosts
/// declare`): then no event ever takes a place before the first N of the order, whatever arrives. An eviction, or a further
/// declaration, changes what N is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  causelog stable --json | jq .len")]
pub(crate) struct Args {}

pub(super) fn run(shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let stable = store.snapshot()?.stable()?;
    if output.is_json() {
        output.json(&stable)?;
        return Ok(Exit::Fine);
    }
    let reason = stable.reason.to_string();
    output.line(format_args!(
        "{} of {} events are settled: {}",
        stable.len,
        stable.events,
        plain(&reason)
    ))?;
    Ok(Exit::Fine)
}
