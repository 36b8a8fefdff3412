//! `export`: all events as JSON lines.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::cli::progress::{Bar, Unit};
use crate::codec::write_event;
use crate::contract::Error;
use crate::replay::count;
use crate::store::Events;

const EXAMPLES: &str = "\
Examples:
  causelog export run.jsonl                     to a file, which appears when it is complete
  causelog export | zstd > run.jsonl.zst
  causelog export --order | head                the order";

const BUFFER_BYTES: usize = 1 << 18;

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
    let events = if args.order { snapshot.ordered()? } else { snapshot.events() };
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

/// Tells the names of standard output from those of files: what goes there is data alone.
fn is_standard_output(file: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| file.as_os_str() == *name)
}

/// Writes each event as a line; returns how many.
fn write_all(
    events: Events,
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

/// Refuses a file among the store's own.
fn refuse_inside(store: &Path, file: &Path) -> Result<(), Failure> {
    let target = followed(file).map_err(|error| unwritable(error, file))?;
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let (Ok(dir), Ok(store)) = (dir.canonicalize(), store.canonicalize())
        && dir.starts_with(store)
    {
        let name = file.to_string_lossy();
        return Err(Failure::Usage(format!("{} would stand among the store's own files", plain(&name))));
    }
    Ok(())
}

/// Writes a file that takes its name when it is complete.
fn to_file(file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>) -> Result<u64, Failure> {
    let failed = |error| unwritable(error, file);
    let target = followed(file).map_err(failed)?;
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // A device or a pipe cannot be replaced; it is written to.
        let mut device = BufWriter::with_capacity(
            BUFFER_BYTES,
            File::options().write(true).open(&target).map_err(failed)?,
        );
        let written = write(&mut device)?;
        device.flush().map_err(failed)?;
        return Ok(written);
    }
    let dir = match target.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new().prefix(".causelog-export-").tempfile_in(dir).map_err(failed)?;
    let mut buffered = BufWriter::with_capacity(BUFFER_BYTES, temporary);
    let written = write(&mut buffered)?;
    let temporary = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    #[cfg(unix)]
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
    Ok(written)
}

/// Follows links, so that the file that they lead to is replaced, and not the link. It need not exist.
fn followed(file: &Path) -> io::Result<PathBuf> {
    const LINKS_MAX: u32 = 40;
    let mut target = file.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = target.parent().map_or_else(|| next.clone(), |dir| dir.join(&next));
    }
    Err(io::Error::other("too many links"))
}

fn unwritable(error: io::Error, file: &Path) -> Failure {
    Failure::Error(Error::io("the file cannot be written", error).at_path(file))
}
