//! `blob list`: the content that is resident.

use serde_json::json;

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::{Address, Code, Error, ErrorKind};

/// List the content that is resident, with its length in bytes.
///
/// By the address of the store's own algorithm, in no particular order. Needs no master key.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Args {
    /// Show so much content at most
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read_content(shared, output)?;
    let most = args.limit.unwrap_or(u64::MAX);
    let (mut shown, mut end) = (0, Ok(()));
    let listed = store.blobs().for_each(|address, bytes| {
        if shown < most {
            shown += 1;
            end = show(address, bytes, output);
            if end.is_ok() && shown < most {
                return Ok(());
            }
        }
        Err(enough())
    });
    end?;
    if let Err(error) = listed
        && shown < most
    {
        return Err(error.into());
    }
    Ok(Exit::Fine)
}

/// What ends a listing that came to its limit.
fn enough() -> Error {
    Error::new(ErrorKind::NotFound, Code::Limit, "the listing came to its limit")
}

fn show(address: Address, bytes: u64, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(&json!({"address": address.to_string(), "bytes": bytes}));
    }
    output.line(format_args!("{address}  {bytes}"))
}
