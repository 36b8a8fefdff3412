//! `replay`: a run's verdict.

use std::path::{Path, PathBuf};

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::intake::{Against, Faults, Ordered, Rules, read, resolve};
use crate::cli::open;
use crate::cli::output::{Output, Tone, report_faults};
use crate::cli::progress::{Bar, Unit};
use crate::contract::{EventFields, Result};
use crate::replay::{NoResolver, ReplayOptions, ReplayReport, replay};

const EXAMPLES: &str = "\
Examples:
  causelog replay                               the store's events
  causelog replay --from run.jsonl              a file's, without a store
  causelog replay --json | jq .violations";

/// Check a run: its order, invariants I1 to I7, its references.
///
/// Proves that the order is the one order, checks that the invariants hold, and says what became of the content that
/// events refer to. Exit 1 when the run fails. Exit 4 when the store is damaged: what is left of it has a report, and
/// no verdict.
///
/// Content is not kept in this version: every reference counts as unavailable, and passes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read the events of a file (- for standard input), in any order, instead of the store's
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// With --json, list the ids of all events in the order
    #[arg(long, requires = "json")]
    order: bool,
    /// How many events of one host, type and stream may be kept before I5 is violated
    #[arg(long, value_name = "N")]
    ephemeral_budget: Option<u64>,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let mut options = ReplayOptions::new().keep_order(args.order);
    if let Some(budget) = args.ephemeral_budget {
        options = options.ephemeral_budget(budget);
    }
    let report = if let Some(file) = &args.from {
        from_file(file, &options, output)?
    } else {
        let store = open::read(shared, output)?;
        let lost = store.opening().lost;
        if lost > 0 {
            output.warn(format_args!("{}; the verdict is on the others", super::lost(lost)));
        }
        let snapshot = store.snapshot()?;
        let bar = output.bar("replaying", Unit::Count, Some(snapshot.len()));
        Some(watched(snapshot.ordered()?, &options, &bar)?)
    };
    let Some(mut report) = report else { return Ok(Exit::No) };
    // A part of a run is no run: what is missing may have broken any invariant, or mended it.
    report.ok &= !output.damaged();
    let exit = if report.ok { Exit::Fine } else { Exit::No };
    exit.after(show(&report, output))
}

/// Writes a report for whoever reads it.
pub(super) fn show(report: &ReplayReport, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(report);
    }
    let text = report.to_string();
    let (verdict, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let verdict =
        if output.damaged() { "verdict: none, the store is damaged; of what is left:" } else { verdict };
    let tone = if report.ok { Tone::Good } else { Tone::Bad };
    output.line(output.tint(tone, verdict.to_owned()))?;
    output.bytes(rest.as_bytes())
}

/// Replays events that come in the order.
pub(super) fn watched<E: EventFields>(
    events: impl Iterator<Item = Result<E>>,
    options: &ReplayOptions,
    bar: &Bar,
) -> Result<ReplayReport> {
    replay(events.inspect(|_| bar.advance(1)), options, &NoResolver)
}

/// Replays a file; `None` when it has bad lines, which were reported.
fn from_file(
    file: &Path,
    options: &ReplayOptions,
    output: &mut Output,
) -> Result<Option<ReplayReport>, Failure> {
    let input = Input::open(file)?;
    let dir = std::env::temp_dir();
    let mut faults = Faults::default();
    let bar = output.bar("reading", Unit::Bytes, input.bytes);
    // What a payload must be is for the invariants to judge, and types may be newer than this process.
    let intake = read(input.watched(&bar), &Rules::Envelope, &Against::nothing(), &dir, &mut faults)?;
    drop(bar);
    let arranged = resolve(intake, &dir, &mut faults, &Against::nothing(), || ())?;
    if faults.count() > 0 {
        report_faults(&faults, output);
        return Ok(None);
    }
    let bar = output.bar("replaying", Unit::Count, Some(arranged.events()));
    Ok(Some(watched(Ordered::new(&arranged)?, options, &bar)?))
}
