//! `ancestry`: where an event came from.

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::EventId;

/// Show an event, then what its first cause came from, then its second, each event once. With --json the
/// whole events.
///
/// Causes that are not held are left out. Exit 1 when the event itself is not held.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The event's id
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    id: String,
    #[command(flatten)]
    listing: Listing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let id = EventId::new(&args.id)?;
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    if !snapshot.has(&id)? {
        return Err(super::get::absent(&id).into());
    }
    list(snapshot.ancestry(&id), args.listing, Form::Whole, output)?;
    Ok(Exit::Fine)
}
