//! Causality in memory: the one order of a set of events, its proof, and the guard against cycles.
//!
//! `key(e) = (host, seq, id)`, strings by UTF-16 code units. The order is Kahn's algorithm over the
//! held causes with the ready set ordered by key; a cause that is not held is ignored. It depends on
//! the set alone: not on arrival, not on wall time.
//!
//! - [`linearize()`] and [`well_formed`] work on any slice of events.
//! - [`Graph`] is the form for many events: numbers in, numbers out, a few machine words an event.
//! - [`Proof`] checks an order while it streams, without computing it again.
//! - [`CycleGuard`] decides at append whether an event would close a cycle.
//!
//! Pure: no files, no clock, no randomness, and no recursion.

mod bitmap;
mod blocks;
mod cycle;
mod guard;
#[doc(hidden)]
pub mod index;
mod linearize;
mod numbered;
mod proof;
mod repeated;
mod runs;
#[doc(hidden)]
pub mod tree;

pub use cycle::{Cycle, OrderError, TooMany};
pub use guard::{Admission, CycleGuard, NotAnOrder, Verdict};
pub use linearize::{linearize, well_formed};
pub use numbered::Graph;
pub use proof::{OrderViolation, Proof};
