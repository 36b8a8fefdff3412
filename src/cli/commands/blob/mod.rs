//! `blob`: the content that events name.

mod evict;
mod get;
mod import;
mod list;
mod pin;
mod put;
mod removal;
mod state;

pub(super) use removal::{Removal, remove};

use clap::Subcommand;

use crate::cli::args::Shared;
use crate::cli::exit::{Failure, Outcome};
use crate::cli::output::{Chain, Output, plain};
use crate::contract::{Address, Error, ErrorKind};
use crate::store::{Blobs, Store};

const EXAMPLES: &str = "\
An address is what content hashes to: blake3:HEX or sha256:HEX, with all 64 hex digits; names of files have a dash \
in place of the colon, which is taken too. A part of an address is none.

Examples:
  ADDRESS=$(causelog blob put page.html)
  causelog blob get $ADDRESS --range 0..100
  causelog blob import blobs                    files that are named by their addresses";

/// Keep content, read it, forget it.
///
/// Content is stored once however often it is put, and encrypted. Events name it by its address, and stay when it goes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// What to do with content. What each says of itself stands above its arguments.
#[derive(Debug, Subcommand)]
enum Verb {
    Put(put::Args),
    Get(get::Args),
    State(state::Args),
    List(list::Args),
    Import(import::Args),
    Evict(evict::Args),
    Pin(pin::PinArgs),
    Unpin(pin::UnpinArgs),
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    match args.verb {
        Verb::Put(args) => put::run(&args, shared, output),
        Verb::Get(args) => get::run(&args, shared, output),
        Verb::State(args) => state::run(&args, shared, output),
        Verb::List(args) => list::run(&args, shared, output),
        Verb::Import(args) => import::run(&args, shared, output),
        Verb::Evict(args) => evict::run(&args, shared, output),
        Verb::Pin(args) => pin::pin(&args, shared, output),
        Verb::Unpin(args) => pin::unpin(&args, shared, output),
    }
}

/// Ends work that came as far as it came: what was done is made durable and told, and only then what ended it is
/// reported.
fn settle(
    done: Result<(), Failure>,
    blobs: &Blobs,
    tell: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    match (done, blobs.sync()) {
        (Ok(()), synced) => {
            synced?;
            tell()
        }
        (Err(failure), Ok(())) => {
            tell()?;
            Err(failure)
        }
        // Why the work ended says more than that the store takes no syncs any more.
        (Err(failure), Err(_)) => Err(failure),
    }
}

/// Reports whether a part of what the store held cannot be read, so that of nothing can be said that it was never here.
fn is_damaged(store: &Store) -> bool {
    let report = store.opening();
    !report.damage.is_empty() || !report.content_damage.is_empty()
}

/// Says of content that is not found in a damaged store what can be said of it.
fn not_left(address: &Address) -> Error {
    Error::corrupt(format!("{address} is not in what is left of the store"))
}

/// Closes the store. What was told of is durable by now, so what fails here costs the next open time and nothing else,
/// unless it is damage.
fn close(store: Store, output: &mut Output) -> Result<(), Failure> {
    match store.close() {
        Err(error) if error.kind() != ErrorKind::Corrupt => {
            output.warn(format_args!(
                "what was said is done, but the store was not closed cleanly and opens more slowly next time: {}",
                plain(&Chain(&error).to_string())
            ));
            Ok(())
        }
        closed => Ok(closed?),
    }
}
