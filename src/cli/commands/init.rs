//! `init`: makes an empty store.

use serde_json::json;

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::output::Output;
use crate::store::{Options, Store};

/// Make an empty store, by default in ./causelog. A store that is there already is left alone: exit 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    Store::create(&dir, Options::new())?.close()?;
    if output.is_json() {
        output.json(&json!({"store": dir}))?;
    } else {
        output.summary(format_args!("made an empty store in {}", dir.display()))?;
    }
    Ok(Exit::Fine)
}
