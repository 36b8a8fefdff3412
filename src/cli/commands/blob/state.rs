//! `blob state`: what became of content.

use serde_json::json;

use super::not_left;
use crate::cli::address;
use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, Tone};
use crate::contract::Address;
use crate::replay::count;
use crate::store::{BlobState, Blobs};

/// Tell what became of content: resident, evicted, shredded or absent.
///
/// One line for each address. Needs no master key. Exit 0 when all of it is resident, else 1.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Addresses of content
    #[arg(value_name = "HASH", required = true, value_parser = address::address)]
    addresses: Vec<Address>,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read_content(shared, output)?;
    let blobs = store.blobs();
    let mut exit = Exit::Fine;
    let mut said = Ok(());
    for address in &args.addresses {
        let state = blobs.state(address)?;
        if state != BlobState::Resident {
            exit = Exit::No;
        }
        // A reader that leaves changes no answer.
        if said.is_ok() {
            said = show(address, state, &blobs, output);
        }
    }
    exit.after(said)
}

fn show(address: &Address, state: BlobState, blobs: &Blobs, output: &mut Output) -> Result<(), Failure> {
    let (bytes, shredded) = (blobs.len_of(address)?, blobs.is_shredded(address)?);
    if state == BlobState::Absent && output.damaged() {
        return Err(not_left(address).into());
    }
    if output.is_json() {
        let state = state.as_str();
        let address = address.to_string();
        return output
            .json(&json!({"address": address, "state": state, "bytes": bytes, "shredded": shredded}));
    }
    let tone = if state == BlobState::Resident { Tone::Good } else { Tone::Warning };
    let word = output.tint(tone, state.as_str());
    let bytes = bytes.map(|bytes| format!(", {}", count(bytes, "byte"))).unwrap_or_default();
    let again = shredded && state != BlobState::Shredded;
    let again = if again { ", shredded before and put again" } else { "" };
    output.line(format_args!("{address}  {word}{bytes}{again}"))
}
