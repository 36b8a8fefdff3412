//! Finding the root of a directory of node files.
//!
//! Invariants:
//! - A root is used only from a file whose head checks, whose slot checks, and that is as long as the root needs.
//! - Damage is an answer, not an error: only calls that the system refuses are errors.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::{
    NODES_HEAD_BYTES, NODES_START, NodesFault, NodesHead, ROOT_SLOT_BYTES, ROOT_SLOTS, RootSlot,
};
use crate::contract::Result;
use crate::io::{OpenMode, Vfs, VfsFile};

use super::name::{node_file, number_of};
use super::trouble::io_error;

/// The newest root of a file, with the file open.
pub(super) struct Rooted {
    pub(super) head: NodesHead,
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn VfsFile>,
    /// Bytes of the file, at least what the root needs.
    pub(super) size: u64,
    /// Which of the two slots it stands in.
    pub(super) slot: usize,
    pub(super) root: RootSlot,
}

/// What a directory holds.
pub(super) struct Looked {
    /// The numbers of all node files, rising.
    pub(super) numbers: Vec<u32>,
    pub(super) rooted: Option<Rooted>,
    /// What was wrong with the files that were looked at, the highest number first.
    pub(super) fault: Option<NodesFault>,
}

/// Looks for the newest root of the highest-numbered file that has one.
///
/// Costs two reads a file that is looked at, mostly one file.
pub(super) fn look(vfs: &dyn Vfs, dir: &Path, store: [u8; 16], mode: OpenMode) -> Result<Looked> {
    let names = vfs.list(dir).map_err(|e| io_error("look for", dir, e))?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| number_of(name)).collect();
    numbers.sort_unstable();
    let mut fault = None;
    for &number in numbers.iter().rev() {
        match root_of(vfs, dir, NodesHead { store, file: number }, mode)? {
            Ok(Some(rooted)) => return Ok(Looked { numbers, rooted: Some(rooted), fault }),
            Ok(None) => {}
            Err(found) => fault = fault.or(Some(found)),
        }
    }
    Ok(Looked { numbers, rooted: None, fault })
}

/// Reads the newest root of one file; `None` when the file has none, or is gone.
fn root_of(
    vfs: &dyn Vfs,
    dir: &Path,
    head: NodesHead,
    mode: OpenMode,
) -> Result<Result<Option<Rooted>, NodesFault>> {
    let path = dir.join(node_file(head.file));
    let file = match vfs.open(&path, mode) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Ok(None)),
        Err(e) => return Err(io_error("open", &path, e)),
    };
    // All at once, so that a writer of another process has little time to come between.
    let mut front = vec![0; usize::try_from(NODES_START).unwrap_or(usize::MAX)];
    let read = file.read_at(&mut front, 0).map_err(|e| io_error("read", &path, e))?;
    let size = file.size().map_err(|e| io_error("measure", &path, e))?;
    if let Err(fault) = head.check(front.get(..read.min(NODES_HEAD_BYTES)).unwrap_or_default()) {
        return Ok(Err(fault));
    }
    let (mut newest, mut fault): (Option<(usize, RootSlot)>, _) = (None, None);
    for (slot, at) in ROOT_SLOTS.into_iter().enumerate() {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = front.get(start..start.saturating_add(ROOT_SLOT_BYTES)).unwrap_or_default();
        match head.slot_from_bytes(at, bytes) {
            Ok(None) => {}
            // Without a node the file may end with a slot.
            Ok(Some(root)) if root.end > size.max(NODES_START) => {
                fault = Some(NodesFault::Damaged("the node file ends before its root does"));
            }
            Ok(Some(root)) => {
                if newest.as_ref().is_none_or(|(_, held)| held.generation < root.generation) {
                    newest = Some((slot, root));
                }
            }
            Err(found) => fault = Some(found),
        }
    }
    Ok(match (newest, fault) {
        (Some((slot, root)), _) => Ok(Some(Rooted { head, path, file, size, slot, root })),
        (None, Some(fault)) => Err(fault),
        (None, None) => Ok(None),
    })
}
