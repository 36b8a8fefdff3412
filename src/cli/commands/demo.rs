//! `demo`: what causelog does, on a recorded run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::{Listing, Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::intake::Rules;
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::{Output, Tone, plain};
use crate::cli::progress::Unit;
use crate::codec::parse_event;
use crate::contract::{Code, Error, ErrorKind, EventFields, EventId, Result, TypeRegistry, UnknownTypes};
use crate::replay::ReplayOptions;
use crate::store::{Options, Store};

use super::{import, replay};

/// A run as another implementation recorded it.
const SAMPLE: &str = include_str!("../../../examples/sample/run.jsonl");
/// How much of the order is shown.
const SHOWN: u64 = 12;

/// Show what causelog does, on a recorded run.
///
/// Imports the run into a fresh store, shows its order, replays it. The store is made in a new temporary directory, or
/// where --store says; it stays there. The environment names no store for this verb, so that no real one gets the
/// sample by accident.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let dir = match &shared.store {
        Some(dir) => dir.clone(),
        None => new_dir()?,
    };
    open::no_file(&dir)?;
    let store = take(&dir, &Options::new().lock_wait(args.writing.wait))?;
    let rules = Rules::Append { registry: TypeRegistry::v1(), unknown: UnknownTypes::Refuse };
    let how = import::How { lenient: false, dry_run: false, temp_dir: std::env::temp_dir() };
    let mut imported = import::Report::default();
    import::sorted(&store, Input::text(SAMPLE), &rules, &how, &mut imported, output)?;
    let snapshot = store.snapshot()?;
    let bar = output.bar("replaying", Unit::Count, Some(snapshot.len()));
    let report = replay::watched(snapshot.ordered()?, &ReplayOptions::new(), &bar)?;
    drop(bar);
    if output.is_json() {
        output.json(&json!({"store": dir, "import": imported, "replay": report}))?;
    } else {
        let events = snapshot.len();
        title(output, format_args!("A run of an agent, recorded on {} hosts", report.totals.hosts))?;
        output.line(format_args!(
            "  {} events are in a store in {}",
            events,
            plain(&dir.to_string_lossy())
        ))?;
        if shared.store.is_none() {
            output.line(format_args!("  It stays there until `rm -r {}` removes it.", quoted(&dir)))?;
        }
        if imported.duplicates > 0 {
            output.line(format_args!(
                "  {} of them were there before: importing again changes nothing",
                imported.duplicates
            ))?;
        }
        title(output, format_args!("Its order, the first {SHOWN} of {events} events"))?;
        let listing = Listing { limit: Some(SHOWN), payload: false };
        list(&snapshot, snapshot.ordered()?, listing, Form::Summary, output)?;
        output
            .line("  The order depends on the set of events alone: not on clocks, nor on who came first.")?;
        title(output, "Its replay")?;
        replay::show(&report, output)?;
        next(&dir, output)?;
    }
    store.close()?;
    Ok(if report.ok { Exit::Fine } else { Exit::No })
}

fn title(output: &mut Output, text: impl std::fmt::Display) -> Result<(), Failure> {
    output.line("")?;
    output.line(output.tint(Tone::Name, text))
}

/// Says what to try next, as commands that work where they are read.
fn next(dir: &Path, output: &mut Output) -> Result<(), Failure> {
    let program = std::env::args_os().next().unwrap_or_else(|| "causelog".into());
    let program = quoted(Path::new(&program));
    let dir = quoted(dir);
    title(output, "What to try next")?;
    for (verb, what) in [
        ("log --last 5 --payload", "the end of the order, with payloads"),
        ("stats", "hosts, types and segments"),
        ("replay --json", "the whole report"),
        ("verify", "every checksum, every link of the chain"),
        ("export", "all events, as JSON lines"),
    ] {
        output.line(format_args!("  {program} --store {dir} {verb:24}  # {what}"))?;
    }
    Ok(())
}

/// Quotes a path for a shell where it needs that.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:\\".contains(&byte);
    if !text.is_empty() && text.bytes().all(safe) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn new_dir() -> Result<PathBuf> {
    let dir = tempfile::Builder::new().prefix("causelog-demo-").tempdir();
    dir.map(tempfile::TempDir::keep).map_err(|error| Error::io("no temporary directory", error))
}

/// Makes the store, or takes one that an earlier demo made.
fn take(dir: &Path, options: &Options) -> Result<Store> {
    let store = match Store::open(dir, options.clone()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Store::create(dir, options.clone()),
        other => other?,
    };
    let sample = SAMPLE
        .lines()
        .map(|line| Ok(parse_event(line.as_bytes())?.id))
        .collect::<Result<HashSet<EventId>>>()?;
    for event in store.snapshot()?.events() {
        if !sample.contains(&event?.id().to_owned()) {
            let message = "the store holds other events than the demo's; it is left alone";
            return Err(Error::invalid(Code::Store, message).at_path(dir));
        }
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("/tmp/causelog-demo-a1")), "/tmp/causelog-demo-a1");
        assert_eq!(quoted(Path::new("my store")), "'my store'");
        assert_eq!(quoted(Path::new("it's")), r"'it'\''s'");
    }
}
