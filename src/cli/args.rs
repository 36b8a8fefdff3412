//! The command line: verbs and what they share.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};

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
  3  the end of the log is torn (verify finds that, repair cuts it; other verbs warn and go on)
  4  damage: bytes on disk are not what was written; verbs that read give what is left
  5  the operating system refused (no such file, a full disk), or the store is of a newer format
  6  another process holds the store";

const STORE: &str = "Directory of the store [env: CAUSELOG_STORE] [default: ./causelog]";

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

impl Cli {
    /// Reads the command line of this process.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&Self::line().try_get_matches()?)
    }

    /// Returns the whole command line, where verbs that use no store, or not the common one, say so.
    fn line() -> clap::Command {
        let store = || Arg::new("store").long("store").value_name("DIR").value_parser(value_parser!(PathBuf));
        let own = "Directory of the store, which is kept [default: a new one among temporary files]";
        Self::command()
            .mut_subcommand("gen", |verb| verb.arg(store().hide(true)))
            .mut_subcommand("demo", |verb| verb.arg(store().display_order(100).help(own)))
    }
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    #[arg(long, global = true, value_name = "DIR", display_order = 100, help = STORE)]
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

/// The verbs. What each says of itself stands above its arguments: a line here would replace all of it.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(commands::init::Args),
    Import(commands::import::Args),
    Export(commands::export::Args),
    Append(commands::append::Args),
    Get(commands::get::Args),
    Log(commands::log::Args),
    Range(commands::range::Args),
    Cursor(commands::cursor::Args),
    Since(commands::since::Args),
    Ancestry(commands::ancestry::Args),
    Replay(commands::replay::Args),
    Verify(commands::verify::Args),
    Repair(commands::repair::Args),
    Reindex(commands::reindex::Args),
    Stats(commands::stats::Args),
    Gen(commands::r#gen::Args),
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
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::line().debug_assert();
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
