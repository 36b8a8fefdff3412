//! `cursor`: how far the store is.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};

/// Show the highest seq held of each host.
///
/// With --json one object that `since` takes, here or on another store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  causelog cursor --json > seen.json")]
pub(crate) struct Args {}

pub(super) fn run(shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let cursor = store.snapshot()?.cursor()?;
    if output.is_json() {
        output.json(&cursor)?;
        return Ok(Exit::Fine);
    }
    let rows = cursor.iter().map(|(host, entry)| {
        let id = entry.id.as_ref().map(ToString::to_string).unwrap_or_default();
        [plain(host.as_str()).into_owned(), entry.seq.to_string(), plain(&id).into_owned()]
    });
    output.table(["host", "seq", "id"], &[1], rows)?;
    Ok(Exit::Fine)
}
