//! Sealed segments against a plain model, and against damage and faults.

mod damage;
mod faults;
mod fixture;
mod queries;
mod tiers;
