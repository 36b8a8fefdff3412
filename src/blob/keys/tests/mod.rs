//! The files of keys and the ledger, as their callers see them.

#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

mod basics;
mod crashes;
mod damage;
mod failures;
mod fixture;
mod ledger;
mod model;
