//! `demo`: what causelog does, on a recorded run.

mod content;
mod forget;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::{Listing, Shared, Writing, with_key_file};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::intake::Rules;
use crate::cli::listing::{Form, list};
use crate::cli::open;
use crate::cli::output::{Output, Tone, plain};
use crate::cli::progress::Unit;
use crate::codec::parse_event;
use crate::contract::{
    AddressKind, Code, Error, ErrorKind, EventFields, EventId, Result, TypeRegistry, UnknownTypes,
};
use crate::replay::{ReplayOptions, ReplayReport, Resolver, StoredContent};
use crate::store::{Options, Snapshot, Store};

use super::{import, replay};

use forget::{Forgotten, Naming, forget};

/// A run as another implementation recorded it.
const SAMPLE: &str = include_str!("../../../../examples/sample/run.jsonl");
/// How much of the order is shown.
const SHOWN: u64 = 6;

/// Show what causelog does, on a recorded run.
///
/// Imports the run and its content into a fresh store, shows its order, and replays it. Then it forgets two pieces of the
/// content, looks for what is left of them, and replays again: what is gone passes, and is counted. The store is made in a new temporary directory, or
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
    // Nor does the environment name its key: a key is one store's.
    let options = with_key_file(Options::new(), shared.key_file.clone());
    let options = options.lock_wait(args.writing.wait).address_kind(AddressKind::Sha256);
    let store = take(&dir, &options)?;
    let rules = Rules::Append { registry: TypeRegistry::v1(), unknown: UnknownTypes::Refuse };
    let how = import::How { lenient: false, dry_run: false, temp_dir: std::env::temp_dir() };
    let mut imported = import::Report::default();
    import::sorted(&store, Input::text(SAMPLE), &rules, &how, &mut imported, output)?;
    let blobs = store.blobs();
    let mut content = content::put(&blobs)?;
    let snapshot = store.snapshot()?;
    content.shredded_before = content::shredded(&snapshot)?;

    let stored = StoredContent::new(&blobs);
    let naming = Naming::new(&stored);
    let before = judge(&snapshot, &naming, output)?;
    let forgotten = naming.pick().into_iter().map(|named| forget(&blobs, &dir, named));
    let forgotten = forgotten.collect::<Result<Vec<_>>>()?;
    let after = judge(&snapshot, &StoredContent::new(&blobs), output)?;

    if output.is_json() {
        output.json(&json!({
            "store": dir, "import": imported, "content": content, "replay": before,
            "forgotten": forgotten, "afterForgetting": after,
        }))?;
    } else {
        let events = snapshot.len();
        title(output, format_args!("A run of an agent, recorded on {} hosts", before.totals.hosts))?;
        output.line(format_args!(
            "  {events} events and {} pieces of content are in a store in {}",
            content.pieces.saturating_sub(content.left_out),
            plain(&dir.to_string_lossy())
        ))?;
        if shared.store.is_none() {
            output.line(format_args!("  It stays there until `rm -r {}` removes it.", quoted(&dir)))?;
        }
        if imported.duplicates > 0 {
            output.line(format_args!(
                "  {} of the events were there before: importing again changes nothing",
                imported.duplicates
            ))?;
        }
        if content.left_out > 0 {
            output.line(format_args!("  {} pieces were forgotten before, and stay so", content.left_out))?;
        }
        output.line(format_args!(
            "  {} further pieces were shredded before the run was handed over: it records that itself.",
            content.shredded_before.len()
        ))?;
        title(output, format_args!("Its order, the first {SHOWN} of {events} events"))?;
        let listing = Listing { limit: Some(SHOWN), payload: false };
        list(&snapshot, snapshot.ordered()?, listing, Form::Summary, output)?;
        output
            .line("  The order depends on the set of events alone: not on clocks, nor on who came first.")?;
        title(output, "Its replay: every reference is looked up, every piece of content opened")?;
        replay::show(&before, output)?;
        title(output, "Forgetting two pieces of it")?;
        forgotten.iter().try_for_each(|one| show_forgotten(one, output))?;
        title(output, "Its replay now: what is gone passes, and is counted")?;
        replay::show(&after, output)?;
        next(&dir, output)?;
    }
    store.close()?;
    Ok(if before.ok && after.ok { Exit::Fine } else { Exit::No })
}

fn judge(snapshot: &Snapshot, resolver: &dyn Resolver, output: &mut Output) -> Result<ReplayReport, Failure> {
    let bar = output.bar("replaying", Unit::Count, Some(snapshot.len()));
    let options = ReplayOptions::new().keep_order(true);
    Ok(replay::resolved(snapshot.ordered()?, &options, resolver, &bar)?)
}

fn show_forgotten(one: &Forgotten, output: &mut Output) -> Result<(), Failure> {
    let times = if one.references == 1 { "once".to_owned() } else { format!("{} times", one.references) };
    let (name, address) = (&one.name, one.address.get(..19).unwrap_or_default());
    output.line(format_args!(
        "  {name}  {address}...  {} bytes, named {times}: {} before, {} now",
        one.bytes, one.state_before, one.state
    ))?;
    let read = if one.readable { "it can still be read" } else { "reading it gives nothing" };
    output
        .line(format_args!("    {read}, and {} of the store's files hold its text", one.files_with_its_text))
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
