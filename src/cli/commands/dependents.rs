//! `dependents`: what followed from an event.

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::{EventFields, EventId};

/// Show the events that name an event as a cause.
///
/// By host and seq, each once; what names those in turn is not shown. With --json the whole events, ready to be imported.
/// An event that is not held is named by its id: shown are those that wait for it. Exit 1 when it is not held and
/// nothing names it. Answered by an index, so only the events shown are read.
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
    let held = super::get::named(&snapshot, &args.event)?;
    let id = match &held {
        Some(event) => event.id().to_owned(),
        None => EventId::new(&args.event)?,
    };
    let mut found = snapshot.dependents(&id)?.peekable();
    if held.is_none() && found.peek().is_none() {
        super::get::held(&snapshot, &args.event, output)?;
    }
    list(&snapshot, found, args.listing, Form::Whole, output)?;
    Ok(Exit::Fine)
}
