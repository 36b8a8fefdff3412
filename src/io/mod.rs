//! The only layer that opens files.

mod counting;
mod faulty;
mod keep;
mod memory;
mod mmap;
mod real;
#[cfg(test)]
mod tests;
mod vfs;

pub use counting::{Counters, CountingVfs};
pub use faulty::{Call, Calls, Failure, Fault, FaultyVfs};
pub use keep::Keep;
pub use memory::MemoryVfs;
pub use mmap::{AccessError, ProofBudget, Proven, Validated};
pub use real::RealVfs;
pub use vfs::{LockMode, Mapping, OpenMode, Vfs, VfsFile, VfsLock};
