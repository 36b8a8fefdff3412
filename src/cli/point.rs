//! The file of `replay --resume`: where a replay was, for the next one.

use std::path::Path;

use super::exit::Failure;
use super::input::Input;
use super::output::plain;
use super::target::{is_standard_output, refuse_inside, to_file};
use crate::contract::{ErrorKind, Result};
use crate::replay::{ReplayOptions, Resolver, SavedPoint, StoreReplay};
use crate::store::Snapshot;

/// A file that holds a saved point, or will.
#[derive(Debug)]
pub(crate) struct Point<'f> {
    file: &'f Path,
}

impl<'f> Point<'f> {
    /// Takes a file that a point may be written to. Reads nothing.
    ///
    /// # Errors
    /// Wrong usage for standard output, and for a file among those of the store at `store`.
    pub(crate) fn open(file: &'f Path, store: &Path) -> Result<Self, Failure> {
        if is_standard_output(file) {
            return Err(Failure::Usage("--resume takes a file, which is read and then replaced".to_owned()));
        }
        refuse_inside(store, file)?;
        Ok(Self { file })
    }

    /// Begins a replay where the file says; from the start where there is none.
    ///
    /// # Errors
    /// Wrong usage when the file holds something else; what the replay fails with.
    pub(crate) fn begin<'r>(
        &self,
        snapshot: &Snapshot,
        options: &ReplayOptions,
        resolver: &'r dyn Resolver,
    ) -> Result<StoreReplay<'r>, Failure> {
        match self.read(options)? {
            Some(point) => Ok(StoreReplay::resume(snapshot, options, resolver, point)?),
            None => Ok(StoreReplay::new(snapshot, options, resolver)?),
        }
    }

    fn read(&self, options: &ReplayOptions) -> Result<Option<SavedPoint>, Failure> {
        if !self.file.try_exists().unwrap_or(true) {
            return Ok(None);
        }
        let input = Input::open(self.file)?;
        let point = SavedPoint::read(input.buffered(), options).map_err(|error| error.at_path(self.file));
        point.map(Some).map_err(|error| {
            if error.kind() == ErrorKind::Invalid {
                Failure::Usage(plain(&format!("--resume: {error}")).into_owned())
            } else {
                Failure::Error(error)
            }
        })
    }

    /// Replaces the file by one of where the replay is now.
    ///
    /// # Errors
    /// Kind `Io` when it cannot be written; the old one stands then.
    pub(crate) fn save(&self, replay: &mut StoreReplay<'_>) -> Result<(), Failure> {
        to_file(self.file, |to| {
            replay.save(to)?;
            Ok(replay.position())
        })
        .map(drop)
    }
}
