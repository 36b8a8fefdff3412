//! `get`: one event by its id.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::listing;
use crate::cli::open;
use crate::cli::output::{Output, Tone, plain};
use crate::contract::{Code, Error, ErrorKind, EventFields, EventId, HostId};
use crate::store::{Snapshot, StoredEvent};

const EXAMPLES: &str = "\
Examples:
  causelog get laptop#41
  causelog get 0a1b2c3d-0000-7000-8000-000000000001 --json";

/// Show one event, payload included.
///
/// With --json the event as an export has it. Exit 1 when it is not held.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The event's id, or where it stands: HOST#SEQ. An id that looks like that goes first
    #[arg(value_name = "EVENT", allow_hyphen_values = true)]
    event: String,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let event = held(&store.snapshot()?, &args.event, output)?;
    if output.is_json() {
        listing::whole(&event, output)?;
    } else {
        people(&event, output)?;
    }
    Ok(Exit::Fine)
}

/// Returns the event that a command line names, which must be held.
pub(super) fn held(snapshot: &Snapshot, text: &str, output: &Output) -> Result<StoredEvent, Failure> {
    let absent = || {
        if output.damaged() {
            // Nobody can say that it was not in what is damaged.
            Error::corrupt(format!("no event {text} is in what is left of the store"))
        } else {
            Error::new(ErrorKind::NotFound, Code::Store, format!("no event {text} is held"))
        }
    };
    Ok(named(snapshot, text)?.ok_or_else(absent)?)
}

/// Looks for the event that a command line names: by its id, else as `HOST#SEQ`.
pub(super) fn named(snapshot: &Snapshot, text: &str) -> Result<Option<StoredEvent>, Error> {
    let by_id = EventId::new(text).and_then(|id| snapshot.get(&id));
    match (by_id, place(text)) {
        (Ok(None) | Err(_), Some((host, seq))) => snapshot.range(&host, seq..=seq).next().transpose(),
        (by_id, _) => by_id,
    }
}

/// Reads `HOST#SEQ`.
pub(super) fn place(text: &str) -> Option<(HostId, u64)> {
    let (host, seq) = text.rsplit_once('#')?;
    let digits = seq.bytes().all(|byte| byte.is_ascii_digit());
    Some((HostId::new(host).ok()?, seq.parse().ok().filter(|_| digits)?))
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
