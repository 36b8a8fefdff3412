//! Keys on disk: the master key, the subjects' keys under it, and the data keys under those.

mod chain;
mod create;
pub(in crate::blob) mod file;
mod keyring;
mod master;
mod names;
mod paths;
mod slots;
mod subjects;
#[cfg(test)]
mod tests;
mod verify;

pub use chain::{End, SlotState};
pub use file::Access;
pub use keyring::{Keys, Unwrapped};
pub use master::Holding;
pub use paths::KeyPaths;
