//! The contract's vectors, in `tests/data/conformance` or the directory `CAUSELOG_CONFORMANCE` names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy's settings for tests do not reach"
)]

mod harness;
mod invariants;
mod linearize;
mod replay;
