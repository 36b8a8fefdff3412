//! `append`: one event, made here.

use std::path::Path;

use serde_json::json;

use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::contract::limits::LINE_BYTES_MAX;
use crate::contract::{Code, Error, ErrorKind, Event, EventFields, EventId, HostId, JsonText};
use crate::store::{NewEvent, Snapshot};

const EXAMPLES: &str = r#"Examples:
  causelog append --host laptop --type turn.started --payload '{"turnId":"t1"}'
  causelog append --host laptop --type turn.ended --payload - --cause laptop#0 < payload.json"#;

/// Append one event.
///
/// Its id, seq and time are given here, and it is safe on disk when the command says where it stands. Prints that
/// place and the id; with --json an object of id, host and seq.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose event it is
    #[arg(long, value_name = "HOST", allow_hyphen_values = true)]
    host: String,
    /// What kind of event: family.kind
    #[arg(long = "type", value_name = "TYPE", allow_hyphen_values = true)]
    kind: String,
    /// The payload, or - to read it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    payload: String,
    /// A direct cause: its id, held or not, or HOST#SEQ of one that is held; may be given again for each
    #[arg(long = "cause", value_name = "EVENT", allow_hyphen_values = true)]
    causes: Vec<String>,
    /// Take events of types that are not registered, without checking their payload
    #[arg(long)]
    accept_unknown_types: bool,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let host = HostId::new(&args.host)?;
    let payload = if args.payload == "-" { read_payload()? } else { args.payload };
    // The text is checked before the store is opened: who waits for a lock should not do so in vain.
    let payload = JsonText::parse(&payload)?;

    let options = shared.options().unknown_types(open::unknown_types(args.accept_unknown_types));
    let store = open::write(shared, args.writing, options, output)?;
    let snapshot = store.snapshot()?;
    let causes = args.causes.iter().map(|text| cause(&snapshot, text)).collect::<Result<Vec<_>, _>>()?;
    let mut appender = store.appender(host)?;
    let event = appender.append(NewEvent::new(&args.kind, payload).with_causes(causes))?;
    drop((appender, snapshot));
    let said = show(&event, output).and_then(|()| output.flush());
    // The event is durable, whatever becomes of the index or the checkpoint: the next open makes those anew.
    if let Err(error) = store.close() {
        output.warn(format_args!("the event is stored; closing the store failed: {error}"));
    }
    if said.is_err() {
        output.warn("the event is stored; what could not be written is where it stands");
    }
    Exit::Fine.after(said)
}

fn show(event: &Event, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        let (id, host) = (event.id.to_string(), event.host.as_str());
        return output.json(&json!({"id": id, "host": host, "seq": event.seq.get()}));
    }
    let id = event.id.to_string();
    output.line(format_args!("{}#{} {}", plain(event.host.as_str()), event.seq, plain(&id)))
}

/// Reads a cause. An id may name an event that is not held; a place in a host that is held may not.
fn cause(snapshot: &Snapshot, text: &str) -> Result<EventId, Error> {
    if let Some(event) = super::get::named(snapshot, text)? {
        return Ok(event.id().to_owned());
    }
    if let Some((host, _)) = super::get::place(text)
        && snapshot.range(&host, ..).next().is_some()
    {
        let message = format!("no event {text} is held that could be a cause");
        return Err(Error::new(ErrorKind::NotFound, Code::Store, message));
    }
    EventId::new(text)
}

fn read_payload() -> Result<String, Failure> {
    let too_long =
        || Error::invalid(Code::Limit, format!("the payload is over the limit of {LINE_BYTES_MAX} bytes"));
    let bytes = Input::open(Path::new("-"))?.read_to_end(LINE_BYTES_MAX)?.ok_or_else(too_long)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Error::invalid(Code::Json, "the payload is not UTF-8"))?;
    Ok(text)
}
