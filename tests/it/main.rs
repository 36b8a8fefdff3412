//! Integration tests: one binary, a module per subject.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy's settings for tests do not reach"
)]

mod support;

mod basics;
mod nth_call;
mod recovery;
mod replay_model;
mod sample;
