//! `blob evict`: drops content to make room.

use super::{Removal, remove};
use crate::cli::address;
use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::Outcome;
use crate::cli::output::Output;
use crate::contract::Address;

/// Drop content to make room; putting it again restores it.
///
/// Pinned content goes too. Says what it will do and asks. Content that is evicted already stays so: exit 0. Exit 1 when
/// some of it is not held; the rest is evicted. Disk space comes free when nothing of a pack is left. To forget content
/// for good, see `causelog shred`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Addresses of content
    #[arg(value_name = "HASH", required = true, value_parser = address::address)]
    addresses: Vec<Address>,
    #[command(flatten)]
    how: Destructive,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    remove(Removal::Evict, &args.addresses, args.how, args.writing, shared, output)
}
