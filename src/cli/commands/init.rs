//! `init`: makes an empty store.

use serde_json::json;

use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::store::{Options, Store};

/// Make an empty store.
///
/// By default in ./causelog; directories above it are made too. A store that is there already is left alone: exit 1.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    open::no_file(&dir)?;
    Store::create(&dir, Options::new().lock_wait(args.writing.wait))?.close()?;
    if output.is_json() {
        output.json(&json!({"store": dir}))?;
    } else {
        output.summary(format_args!("made an empty store in {}", plain(&dir.to_string_lossy())))?;
    }
    Ok(Exit::Fine)
}
