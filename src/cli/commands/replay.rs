//! `replay`: a run's verdict.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::intake::{Against, Faults, Ordered, Rules, read, resolve};
use crate::cli::open;
use crate::cli::output::{Output, Tone, plain, report_faults};
use crate::cli::point::Point;
use crate::cli::progress::{Bar, Unit};
use crate::cli::resolve::{Content, CountLocked, Opened};
use crate::contract::{EventFields, JsonText, Resolution, Result};
use crate::replay::{
    Chain, Reconstruction, ReplayOptions, ReplayReport, Resolver, Shown, StoreReplay, StoredContent, Turn,
    replay,
};
use crate::store::{Blobs, Snapshot};

const EXAMPLES: &str = "\
Examples:
  causelog replay                                    the store's events, with its content
  causelog replay --from run.jsonl                   a file's, without a store
  causelog replay --from run.jsonl --blobs content   and look for the content they refer to
  causelog replay --current sources.json             has a source changed since?
  causelog replay --turns                            what each turn was shown
  causelog replay --resume run.point                 go on from where the last replay ended
  causelog replay --json | jq .violations";

/// Most characters of a member of a payload that are shown to people.
const MEMBER_CHARS: usize = 120;

/// Check a run: its order, invariants I1 to I7, its references.
///
/// Proves that the order is the one order, checks that the invariants hold, and says what became of the content that
/// events refer to. Exit 1 when the run fails. Exit 4 when the store is damaged: what is left of it has a report, and
/// no verdict.
///
/// A reference is exact where its content is still held as it was shown, be it in the store, in the directory that --blobs
/// names or, by its hash, with its source, which --current asks. Else it has drifted where the source holds something else now, and the
/// run fails; and is unavailable where there is no trace of it, which passes and is counted. Content
/// in the store that does not open to what was put, and bytes in the directory that are not what their name says, are
/// damage: exit 4, and no verdict. Without the store's key its content counts as unavailable. A --current that is no map of hashes is a wrong command line: exit 2.
///
/// With --resume a replay costs what came since the last one. It starts over, and says so, where the order changed before
/// that point, where content may have, and under other options. A file that is no point, or a damaged one, is
/// a wrong command line, and stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read the events of a file (- for standard input), in any order, instead of the store's
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    content: Content,
    /// Go on from the point that a replay of the store left in a file, and leave one there. The report is that of a
    /// replay from the start, which it is where there is no file yet or the point cannot be used
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "order", "blobs"])]
    resume: Option<PathBuf>,
    /// Show what each turn was shown, and whether that can be read again; --json always does
    #[arg(long)]
    turns: bool,
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
    let content = args.content.open(args.from.as_deref())?;
    let report = match report(args, shared, &options, &content, output) {
        // Reported here, since `verify` and `repair` know nothing of a directory.
        Err(Failure::Error(error)) if content.is_damage(&error) => {
            output.error(&error);
            return Ok(Exit::Damage);
        }
        other => other?,
    };
    let Some(Replayed { mut report, asked_store }) = report else { return Ok(Exit::No) };
    // A part of a run is no run: what is missing may have broken any invariant, or mended it.
    report.ok &= !output.damaged();
    let exit = if report.ok { Exit::Fine } else { Exit::No };
    let nothing_asked = content.is_nothing() && !asked_store;
    exit.after(say(&report, args, nothing_asked, output))
}

/// A report, and whether a store's content was there to look into.
struct Replayed {
    report: ReplayReport,
    asked_store: bool,
}

/// Replays what the command line names; `None` when that is a file with bad lines, which were reported.
fn report(
    args: &Args,
    shared: &Shared,
    options: &ReplayOptions,
    content: &Opened,
    output: &mut Output,
) -> Result<Option<Replayed>, Failure> {
    if let Some(file) = &args.from {
        let report = from_file(file, options, &content.behind(Chain::new()), output)?;
        return Ok(report.map(|report| Replayed { report, asked_store: false }));
    }
    let store = open::read(shared, output)?;
    let lost = store.opening().lost;
    if lost > 0 {
        output.warn(format_args!("{}; the verdict is on the others", super::lost(lost)));
    }
    let snapshot = store.snapshot()?;
    let blobs = store.blobs();
    let point = args.resume.as_deref().map(|file| Point::open(file, store.path())).transpose()?;
    let report = of_store(&snapshot, &blobs, content, options, point.as_ref(), output)?;
    Ok(Some(Replayed { report, asked_store: ever_held_any(&blobs)? }))
}

