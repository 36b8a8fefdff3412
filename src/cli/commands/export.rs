//! `export`: all events as JSON lines.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::Output;
use crate::cli::progress::{Bar, Unit};
use crate::codec::write_event;
use crate::contract::Error;
use crate::store::Events;

const EXAMPLES: &str = "\
Examples:
  causelog export run.jsonl                     to a file, which appears when it is complete
  causelog export | zstd > run.jsonl.zst
  causelog export --order | head                the order";

const BUFFER_BYTES: usize = 1 << 18;

/// Write all events as JSON lines: by host and seq, which is a function of the set of events alone, so
/// that two stores with the same events export the same bytes.
///
/// A file is written beside its name and takes the name when it is complete and safe on disk; only its
/// owner can read it.
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
    let snapshot = store.snapshot()?;
    let bar = output.bar("exporting", Unit::Count, Some(snapshot.len()));
    let events = if args.order { snapshot.ordered()? } else { snapshot.events() };
    let file = args.file.as_deref().filter(|file| file.as_os_str() != "-");
    let Some(file) = file else {
        write_all(events, &bar, |line| output.bytes(line))?;
        return Ok(Exit::Fine);
    };
    let count = to_file(file, |to| {
        write_all(events, &bar, |line| to.write_all(line).map_err(|error| unwritable(error, file)))
    })?;
    drop(bar);
    if output.is_json() {
        output.json(&json!({"file": file, "events": count}))?;
    } else {
        output.summary(format_args!("wrote {count} events to {}", file.display()))?;
    }
    Ok(Exit::Fine)
}

/// Writes each event as a line; returns how many.
fn write_all(
    events: Events,
    bar: &Bar,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut line = Vec::new();
    let mut count = 0;
    for event in events {
        line.clear();
        write_event(&event?, &mut line);
        line.push(b'\n');
        write(&line)?;
        bar.advance(1);
        count += 1;
    }
    Ok(count)
}

/// Writes a file that takes its name when it is complete.
fn to_file(file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>) -> Result<u64, Failure> {
    // Through a link the file it leads to is replaced, not the link.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let failed = |error| unwritable(error, file);
    if target.exists() && !target.is_file() {
        // A device or a pipe cannot be replaced; it is written to.
        let mut device = BufWriter::with_capacity(
            BUFFER_BYTES,
            File::options().write(true).open(&target).map_err(failed)?,
        );
        let count = write(&mut device)?;
        device.flush().map_err(failed)?;
        return Ok(count);
    }
    let dir = match target.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new().prefix(".causelog-export-").tempfile_in(dir).map_err(failed)?;
    let mut buffered = BufWriter::with_capacity(BUFFER_BYTES, temporary);
    let count = write(&mut buffered)?;
    let temporary = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    #[cfg(unix)]
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
    Ok(count)
}

fn unwritable(error: io::Error, file: &Path) -> Failure {
    Failure::Error(Error::io("the file cannot be written", error).at_path(file))
}
