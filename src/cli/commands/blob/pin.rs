//! `blob pin` and `blob unpin`: what may be dropped to make room.

use serde_json::json;

use super::{is_damaged, not_left};
use crate::cli::address;
use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::Address;
use crate::store::BlobState;

/// Keep content from being dropped to make room.
///
/// `blob evict` drops it all the same. Exit 1 when some of it is not resident; the rest is pinned.
#[derive(Debug, clap::Args)]
pub(super) struct PinArgs {
    #[command(flatten)]
    which: Which,
}

/// Let content be dropped to make room again.
///
/// Exit 1 when some of it is not resident; the rest is unpinned.
#[derive(Debug, clap::Args)]
pub(super) struct UnpinArgs {
    #[command(flatten)]
    which: Which,
}

/// Which content.
#[derive(Debug, clap::Args)]
struct Which {
    /// Addresses of content
    #[arg(value_name = "HASH", required = true, value_parser = address::address)]
    addresses: Vec<Address>,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn pin(args: &PinArgs, shared: &Shared, output: &mut Output) -> Outcome {
    run(&args.which, true, shared, output)
}

pub(super) fn unpin(args: &UnpinArgs, shared: &Shared, output: &mut Output) -> Outcome {
    run(&args.which, false, shared, output)
}

fn run(which: &Which, pinned: bool, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::write_content(shared, which.writing, output)?;
    let (blobs, damaged) = (store.blobs(), is_damaged(&store));
    let mut all = Vec::new();
    let done = which.addresses.iter().try_for_each(|address| {
        let found = if pinned { blobs.pin(address)? } else { blobs.unpin(address)? };
        all.push((*address, found, blobs.state(address)?));
        Ok(())
    });
    let exit = if all.iter().all(|(_, found, _)| *found) { Exit::Fine } else { Exit::No };
    if damaged && all.iter().any(|(.., state)| *state == BlobState::Absent) {
        output.note_content_damage();
    }
    super::settle(done, &blobs, || {
        let said = all.iter().try_for_each(|one| show(one, pinned, output)).and_then(|()| output.flush());
        exit.after(said).map(drop)
    })?;
    super::close(store, output)?;
    Ok(exit)
}

fn show(
    (address, found, state): &(Address, bool, BlobState),
    pinned: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    if *state == BlobState::Absent && output.damaged() {
        output.error(&not_left(address));
        return Ok(());
    }
    let state = state.as_str();
    if output.is_json() {
        let address = address.to_string();
        return output.json(&json!({"address": address, "pinned": *found && pinned, "state": state}));
    }
    match (found, pinned) {
        (false, _) => output.line(format_args!("{address} is {state}: there is nothing to pin")),
        (true, true) => output.line(format_args!("pinned {address}")),
        (true, false) => output.line(format_args!("unpinned {address}")),
    }
}
