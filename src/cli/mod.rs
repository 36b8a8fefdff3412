//! The command line tool.
//!
//! One file a verb in `commands`; the rest is what verbs share. Everything a verb does to a store goes
//! through the store's public face.

mod address;
mod args;
mod commands;
mod exit;
mod r#gen;
mod graph;
mod input;
mod intake;
mod line;
mod listing;
mod open;
mod output;
mod point;
mod progress;
mod resolve;
mod sample;
mod sort;
mod target;

use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use line::Cli;
use output::Output;

/// Runs the command line of this process and returns how the process exits.
#[must_use]
pub fn main() -> ExitCode {
    outlive_file_limits();
    let exit = match Cli::read() {
        Ok(cli) => {
            let mut output = Output::new(cli.shared.json, cli.shared.quiet);
            let outcome = commands::run(cli.command, &cli.shared, &mut output);
            output.finish(outcome)
        }
        Err(error) => wrong_line(&error),
    };
    ExitCode::from(exit as u8)
}

/// Makes a write over the limit on a file's size fail with an error, like one to a full disk, where the system would kill
/// the process by a signal.
fn outlive_file_limits() {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGXFSZ;
        // Where the handler cannot be set, the limit kills as before, which loses nothing that was acknowledged.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
}

/// Prints help where it was asked for, or says what is wrong with the command line.
fn wrong_line(error: &clap::Error) -> exit::Exit {
    let asked = !error.use_stderr();
    let json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if json && !asked {
        let text = error.to_string();
        // Behind the first empty line stand the usage and where to find help: words for people.
        let message = text.split("\n\n").next().unwrap_or_default();
        Output::new(true, false).usage(message.strip_prefix("error: ").unwrap_or(message));
    } else {
        // Nobody is left to be told when this fails.
        let _ = error.print();
    }
    if asked { exit::Exit::Fine } else { exit::Exit::Usage }
}
