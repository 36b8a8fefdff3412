//! What rules keep of events that went by: in bounded memory, beyond it in a temporary file, and in a saved point.
//!
//! - [`Pile`] gathers records and gives them back sorted, [`First`] keeps the first of many and counts the rest.
//! - [`Scratch`] is where temporary files lie.
//! - [`Wire`] turns values into the bytes of a saved point and back.

mod first;
mod pile;
mod scratch;
mod wire;

pub(super) use first::First;
pub(super) use pile::{Pile, Record};
pub(super) use scratch::Scratch;
pub(super) use wire::{In, Out, Wire, damaged};
