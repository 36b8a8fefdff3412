//! `ancestry`: where an event came from.

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::EventFields;

/// Show an event and everything it came from.
///
/// The event goes first, then its causes, then theirs, each event once. With --json the whole events, ready to be
/// imported. Causes that are not held are left out. Exit 1 when the event itself is not held.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The event's id, or where it stands: HOST#SEQ
    #[arg(value_name = "EVENT", allow_hyphen_values = true)]
    event: String,
    #[command(flatten)]
    listing: Listing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    let id = super::get::held(&snapshot, &args.event, output)?.id().to_owned();
    list(&snapshot, snapshot.ancestry(&id), args.listing, Form::Whole, output)?;
    Ok(Exit::Fine)
}
