//! The command line tool.
mod exit;
mod r#gen;
mod intake;
mod output;
mod progress;
mod sort;
