//! What a replay looks for content in: a directory of blobs, and what sources hold now.

mod current;
mod directory;
mod locked;

use std::path::{Path, PathBuf};

use super::exit::Failure;
use super::output::plain;
use crate::contract::{Error, ErrorKind};
use crate::replay::{Chain, CurrentHashes};

use directory::BlobDir;
pub(crate) use locked::CountLocked;

/// Options that name content.
#[derive(Debug, clap::Args)]
pub(crate) struct Content {
    /// Look for content in a directory, in files named sha256-HEX or blake3-HEX
    #[arg(long, value_name = "DIR")]
    blobs: Option<PathBuf>,
    /// Compare with what sources hold now: a file with one JSON object, {"KIND:ID": "HASH"} (- for standard input)
    #[arg(long, value_name = "MAP.json")]
    current: Option<PathBuf>,
}

/// What those options name, opened.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    directory: Option<BlobDir>,
    current: Option<CurrentHashes>,
}

impl Content {
    /// Opens the directory and reads the map. `other` is a file that the command reads beside.
    ///
    /// # Errors
    /// Kind `Io` when one of them cannot be read; wrong usage when the map is none, with its place.
    pub(crate) fn open(&self, other: Option<&Path>) -> Result<Opened, Failure> {
        let stdin = |path: &Path| path.as_os_str() == "-";
        if self.current.as_deref().is_some_and(stdin) && other.is_some_and(stdin) {
            return Err(Failure::Usage("standard input cannot be both the events and --current".to_owned()));
        }
        let directory = self.blobs.as_deref().map(BlobDir::open).transpose()?;
        let current = self.current.as_deref().map(current::read).transpose().map_err(|error| {
            if error.kind() == ErrorKind::Invalid {
                Failure::Usage(plain(&format!("--current: {error}")).into_owned())
            } else {
                Failure::Error(error)
            }
        })?;
        Ok(Opened { directory, current })
    }
}

impl Opened {
    /// Reports whether there is nothing to look into.
    pub(crate) fn is_nothing(&self) -> bool {
        self.directory.is_none() && self.current.is_none()
    }

    /// Adds them to what is asked: what holds content first, sources behind it.
    pub(crate) fn behind<'r>(&'r self, mut chain: Chain<'r>) -> Chain<'r> {
        if let Some(directory) = &self.directory {
            chain = chain.with(directory);
        }
        if let Some(current) = &self.current {
            chain = chain.with(current);
        }
        chain
    }

    /// Reports whether an error is damage of the directory, which no verb that looks at stores knows of.
    pub(crate) fn is_damage(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::Corrupt
            && self.directory.as_ref().is_some_and(|directory| directory.holds(error.place().path.as_deref()))
    }
}
