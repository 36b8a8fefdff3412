//! Sorting more than fits into memory.
//!
//! Records are gathered up to a budget, sorted and written to a temporary file as a *run*; the runs are
//! then merged. Input that comes sorted already costs no merge: its runs, end to end, are the result.

mod merge;
mod sorter;
mod spill;
#[cfg(test)]
mod tests;

pub(crate) use sorter::{Record, Records, Sorted, Sorter};
