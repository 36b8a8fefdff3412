//! Where the key files are.

use std::path::{Path, PathBuf};

/// Where the key files of a store are.
#[derive(Clone, Debug)]
pub struct KeyPaths {
    dir: PathBuf,
    master: Option<PathBuf>,
}

impl KeyPaths {
    /// Names the directory of the keys, and where the master key is if it is kept elsewhere.
    pub fn new(dir: impl Into<PathBuf>, master: Option<PathBuf>) -> Self {
        Self { dir: dir.into(), master }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the file of the master key.
    pub fn master(&self) -> PathBuf {
        self.master.clone().unwrap_or_else(|| self.dir.join("master"))
    }

    /// Returns the file of the subjects' keys.
    pub fn subjects(&self) -> PathBuf {
        self.dir.join("subjects")
    }

    /// Returns the file of the data keys.
    pub fn slots(&self) -> PathBuf {
        self.dir.join("slots")
    }

    /// Returns the file of the erasure ledger.
    pub fn erasures(&self) -> PathBuf {
        self.dir.join("erasures")
    }
}
