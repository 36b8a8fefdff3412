//! `hosts`: who writes, and what each promised.

use serde_json::json;

use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::contract::{HostId, HostPromise};
use crate::store::HostInfo;

const EXAMPLES: &str = "Examples:
  causelog hosts
  causelog hosts declare laptop --chained
  causelog hosts declare phone --closed         no further event of it is taken";

/// Show the hosts, or declare one.
///
/// Of each host: what it promised, what is held, what was evicted and how many events are pinned.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What to do with hosts. What it says of itself stands above its arguments.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    Declare(Declare),
}

/// Declare that a host writes here, and what it promises from here on.
///
/// Once one host is declared, no event of a host that is not is taken any more. Declaring a host again replaces what it
/// promised: without --closed it is open, without --chained it need not chain.
#[derive(Debug, clap::Args)]
struct Declare {
    /// The host
    #[arg(value_name = "HOST", allow_hyphen_values = true)]
    host: String,
    /// Each of its events names its previous one as a cause
    #[arg(long)]
    chained: bool,
    /// No further event of it will come
    #[arg(long)]
    closed: bool,
    /// Further events of it may come [default]
    #[arg(long, conflicts_with = "closed")]
    open: bool,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    match args.verb {
        None => list(shared, output),
        Some(Verb::Declare(args)) => declare(&args, shared, output),
    }
}

fn list(shared: &Shared, output: &mut Output) -> Outcome {
    let hosts = open::read(shared, output)?.snapshot()?.hosts()?;
    if output.is_json() {
        hosts.iter().try_for_each(|host| output.json(host))?;
        return Ok(Exit::Fine);
    }
    let rows = hosts.iter().map(row);
    let head = ["host", "declared", "events", "first seq", "last seq", "high", "evicted", "pinned"];
    output.table(head, &[2, 3, 4, 5, 7], rows)?;
    Ok(Exit::Fine)
}

fn row(host: &HostInfo) -> [String; 8] {
    let or_none = |seq: Option<u64>| seq.map(|seq| seq.to_string()).unwrap_or_default();
    let declared = match (host.declared, host.closed, host.chained) {
        (false, ..) => "",
        (_, true, true) => "closed, chained",
        (_, true, false) => "closed",
        (_, false, true) => "open, chained",
        (_, false, false) => "open",
    };
    let evicted = host.evicted.map(|span| format!("{} to {}", span.first, span.last)).unwrap_or_default();
    [
        plain(&host.host).into_owned(),
        declared.to_owned(),
        host.events.to_string(),
        or_none(host.first_seq),
        or_none(host.last_seq),
        or_none(host.high),
        evicted,
        host.pinned.to_string(),
    ]
}

fn declare(args: &Declare, shared: &Shared, output: &mut Output) -> Outcome {
    let host = HostId::new(&args.host)?;
    let promise = HostPromise { chained: args.chained, closed: args.closed };
    let store = open::write(shared, args.writing, shared.options(), output)?;
    store.declare_host(&host, promise)?;
    let HostPromise { chained, closed } = promise;
    let said = if output.is_json() {
        output.json(&json!({"host": host.as_str(), "chained": chained, "closed": closed}))
    } else {
        let (open, chained) =
            (if closed { "closed" } else { "open" }, if chained { " and chained" } else { "" });
        output.line(format_args!("{} is declared {open}{chained}", plain(host.as_str())))
    };
    let said = said.and_then(|()| output.flush());
    // The declaration is durable, whatever becomes of the index or the checkpoint.
    if let Err(error) = store.close() {
        output.warn(format_args!("the host is declared; closing the store failed: {error}"));
    }
    Exit::Fine.after(said)
}
