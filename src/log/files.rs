//! The files beside the segments that the log can do without: their names, and reading a checkpoint.

use std::path::Path;

use super::names::{Stage, segment_file};
use crate::codec::Checkpoint;
use crate::io::{OpenMode, Vfs};

/// A checkpoint of at most this many bytes is read whatever the size of its segment: where that was cut short, the
/// checkpoint tells what is missing.
const CHECKPOINT_BYTES_ANY: u64 = 64 << 20;

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
    let size = file.size().ok()?;
    // What a frame adds to a checkpoint is less than the frame, and the state it starts from stands in the head.
    if size > CHECKPOINT_BYTES_ANY {
        let active = vfs.open(&dir.join(segment_file(segment, Stage::Active)), OpenMode::Read).ok()?;
        if size > active.size().ok()? {
            tracing::warn!(path = %path.display(), size, "a checkpoint larger than its segment is not used");
            return None;
        }
    }
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    let read = file.read_at(&mut bytes, 0).ok()?;
    match Checkpoint::from_bytes(bytes.get(..read)?) {
        Ok(checkpoint) => (checkpoint.store == *store && checkpoint.segment == segment).then_some(checkpoint),
        Err(what) => {
            tracing::warn!(path = %path.display(), what, "a checkpoint is not used; the segment is scanned");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::ControlState;
    use crate::io::MemoryVfs;

    #[test]
    fn a_checkpoint_that_its_segment_cannot_justify_is_not_read() {
        let (vfs, dir) = (MemoryVfs::new(), Path::new("/log"));
        vfs.create_dir_all(dir).unwrap();
        let create = |name: String| vfs.open(&dir.join(name), OpenMode::Create).unwrap();
        create(segment_file(1, Stage::Active)).set_size(4096).unwrap();
        let state = ControlState { read_only: "x".repeat(65 << 20), ..ControlState::default() };
        for (state, used) in [(ControlState::default(), true), (state, false)] {
            let checkpoint = Checkpoint {
                store: [1; 16],
                segment: 1,
                end: 1 << 30,
                entries: Vec::new(),
                dangling: Vec::new(),
                state,
            };
            let name = checkpoint_file(1);
            if vfs.exists(&dir.join(&name)).unwrap() {
                vfs.remove(&dir.join(&name)).unwrap();
            }
            create(name).write_at(&checkpoint.to_bytes().unwrap(), 0).unwrap();
            assert_eq!(read_checkpoint(&vfs, dir, &[1; 16], 1).is_some(), used);
        }
    }
}
