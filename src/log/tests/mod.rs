//! Sealed segments against a plain model, and against damage and faults.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "test data is small")]

mod damage;
mod faults;
mod fixture;
mod queries;
mod tiers;
