//! `append`: one event, made here.

use std::path::Path;

use serde_json::json;

use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::contract::limits::LINE_BYTES_MAX;
use crate::contract::{Code, Error, EventId, HostId, JsonText};
use crate::store::{NewEvent, Options};

const EXAMPLES: &str = r#"Examples:
  causelog append --host laptop --type turn.started --payload '{"turnId":"t1"}'
  causelog append --host laptop --type turn.ended --payload - --cause ID < payload.json"#;

/// Append one event: its id, seq and time are given here. It is safe on disk when the command returns.
///
/// Prints where the event stands and its id; with --json an object of id, host and seq.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose event it is
    #[arg(long, value_name = "HOST")]
    host: String,
    /// What kind of event: family.kind
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// The payload, or - to read it from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    payload: String,
    /// Id of a direct cause; may be given again for each
    #[arg(long = "cause", value_name = "ID", allow_hyphen_values = true)]
    causes: Vec<String>,
    /// Take events of types that are not registered, without checking their payload
    #[arg(long)]
    accept_unknown_types: bool,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let host = HostId::new(&args.host)?;
    let causes = args.causes.iter().map(|cause| EventId::new(cause)).collect::<Result<Vec<_>, _>>()?;
    let payload = if args.payload == "-" { read_payload()? } else { args.payload };
    // The text is checked before the store is opened: who waits for a lock should not do so in vain.
    let payload = JsonText::parse(&payload)?;

    let options = Options::new().unknown_types(open::unknown_types(args.accept_unknown_types));
    let store = open::write(shared, args.writing, options, output)?;
    let mut appender = store.appender(host)?;
    let event = appender.append(NewEvent::new(&args.kind, payload).with_causes(causes))?;
    drop(appender);
    store.close()?;

    if output.is_json() {
        let (id, host) = (event.id.to_string(), event.host.as_str());
        output.json(&json!({"id": id, "host": host, "seq": event.seq.get()}))?;
    } else {
        output.line(format_args!("{}#{} {}", plain(event.host.as_str()), event.seq, event.id))?;
    }
    Ok(Exit::Fine)
}

fn read_payload() -> Result<String, Failure> {
    let too_long =
        || Error::invalid(Code::Limit, format!("the payload is over the limit of {LINE_BYTES_MAX} bytes"));
    let bytes = Input::open(Path::new("-"))?.read_to_end(LINE_BYTES_MAX)?.ok_or_else(too_long)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Error::invalid(Code::Json, "the payload is not UTF-8"))?;
    Ok(text)
}
