//! The verbs, one file each.

pub(crate) mod ancestry;
pub(crate) mod append;
pub(crate) mod blob;
pub(crate) mod completions;
pub(crate) mod cursor;
pub(crate) mod demo;
pub(crate) mod dependents;
pub(crate) mod export;
pub(crate) mod r#gen;
pub(crate) mod get;
pub(crate) mod heads;
pub(crate) mod hosts;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod range;
pub(crate) mod reindex;
pub(crate) mod repair;
pub(crate) mod replay;
pub(crate) mod shred;
pub(crate) mod since;
pub(crate) mod stable;
pub(crate) mod stats;
pub(crate) mod verify;

use clap::Subcommand;

use super::args::{Destructive, Shared};
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use crate::replay::count;
use crate::store::VerifyOutcome;

/// The verbs. What each says of itself stands above its arguments: a line here would replace all of it.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Import(import::Args),
    Export(export::Args),
    Append(append::Args),
    Get(get::Args),
    Log(log::Args),
    Range(range::Args),
    Cursor(cursor::Args),
    Hosts(hosts::Args),
    Since(since::Args),
    Ancestry(ancestry::Args),
    Dependents(dependents::Args),
    Heads(heads::Args),
    Stable(stable::Args),
    Replay(replay::Args),
    Blob(blob::Args),
    Shred(shred::Args),
    Verify(verify::Args),
    Repair(repair::Args),
    Reindex(reindex::Args),
    Stats(stats::Args),
    Gen(r#gen::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs a verb.
pub(crate) fn run(command: Command, shared: &Shared, output: &mut Output) -> Outcome {
    match command {
        Command::Init(args) => init::run(args, shared, output),
        Command::Import(args) => import::run(&args, shared, output),
        Command::Export(args) => export::run(&args, shared, output),
        Command::Append(args) => append::run(args, shared, output),
        Command::Get(args) => get::run(&args, shared, output),
        Command::Log(args) => log::run(&args, shared, output),
        Command::Range(args) => range::run(&args, shared, output),
        Command::Cursor(_) => cursor::run(shared, output),
        Command::Hosts(args) => hosts::run(args, shared, output),
        Command::Since(args) => since::run(&args, shared, output),
        Command::Ancestry(args) => ancestry::run(&args, shared, output),
        Command::Dependents(args) => dependents::run(&args, shared, output),
        Command::Heads(args) => heads::run(&args, shared, output),
        Command::Stable(_) => stable::run(shared, output),
        Command::Replay(args) => replay::run(&args, shared, output),
        Command::Blob(args) => blob::run(args, shared, output),
        Command::Shred(args) => shred::run(&args, shared, output),
        Command::Verify(_) => verify::run(shared, output),
        Command::Repair(args) => repair::run(args, shared, output),
        Command::Reindex(args) => reindex::run(args, shared, output),
        Command::Stats(_) => stats::run(shared, output),
        Command::Gen(args) => r#gen::run(args, output),
        Command::Demo(args) => demo::run(&args, shared, output),
        Command::Completions(args) => completions::run(args, output),
        Command::Man(args) => man::run(&args, output),
    }
}

/// Returns what a verdict on a store ends the process with.
fn exit_of(outcome: VerifyOutcome) -> Exit {
    match outcome {
        VerifyOutcome::Fine => Exit::Fine,
        VerifyOutcome::Torn => Exit::Torn,
        VerifyOutcome::Damaged => Exit::Damage,
    }
}

/// Says how many events a store has lost.
fn lost(events: u64) -> String {
    format!("lost to damage, and repaired around: {}", count(events, "event"))
}

/// Asks before something is taken away; `false` when the answer is no.
fn confirmed(how: Destructive, question: &str, output: &mut Output) -> Result<bool, Failure> {
    if how.yes {
        return Ok(true);
    }
    match output.ask(question)? {
        Some(true) => Ok(true),
        Some(false) => {
            output.note("nothing was changed");
            Ok(false)
        }
        None => Err(Failure::Usage(
            "there is no terminal to ask on: --yes goes ahead, --dry-run only looks".to_owned(),
        )),
    }
}
