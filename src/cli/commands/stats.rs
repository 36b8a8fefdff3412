//! `stats`: what the store holds.

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::replay::count;
use crate::store::{SegmentForm, Stats};

/// Show what the store holds.
///
/// Events by host and by type, segments and their forms, bytes on disk. Reads no event.
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
        "{} of {}, {}, {} on disk",
        count(stats.events, "event"),
        count(stats.hosts.len() as u64, "host"),
        count(stats.segments.len() as u64, "segment"),
        count(stats.bytes_on_disk, "byte")
    ))?;
    if stats.lost > 0 {
        output.line(super::lost(stats.lost))?;
    }
    if let Some(content) = stats.content.filter(|content| content.packs > 0) {
        output.line(format_args!(
            "{} of content, {}; {} evicted, {} shredded; {} in {}",
            count(content.resident, "blob"),
            count(content.resident_bytes, "byte"),
            content.evicted,
            content.shredded,
            count(content.pack_bytes, "byte"),
            count(content.packs, "pack")
        ))?;
    }
    if let Some(reason) = &stats.read_only {
        output.line(format_args!("only reads: {reason}"))?;
    }
    output.line("")?;
    let or_none = |seq: Option<u64>| seq.map(|seq| seq.to_string()).unwrap_or_default();
    let hosts = stats.hosts.iter().map(|host| {
        let name = plain(&host.host).into_owned();
        [name, host.events.to_string(), or_none(host.first_seq), or_none(host.last_seq)]
    });
    output.table(["host", "events", "first seq", "last seq"], &[1, 2, 3], hosts)?;
    output.line("")?;
    let types = stats.types.iter().map(|of| [plain(&of.kind).into_owned(), of.events.to_string()]);
    output.table(["type", "events"], &[1], types)?;
    output.line("")?;
    let segments = stats.segments.iter().map(|of| {
        let form = match of.form {
            SegmentForm::Sealed => "sealed",
            SegmentForm::Active => "active",
        };
        [of.segment.to_string(), form.to_owned(), of.events.to_string(), of.bytes.to_string()]
    });
    output.table(["segment", "form", "events", "bytes"], &[0, 2, 3], segments)
}
