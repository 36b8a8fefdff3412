//! `export`: all events as JSON lines.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::cli::progress::{Bar, Unit};
use crate::cli::target::{is_standard_output, refuse_inside, to_file, unwritable};
use crate::codec::write_event;
use crate::contract::{Error, Result};
use crate::replay::count;
use crate::store::StoredEvent;

const EXAMPLES: &str = "\
Examples:
  causelog export run.jsonl                     to a file, which appears when it is complete
  causelog export | zstd > run.jsonl.zst
  causelog export --order | head                the order";

/// Write all events, as JSON lines.
///
/// By host and seq, which is a function of the set of events alone, so that two stores with the same events export the
/// same bytes. A file is written beside its name and takes the name when it is complete and safe on disk; a new one can
/// be read by its owner alone, an old one keeps its mode. What is left of a damaged store goes to standard output, and
/// into no file: exit 4.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file; without it, or as -, standard output
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the one order instead
    #[arg(long)]
    order: bool,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let file = args.file.as_deref().filter(|file| !is_standard_output(file));
    if let Some(file) = file
        && output.damaged()
    {
        let message = "the store is damaged, and no file is made of what is left of it; without a file it goes to \
                       standard output";
        return Err(Error::corrupt(message).at_path(file).into());
    }
    if let Some(file) = file {
        refuse_inside(&shared.store_dir(), file)?;
    }
    let snapshot = store.snapshot()?;
    let events: Box<dyn Iterator<Item = Result<StoredEvent>>> =
        if args.order { Box::new(snapshot.ordered()?) } else { Box::new(snapshot.events()) };
    let all = Some(snapshot.len());
    let Some(file) = file else {
        let bar = output.bar_beside_data("exporting", Unit::Count, all);
        write_all(events, &bar, |line| output.bytes(line))?;
        return Ok(Exit::Fine);
    };
    let bar = output.bar("exporting", Unit::Count, all);
    let events_written = to_file(file, |to| {
        write_all(events, &bar, |line| to.write_all(line).map_err(|error| unwritable(error, file)))
    })?;
    drop(bar);
    if output.is_json() {
        output.json(&json!({"file": file, "events": events_written}))?;
    } else {
        output.summary(format_args!(
            "wrote {} to {}",
            count(events_written, "event"),
            plain(&file.to_string_lossy())
        ))?;
    }
    Ok(Exit::Fine)
}

/// Writes each event as a line; returns how many.
fn write_all(
    events: impl Iterator<Item = Result<StoredEvent>>,
    bar: &Bar,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut line = Vec::new();
    let mut written = 0;
    for event in events {
        line.clear();
        write_event(&event?, &mut line);
        line.push(b'\n');
        write(&line)?;
        bar.advance(1);
        written += 1;
    }
    Ok(written)
}
