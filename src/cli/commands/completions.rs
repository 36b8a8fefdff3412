//! `completions`: what a shell completes.

use clap_complete::Shell;

use crate::cli::exit::{Exit, Outcome};
use crate::cli::line::{Cli, PROGRAM};
use crate::cli::output::Output;

const EXAMPLES: &str = "\
Examples:
  causelog completions bash > ~/.local/share/bash-completion/completions/causelog
  causelog completions fish > ~/.config/fish/completions/causelog.fish
  causelog completions zsh > \"${fpath[1]}/_causelog\"";

/// Write a script that completes this command line in a shell.
///
/// To standard output; the shell's manual says where it looks for them. Uses no store.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(super) fn run(args: Args, output: &mut Output) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::line(), PROGRAM, &mut script);
    output.bytes(&script)?;
    Ok(Exit::Fine)
}
