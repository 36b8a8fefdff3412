//! Integration tests: one binary, a module per subject.

mod replay_model;
mod sample;
