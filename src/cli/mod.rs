//! The command line tool.
mod exit;
mod r#gen;
mod output;
mod progress;
mod sort;
