//! The only layer that opens files.

mod vfs;

pub use vfs::{LockMode, Mapping, OpenMode, Vfs, VfsFile, VfsLock};
