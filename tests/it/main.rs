//! Integration tests: one binary, a module per subject.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    dropping_copy_types,
    reason = "helpers of tests, which clippy's settings for tests do not reach"
)]

mod support;

mod appender;
mod basics;
mod beside;
mod cases;
mod content;
mod dependents;
mod edge;
mod handles;
mod hardening;
mod hosts;
mod model;
mod nth_call;
mod order;
mod recovery;
mod repair;
mod replay_model;
mod replay_resumed;
mod rolled;
mod sample;
mod subscribe;
mod syncs;
mod unsynced;
