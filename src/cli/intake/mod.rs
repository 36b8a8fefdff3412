//! Takes in a file of events that may be greater than memory and in any order.
//!
//! 1. [`read`] checks every line and sorts the events by `(host, seq)` on disk.
//! 2. [`resolve`] finds lines that repeat or contradict each other or the store, turns the causes' ids
//!    into places in the file, and finds events that would close a cycle.
//! 3. [`Schedule`] puts what is left in an order in which every event comes after its causes, or, where
//!    they exclude each other, as few as possible do not.
//!
//! Memory: the budgets of the sorts, a few words for each host, and one event at a time.

mod against;
mod arranged;
mod causal;
mod cycles;
mod faults;
mod hosts;
mod ids;
mod links;
mod ordered;
mod read;
mod record;
mod resolve;
mod schedule;
mod settle;
#[cfg(test)]
mod tests;
mod whole;

pub(crate) use against::Against;
pub(crate) use arranged::Arranged;
pub(crate) use causal::Causal;
pub(crate) use faults::Faults;
pub(crate) use ordered::Ordered;
pub(crate) use read::{Rules, read};
pub(crate) use resolve::resolve;
