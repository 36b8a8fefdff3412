//! `get`: one event by its id.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::listing;
use crate::cli::open;
use crate::cli::output::{Output, Tone, plain};
use crate::contract::{Code, Error, ErrorKind, EventFields, EventId};

/// Show one event, payload included. Exit 1 when it is not held.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The event's id
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    id: String,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let id = EventId::new(&args.id)?;
    let store = open::read(shared, output)?;
    let event = store.snapshot()?.get(&id)?.ok_or_else(|| absent(&id))?;
    if output.is_json() {
        listing::whole(&event, output)?;
    } else {
        people(&event, output)?;
    }
    Ok(Exit::Fine)
}

/// Says that an event is not held.
pub(super) fn absent(id: &EventId) -> Error {
    Error::new(ErrorKind::NotFound, Code::Store, format!("no event {id} is held"))
}

fn people(event: &impl EventFields, output: &mut Output) -> Result<(), Failure> {
    let place = format!("{}#{}", plain(event.host()), event.seq());
    let place = output.tint(Tone::Name, place);
    output.line(format_args!("{place}  {}", plain(event.kind())))?;
    let id = event.id().to_string();
    output.line(format_args!("id       {}", plain(&id)))?;
    output.line(format_args!("at       {}", listing::time(event.at())))?;
    for at in 0..event.causes_len() {
        let cause = event.cause(at).map(|cause| cause.to_string()).unwrap_or_default();
        output.line(format_args!("cause    {}", plain(&cause)))?;
    }
    output.line(format_args!("payload  {}", plain(event.payload())))?;
    if let Some(extra) = event.extra() {
        output.line(format_args!("more     {}", plain(extra)))?;
    }
    Ok(())
}
