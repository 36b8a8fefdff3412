//! The command line as its users meet it: one process a command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod append;
mod bad_input;
mod bench;
mod blob;
mod convention;
mod damage;
mod demo;
mod destructive;
#[cfg(unix)]
mod docs;
mod export;
mod generate;
mod graph;
mod import;
mod locks;
mod manual;
mod reading;
mod replay;
mod stream;