/// Replays a store's events; its own content is asked first.
fn of_store(
    snapshot: &Snapshot,
    blobs: &Blobs,
    content: &Opened,
    options: &ReplayOptions,
    point: Option<&Point<'_>>,
    output: &mut Output,
) -> Result<ReplayReport, Failure> {
    let stored = StoredContent::new(blobs);
    let resolver = CountLocked::new(content.behind(Chain::new().with(&stored)), &stored);
    let mut replay = match point {
        Some(point) => point.begin(snapshot, options, &resolver)?,
        None => StoreReplay::new(snapshot, options, &resolver)?,
    };
    if let Some(over) = replay.started_over() {
        output.note(format_args!("replaying from the start: {over}"));
    }
    let bar = output.bar("replaying", Unit::Count, Some(replay.events()));
    bar.advance(replay.position());
    while replay.step()? {
        bar.advance(1);
    }
    drop(bar);
    // Of a damaged store a part may be missing that is back once it is repaired.
    if let Some(point) = point.filter(|_| !output.damaged()) {
        point.save(&mut replay)?;
    }
    let mut report = replay.finish()?;
    if point.is_some() {
        // Without a file there was nothing to go on from.
        report.resumed_from.get_or_insert(0);
    }
    let locked = resolver.count();
    if locked > 0 {
        output.warn(format_args!(
            "content is under a key that is not here: {} as unavailable",
            if locked == 1 { "1 reference counts".to_owned() } else { format!("{locked} references count") }
        ));
    }
    Ok(report)
}

/// Reports whether a store holds content, or ever forgot some.
fn ever_held_any(blobs: &Blobs) -> Result<bool> {
    let stats = blobs.stats()?;
    Ok(stats.resident + stats.evicted + stats.shredded > 0)
}

fn say(report: &ReplayReport, args: &Args, nothing_asked: bool, output: &mut Output) -> Result<(), Failure> {
    show(report, output)?;
    if output.is_json() {
        return Ok(());
    }
    if nothing_asked && report.refs.unavailable > 0 {
        output.line(
            "  no content was given to look into, so nothing is known of it: --blobs DIR names some, --current MAP.json \
             says what sources hold now",
        )?;
    }
    if args.turns { show_turns(report, output) } else { Ok(()) }
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
    // Hashes are whatever text events and sources have for one.
    rest.lines().try_for_each(|line| output.line(plain(line)))
}

/// Writes a block for each assembled context.
fn show_turns(report: &ReplayReport, output: &mut Output) -> Result<(), Failure> {
    for turn in &report.turns {
        let name = turn.turn_id.as_ref().map_or_else(|| "without a name".to_owned(), member);
        output.line("")?;
        output.line(format_args!(
            "turn {}  {}",
            output.tint(Tone::Name, name),
            plain(&turn.event_id.to_string())
        ))?;
        let of = |value: &Option<JsonText>| value.as_ref().map_or_else(|| "none".to_owned(), member);
        output.line(format_args!("  budget {}, used {}", of(&turn.budget), of(&turn.used)))?;
        output.line(format_args!(
            "  {}: {} exact, {} unavailable, {} drifted",
            output.tint(tone(turn.reconstruction), in_words(turn.reconstruction)),
            turn.exact,
            turn.unavailable,
            turn.drifted
        ))?;
        for shown in &turn.shown {
            output.line(format_args!("    {}", reference(shown)))?;
        }
        rest(references(turn).saturating_sub(length(&turn.shown)), "    ", output)?;
    }
    let more = report.totals.turns.saturating_sub(length(&report.turns));
    if more > 0 {
        output.line("")?;
    }
    rest(more, "", output)
}

fn rest(more: u64, indent: &str, output: &mut Output) -> Result<(), Failure> {
    if more == 0 { Ok(()) } else { output.line(format_args!("{indent}and {more} more")) }
}

fn references(turn: &Turn) -> u64 {
    turn.exact + turn.unavailable + turn.drifted
}

fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

fn reference(shown: &Shown) -> impl Display {
    let Shown { kind, id, hash, .. } = shown;
    let state = match shown.resolution {
        Resolution::Exact => "exact".to_owned(),
        Resolution::Unavailable => "unavailable".to_owned(),
        Resolution::Drifted => {
            format!("drifted, {} now", cut(shown.actual_hash.as_deref().unwrap_or_default()))
        }
    };
    format!("{kind}:{}  {}  {state}", cut(id), cut(hash))
}

fn tone(reconstruction: Reconstruction) -> Tone {
    match reconstruction {
        Reconstruction::Full => Tone::Good,
        Reconstruction::Partly => Tone::Warning,
        Reconstruction::No => Tone::Bad,
    }
}

fn in_words(reconstruction: Reconstruction) -> &'static str {
    match reconstruction {
        Reconstruction::Full => "can be read again in full",
        Reconstruction::Partly => "can be read again in part",
        Reconstruction::No => "cannot be read again",
    }
}

/// Returns a member of a payload as it stands, fit for a terminal.
fn member(value: &JsonText) -> String {
    cut(value.as_str())
}

/// Returns text of an event, fit for a terminal and of bounded length.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MEMBER_CHARS) {
        Some((end, _)) => format!("{}...", plain(text.get(..end).unwrap_or_default())),
        None => plain(text).into_owned(),
    }
}

/// Replays events that come in the order, and resolves what they refer to.
pub(super) fn resolved<E: EventFields>(
    events: impl Iterator<Item = Result<E>>,
    options: &ReplayOptions,
    resolver: &dyn Resolver,
    bar: &Bar,
) -> Result<ReplayReport> {
    replay(events.inspect(|_| bar.advance(1)), options, resolver)
}

/// Replays a file; `None` when it has bad lines, which were reported.
fn from_file(
    file: &Path,
    options: &ReplayOptions,
    resolver: &dyn Resolver,
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
    Ok(Some(resolved(Ordered::new(&arranged)?, options, resolver, &bar)?))
}
