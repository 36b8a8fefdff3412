//! Dropping everything that is derived, and making it again.

use std::path::Path;

use serde::Serialize;

use super::Store;
use super::arranging::ORDER_DIR;
use super::opening::{INDEX_FILE, LOG_DIR, lock_for_writing};
use super::options::Options;
use super::progress::Progress;
use super::verify::first_damage;
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::log::{Finding, IDS_DIR, Torn};

/// What was made again.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReindexReport {
    /// Segments read.
    pub segments: u64,
    /// Events in them.
    pub events: u64,
    /// Derived files that were dropped.
    pub dropped: u64,
    /// A torn tail, which opening the store cut.
    pub torn: Option<Torn>,
}

/// Removes the index database, the order's index, the merged fingerprint tables and the checkpoint, then makes them again from the
/// segments. Loses nothing; a crash in between only means that the next open makes them.
///
/// Every byte of the segments is checked first, and a damaged log is left as it is: what is derived is evidence then.
/// `progress` counts bytes of segments.
///
/// # Errors
/// `NotFound`; `Locked`; `Corrupt` when the log is damaged, which wants a repair first; `ReadOnly`; `Io`.
pub fn reindex(path: impl AsRef<Path>, options: &Options, progress: &dyn Progress) -> Result<ReindexReport> {
    let path = path.as_ref();
    let open = || {
        let store = Store::open(path, options.clone().background(false))?;
        let found = store.opening();
        match (found.damage.first(), &found.read_only) {
            (Some(finding), _) => Err(damaged(path, finding)),
            (None, Some(reason)) => {
                Err(Error::new(ErrorKind::ReadOnly, Code::Store, reason.as_str()).at_path(path))
            }
            (None, None) => Ok(store),
        }
    };
    let store = open()?;
    if let Some(finding) = first_damage(path, options, progress)? {
        return Err(damaged(path, &finding));
    }
    let torn = store.opening().torn.clone();
    store.close()?;
    let dropped = drop_derived(path, options)?;
    let store = open()?;
    store.checkpoint()?;
    let stats = store.stats()?;
    store.close()?;
    Ok(ReindexReport { segments: stats.segments.len() as u64, events: stats.events, dropped, torn })
}

fn damaged(path: &Path, finding: &Finding) -> Error {
    Error::corrupt(format!("the log is damaged: {finding}")).at_path(path)
}

fn drop_derived(path: &Path, options: &Options) -> Result<u64> {
    let _locks = lock_for_writing(options, path)?;
    let vfs = &*options.vfs;
    let mut dropped = 0;
    type Rule = (&'static str, fn(&str) -> bool);
    let derived: [Rule; 4] = [
        ("", |name| name == INDEX_FILE),
        (LOG_DIR, |name| name.ends_with(".checkpoint")),
        (IDS_DIR, |_| true),
        (ORDER_DIR, |_| true),
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
