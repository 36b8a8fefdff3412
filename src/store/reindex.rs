//! Dropping everything that is derived, and making it again.

use std::path::Path;

use serde::Serialize;

use super::Store;
use super::opening::{INDEX_FILE, LOG_DIR, lock_for_writing};
use super::options::Options;
use super::progress::Progress;
use crate::contract::{Error, Result};
use crate::log::IDS_DIR;

/// What was made again.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ReindexReport {
    /// Segments read.
    pub segments: u64,
    /// Events in them.
    pub events: u64,
    /// Derived files that were dropped.
    pub dropped: u64,
}

/// Removes the index database, the merged fingerprint tables and the checkpoint, then makes them again from the
/// segments. Loses nothing; a crash in between only means that the next open makes them. `progress` counts steps.
///
/// # Errors
/// `NotFound`; `Locked`; `ReadOnly` when the log is damaged, which wants a repair first; `Io`.
pub fn reindex(path: impl AsRef<Path>, options: &Options, progress: &dyn Progress) -> Result<ReindexReport> {
    let path = path.as_ref();
    progress.total(3);
    let dropped = drop_derived(path, options)?;
    progress.advance(1);
    let store = Store::open(path, options.clone().background(false))?;
    store.checkpoint()?;
    progress.advance(1);
    let stats = store.stats()?;
    store.close()?;
    progress.advance(1);
    Ok(ReindexReport { segments: stats.segments.len() as u64, events: stats.events, dropped })
}

fn drop_derived(path: &Path, options: &Options) -> Result<u64> {
    super::opening::must_exist(options, path)?;
    let _locks = lock_for_writing(options, path)?;
    let vfs = &*options.vfs;
    let mut dropped = 0;
    type Rule = (&'static str, fn(&str) -> bool);
    let derived: [Rule; 3] = [
        ("", |name| name == INDEX_FILE),
        (LOG_DIR, |name| name.ends_with(".checkpoint")),
        (IDS_DIR, |_| true),
    ];
    for (dir, is_derived) in derived {
        let dir = if dir.is_empty() { path.to_path_buf() } else { path.join(dir) };
        let names = vfs.list(&dir).map_err(|e| Error::io("cannot list a directory", e).at_path(&dir))?;
        for name in names.iter().filter(|name| is_derived(name)) {
            let file = dir.join(name);
            vfs.remove(&file).map_err(|e| Error::io("cannot remove a derived file", e).at_path(file))?;
            dropped += 1;
        }
    }
    Ok(dropped)
}
