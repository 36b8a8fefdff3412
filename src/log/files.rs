//! The files beside the segments that the log can do without: their names, and reading a checkpoint.

use std::path::Path;

use crate::codec::Checkpoint;
use crate::io::{OpenMode, Vfs};

/// A segment being created; worthless unless renamed.
pub fn creating_file(number: u64) -> String {
    format!("{number:010}.creating")
}

/// The checkpoint of an active segment.
pub fn checkpoint_file(number: u64) -> String {
    format!("{number:010}.checkpoint")
}

/// A checkpoint being written; worthless unless renamed.
pub fn checkpoint_temporary(number: u64) -> String {
    format!("{number:010}.checkpointing")
}

/// Reports whether a file is one that a crash can leave and that nothing needs, given all names beside it.
pub fn is_leftover(name: &str, names: &[String]) -> bool {
    let unfinished = [".creating", ".checkpointing", ".sealing"].iter().any(|end| name.ends_with(end));
    // Of a segment that was sealed and whose active form is gone.
    let outlived = name.strip_suffix(".checkpoint").is_some_and(|number| {
        let beside = |end: &str| names.iter().any(|other| other.strip_suffix(end) == Some(number));
        beside(".sealed") && !beside(".active")
    });
    unfinished || outlived
}

/// Reads the checkpoint of a segment. Anything wrong with it only means a longer scan.
pub fn read_checkpoint(vfs: &dyn Vfs, dir: &Path, store: &[u8; 16], segment: u64) -> Option<Checkpoint> {
    let path = dir.join(checkpoint_file(segment));
    let file = vfs.open(&path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; usize::try_from(file.size().ok()?).ok()?];
    let read = file.read_at(&mut bytes, 0).ok()?;
    match Checkpoint::from_bytes(bytes.get(..read)?) {
        Ok(checkpoint) => (checkpoint.store == *store && checkpoint.segment == segment).then_some(checkpoint),
        Err(what) => {
            tracing::warn!(path = %path.display(), what, "a checkpoint is not used; the segment is scanned");
            None
        }
    }
}
