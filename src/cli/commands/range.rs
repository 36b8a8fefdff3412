//! `range`: one host's events.

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::HostId;
use crate::contract::limits::SEQ_MAX;

/// Show one host's events by rising seq.
///
/// With --json the whole events, ready to be imported elsewhere. A host that is not held has none: that is no error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  causelog range laptop --from 100 --to 199 --json")]
pub(crate) struct Args {
    /// The host
    #[arg(value_name = "HOST", allow_hyphen_values = true)]
    host: String,
    /// First seq
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    from: u64,
    /// Last seq, itself included
    #[arg(long, value_name = "SEQ", default_value_t = SEQ_MAX, hide_default_value = true)]
    to: u64,
    #[command(flatten)]
    listing: Listing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let host = HostId::new(&args.host)?;
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    list(&snapshot, snapshot.range(&host, args.from..=args.to), args.listing, Form::Whole, output)?;
    Ok(Exit::Fine)
}
