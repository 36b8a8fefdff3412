//! What can go wrong in the log, with found and expected, and how it reads as the crate's error.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::codec::{FrameError, HeaderError};
use crate::contract::{Code, Error as ContractError, ErrorKind};
use crate::io::AccessError;

/// A failure of the log.
#[derive(Debug, Error)]
pub enum LogError {
    /// A system call failed.
    #[error("cannot {what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A segment's head is not one this build reads.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A frame is not what was written.
    #[error("a frame is damaged: {0}")]
    Frame(#[from] FrameError),
    /// A frame checked, but what it holds cannot be.
    #[error("a record is damaged: {0}")]
    Record(String),
    /// Segments do not fit together.
    #[error("{0}")]
    Chain(String),
}

impl LogError {
    /// Returns an error about a system call, for `map_err`.
    pub fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Says where it happened.
    pub fn at(self, path: &Path, segment: u64, offset: u64) -> ContractError {
        ContractError::from(self).at_path(path).at_offset(segment, offset)
    }
}

impl From<AccessError> for LogError {
    fn from(error: AccessError) -> Self {
        Self::Record(error.to_string())
    }
}

impl From<LogError> for ContractError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Io { what, source } => Self::io(format!("cannot {what}"), source),
            LogError::Header(HeaderError::Version { .. } | HeaderError::Features { .. }) => {
                Self::new(ErrorKind::Unsupported, Code::Store, error.to_string())
            }
            other => Self::corrupt(other.to_string()),
        }
    }
}
