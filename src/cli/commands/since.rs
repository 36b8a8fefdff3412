//! `since`: what a cursor has not seen.

use std::path::Path;

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::Cursor;

const EXAMPLES: &str = r#"Examples:
  causelog cursor --json > seen.json
  causelog since seen.json --json               what came after that
  causelog since '{"laptop": 41}'               every other host from its start"#;

/// Longest text of a cursor: a million hosts fit.
const CURSOR_BYTES_MAX: usize = 256 << 20;

/// Show the events beyond a cursor, by host and seq.
///
/// With --json the whole events, ready to be imported. A cursor from another history, whose events this store holds
/// otherwise, is refused: exit 1. So is one that is ahead of this store by an event's id, as after this store was put
/// back to an older copy; where another store just knows more of a host, give that host's seq without the id.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file that holds a cursor, - for standard input, or the JSON itself
    #[arg(value_name = "CURSOR")]
    cursor: String,
    #[command(flatten)]
    listing: Listing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let cursor = read(&args.cursor)?;
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    list(&snapshot, snapshot.since(&cursor)?, args.listing, Form::Whole, output)?;
    Ok(Exit::Fine)
}

fn read(given: &str) -> Result<Cursor, Failure> {
    let inline = given.trim_start().starts_with('{');
    let text = if inline {
        given.as_bytes().to_vec()
    } else {
        let too_long = || Failure::Usage("the cursor is too long".to_owned());
        Input::open(Path::new(given))?.read_to_end(CURSOR_BYTES_MAX)?.ok_or_else(too_long)?
    };
    serde_json::from_slice(&text).map_err(|error| Failure::Usage(format!("not a cursor: {error}")))
}
