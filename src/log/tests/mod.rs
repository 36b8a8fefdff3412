//! Sealed segments against a plain model, and against damage.

mod damage;
mod fixture;
mod queries;
