//! The `causelog` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    causelog::cli::main()
}
