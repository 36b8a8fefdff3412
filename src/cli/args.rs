//! The command line: verbs and what they share.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::commands;

const EXAMPLES: &str = "\
Examples:
  causelog demo                                 see it work on a recorded run
  causelog init --store runs                    make a store
  causelog import run.jsonl --store runs        put a log into it
  causelog log --store runs --limit 20          read the order
  causelog replay --store runs                  check the run; exit 1 if it fails
  causelog gen --events 1000000 | causelog import - --store runs

Exit codes:
  0  fine
  1  the answer is no: a replay failed, an event was refused, the thing asked for is absent
  2  the command line is wrong, or there is no store
  3  a torn tail (verify finds one, repair cuts it; other verbs warn and go on)
  4  damage: bytes on disk are not what was written
  5  the operating system refused (no such file, a full disk), or the store is of a newer format
  6  another process holds the store";

/// An event store for AI agents: one order without a clock, nothing lost.
#[derive(Debug, Parser)]
#[command(name = "causelog", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// Directory of the store [env: `CAUSELOG_STORE`] [default: ./causelog]
    #[arg(long, global = true, value_name = "DIR", display_order = 100)]
    pub(crate) store: Option<PathBuf>,
    /// Write JSON: one object, listings as JSON lines, errors as {"error": {...}} on standard error
    #[arg(long, global = true, display_order = 101)]
    pub(crate) json: bool,
    /// Say nothing but data, warnings and errors
    #[arg(long, short, global = true, display_order = 102)]
    pub(crate) quiet: bool,
}

impl Shared {
    /// Returns the directory of the store: the option, else the environment's, else the default.
    pub(crate) fn store_dir(&self) -> PathBuf {
        let set = |value: &std::ffi::OsString| !value.is_empty();
        self.store
            .clone()
            .or_else(|| std::env::var_os("CAUSELOG_STORE").filter(set).map(PathBuf::from))
            .unwrap_or_else(|| PathBuf::from("./causelog"))
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an empty store
    Init(commands::init::Args),
    /// Put a file of events into the store
    Import(commands::import::Args),
    /// Write all events, as JSON lines
    Export(commands::export::Args),
    /// Append one event
    Append(commands::append::Args),
    /// Show one event
    Get(commands::get::Args),
    /// Show the order
    Log(commands::log::Args),
    /// Show a host's events by seq
    Range(commands::range::Args),
    /// Show the highest seq held of each host
    Cursor(commands::cursor::Args),
    /// Show the events beyond a cursor
    Since(commands::since::Args),
    /// Show an event and everything it came from
    Ancestry(commands::ancestry::Args),
    /// Check a run: its order, invariants I1 to I7, its references
    Replay(commands::replay::Args),
    /// Read every byte of the store and check it; changes nothing
    Verify(commands::verify::Args),
    /// Cut what cannot be read, and keep a copy of it
    Repair(commands::repair::Args),
    /// Drop the index and build it again from the log
    Reindex(commands::reindex::Args),
    /// Show what the store holds
    Stats(commands::stats::Args),
    /// Write a synthetic log to standard output
    Gen(commands::r#gen::Args),
    /// Show what causelog does, on a recorded run
    Demo(commands::demo::Args),
}

/// Options of verbs that write.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Writing {
    /// Wait up to so many seconds for another process to let go of the store
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub(crate) wait: Duration,
}

/// Options of verbs that list events.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Listing {
    /// Show so many events at most
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Show payloads too; they can hold what users typed
    #[arg(long)]
    pub(crate) payload: bool,
}

/// Options of verbs that take something away.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Destructive {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask; needed where there is no terminal to ask on
    #[arg(long, short)]
    pub(crate) yes: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|_| "not a number of seconds that can be waited".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn shared_options_stand_on_either_side_of_the_verb() {
        for line in
            [["causelog", "--store", "x", "--json", "stats"], ["causelog", "stats", "--json", "--store", "x"]]
        {
            let cli = Cli::try_parse_from(line).unwrap();
            assert_eq!((cli.shared.store_dir(), cli.shared.json), (PathBuf::from("x"), true));
        }
    }

    #[test]
    fn waiting_takes_parts_of_seconds() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for bad in ["-1", "NaN", "inf", "1e300", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
