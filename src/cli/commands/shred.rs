//! `shred`: forgets content for good.

use super::blob::{Removal, remove};
use crate::cli::address;
use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::exit::Outcome;
use crate::cli::output::Output;
use crate::contract::Address;

const PROMISES: &str = "\
What it does: the key of the content is overwritten in the store's files, for all subjects that it is about, and a \
tombstone is written, so that no import brings the content back. Both are safe on disk when the command says so.

What it does not do:
- The address stays, and events go on naming it. Short or guessable content can be found by hashing guesses.
- Copies of the store's files from before, such as backups and snapshots of a file system, still hold the key: \
whoever has such a copy and the master key can open the content. The same is true of a medium that keeps what was \
overwritten, as flash memory does. A vacuum, which moves a store to a new master key, will end that; no verb does that \
yet.
- What left the store before, such as files that `blob get` wrote, is not touched.
- Putting the content again by hand, with `blob put`, stores it again, under a fresh key.

Examples:
  causelog shred $ADDRESS --dry-run
  causelog shred --yes $(cat addresses)";

/// Shred content: nobody can read it again from this store.
///
/// Says what it will do and asks. Content that is shredded already stays so: exit 0. Exit 1 when some of it was never
/// here; the rest is shredded. Exit 4 when some of it is not found in a store whose content is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = PROMISES)]
pub(crate) struct Args {
    /// Addresses of content
    #[arg(value_name = "HASH", required = true, value_parser = address::address)]
    addresses: Vec<Address>,
    #[command(flatten)]
    how: Destructive,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    remove(Removal::Shred, &args.addresses, args.how, args.writing, shared, output)
}
