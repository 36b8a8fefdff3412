//! `import`: a file of events, in any order.

mod batch;
mod report;
mod sorted;
mod stream;

use std::path::PathBuf;

use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::intake::Rules;
use crate::cli::open;
use crate::cli::output::{Chain, Output, plain};
use crate::contract::{ErrorKind, TypeRegistry};
use crate::store::{Durability, Store};

pub(crate) use report::Report;
pub(crate) use sorted::{How, sorted};

const EXAMPLES: &str = "\
Lines that cannot go in are named with their number and the reason. Then nothing of the file is stored, \
unless --lenient says otherwise. An event that is held already, or stands in the file twice, is a \
duplicate and no error. An id that comes again with other content is an error of the later line, and so \
is a host and seq that comes again with another id. A line that is refused takes no host and seq from a \
later one.

An import that is interrupted, by Ctrl-C or a full disk, leaves the events that were stored until then. \
Import the file again to finish: what is held is a duplicate.

Examples:
  causelog import run.jsonl
  causelog import run.jsonl --dry-run           what would happen
  zstdcat run.jsonl.zst | causelog import -
  tail -f run.jsonl | causelog import - --stream";

/// Put a file of events, one JSON object a line, into the store.
///
/// Lines may come in any order: all are checked first, then they go in by host and seq, each after its
/// causes. Memory stays bounded whatever the file's size; temporary files need up to twice its size.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Args {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave out the lines that cannot go in and store the others; exit 1 if there were any
    #[arg(long)]
    lenient: bool,
    /// Say what would happen, and store nothing
    #[arg(long, conflicts_with = "stream")]
    dry_run: bool,
    /// Store events as they are read, in the order of the lines; what stands before a bad line stays
    #[arg(long)]
    stream: bool,
    /// Take events of types that are not registered, without checking their payload
    #[arg(long)]
    accept_unknown_types: bool,
    /// Directory of temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let unknown = open::unknown_types(args.accept_unknown_types);
    let options = shared.options().unknown_types(unknown);
    // A sorted import syncs once, before it says that it is done; a stream has no such moment.
    let options = if args.stream { options } else { options.durability(Durability::Os) };
    let store = if args.dry_run {
        open::read(shared, output)?
    } else {
        open::write(shared, args.writing, options, output)?
    };
    let input = Input::open(&args.file)?;
    let rules = Rules::Append { registry: TypeRegistry::v1(), unknown };
    let temp_dir = args.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let before = store.snapshot()?.len();
    let mut report = Report::default();
    let outcome = if args.stream {
        stream::stream(&store, input, &rules, args.lenient, &mut report, output)
    } else {
        let how = How { lenient: args.lenient, dry_run: args.dry_run, temp_dir };
        sorted(&store, input, &rules, &how, &mut report, output)
    };
    if let Err(failure) = outcome {
        tell_what_is_stored(&store, before, report, output)?;
        return Err(failure);
    }
    let said = report.show(output).and_then(|()| output.flush());
    close(store, output)?;
    let exit = if report.refused == 0 { Exit::Fine } else { Exit::No };
    exit.after(said)
}

/// Says how far an import came that ended in an error, which is reported next.
fn tell_what_is_stored(
    store: &Store,
    before: u64,
    mut report: Report,
    output: &mut Output,
) -> Result<(), Failure> {
    // What was acknowledged, and not what was counted: a batch can fail in its middle.
    report.stored = store.snapshot()?.len().saturating_sub(before);
    if report.stored == 0 {
        return Ok(());
    }
    report.lines = report.lines.max(report.stored + report.duplicates + report.refused);
    report.hold_back_the_rest();
    report.show(output)?;
    let kept =
        if store.sync().is_ok() { "are stored" } else { "are stored, but may not outlast a power cut" };
    output.warn(format_args!(
        "the import ended early: {} of its events {kept}; importing the file again goes on from there",
        report.stored
    ));
    Ok(())
}

/// Closes the store. Every event that was reported is safe by now, so what fails here costs the next open time
/// and nothing else, unless it is damage.
fn close(store: Store, output: &mut Output) -> Result<(), Failure> {
    match store.close() {
        Err(error) if error.kind() != ErrorKind::Corrupt => {
            output.warn(format_args!(
                "the events are safe, but the store was not closed cleanly and opens more slowly next time: {}",
                plain(&Chain(&error).to_string())
            ));
            Ok(())
        }
        closed => Ok(closed?),
    }
}
