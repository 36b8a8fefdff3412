//! `stats`: what the store holds.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::store::Stats;

/// Show what the store holds: events by host and type, segments, bytes on disk.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read(shared, output)?;
    let stats = store.stats()?;
    if output.is_json() {
        output.json(&stats)?;
    } else {
        people(&stats, output)?;
    }
    Ok(Exit::Fine)
}

fn people(stats: &Stats, output: &mut Output) -> Result<(), Failure> {
    output.line(format_args!(
        "{} events of {} hosts, {} segments, {} bytes on disk",
        stats.events,
        stats.hosts.len(),
        stats.segments.len(),
        stats.bytes_on_disk
    ))?;
    if stats.missing_causes > 0 {
        output.line(format_args!("{} causes are named and not held", stats.missing_causes))?;
    }
    if let Some(reason) = &stats.read_only {
        output.line(format_args!("only reads: {reason}"))?;
    }
    output.line("")?;
    let hosts = stats.hosts.iter().map(|host| {
        let notes = [(host.chained, "chained"), (host.closed, "closed")];
        let notes: Vec<&str> = notes.into_iter().filter_map(|(is, note)| is.then_some(note)).collect();
        [
            plain(&host.host).into_owned(),
            host.events.to_string(),
            host.first_seq.to_string(),
            host.last_seq.to_string(),
            notes.join(" "),
        ]
    });
    output.table(["host", "events", "first seq", "last seq", ""], &[1, 2, 3], hosts)?;
    output.line("")?;
    let types = stats.types.iter().map(|(kind, events)| [plain(kind).into_owned(), events.to_string()]);
    output.table(["type", "events"], &[1], types)?;
    output.line("")?;
    let segments = stats.segments.iter().map(|segment| {
        [
            segment.number.to_string(),
            segment.form.to_string(),
            segment.events.to_string(),
            segment.bytes.to_string(),
        ]
    });
    output.table(["segment", "form", "events", "bytes"], &[0, 2, 3], segments)
}
