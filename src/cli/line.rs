//! The command line as a whole: every verb, with the options that all share.

use std::path::PathBuf;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, value_parser};

use super::args::Shared;
use super::commands::Command;

const EXAMPLES: &str = "\
Examples:
  causelog demo                                 see it work on a recorded run
  causelog init --store runs                    make a store
  causelog import run.jsonl --store runs        put a log into it
  causelog log --store runs --limit 20          read the order
  causelog replay --store runs                  check the run; exit 1 if it fails
  causelog blob put page.html --store runs      keep content, encrypted, by its address
  causelog gen --events 1000000 | causelog import - --store runs

Exit codes:
  0  fine
  1  the answer is no: a replay failed, an event was refused, the thing asked for is absent
  2  the command line is wrong, or there is no store
  3  the end of the log is torn (verify finds that, repair cuts it; other verbs warn and go on)
  4  damage: bytes on disk are not what was written; verbs that read give what is left
  5  the operating system refused (no such file, a full disk), the master key is not here, or the store is of a
     newer format
  6  another process holds the store";

/// The program's name, as shells know it.
pub(crate) const PROGRAM: &str = "causelog";

/// An event store for AI agents: one order without a clock, nothing lost.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, after_help = EXAMPLES, max_term_width = 100)]
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
    pub(crate) fn line() -> clap::Command {
        let path = |id: &'static str, name: &'static str, of: &'static str| {
            Arg::new(id).long(name).value_name(of).value_parser(value_parser!(PathBuf))
        };
        let store = || path("store", "store", "DIR");
        let key_file = || path("key_file", "key-file", "FILE");
        let own = "Directory of the store, which is kept [default: a new one among temporary files]";
        let own_key = "File of the master key [default: keys/master in the store]";
        Self::command()
            .mut_subcommand("gen", |verb| verb.arg(store().hide(true)).arg(key_file().hide(true)))
            .mut_subcommand("completions", |verb| verb.arg(store().hide(true)).arg(key_file().hide(true)))
            .mut_subcommand("man", |verb| verb.arg(store().hide(true)).arg(key_file().hide(true)))
            .mut_subcommand("demo", |verb| {
                verb.arg(store().display_order(100).help(own))
                    .arg(key_file().display_order(101).help(own_key))
            })
    }
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
}
