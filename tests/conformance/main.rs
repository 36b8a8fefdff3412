//! The conformance vectors: data that pins the contract, computed by another implementation.
//!
//! They are read from `tests/data/conformance`, or from the directory that `CAUSELOG_CONFORMANCE` names.
//! Each test prints how many cases of a file ran, matched, and deviated by design. `docs/conformance.md`
//! gives each deviation with its reason; our own answer is asserted there, nothing is skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy's settings for tests do not reach"
)]

mod appender;
mod blobs;
mod harness;
mod invariants;
mod linearize;
mod lines;
mod refs;
mod replay;
mod store;
mod upcast;
mod validate;
