//! One node file: its nodes, those included that still wait to be written.
//!
//! Invariants:
//! - Nodes are only ever added. What lies at a place never changes while the file is held.
//! - A node can be read from the moment it was added: from the tail until it is written, from the file afterwards.
//! - A write that failed is tried again with the same bytes at the same place: nothing depends on what it left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::codec::{NODE_ALIGN, NODE_BYTES_MAX, NODE_HEAD_BYTES, NODES_START, NodesHead};
use crate::contract::{Code, Error, Result};
use crate::io::VfsFile;
use crate::order::tree::NodeAt;

use super::trouble::{fault_error, io_error, to_u64};

/// Bytes of nodes that wait before they are written together.
const TAIL_BYTES: usize = 64 << 10;

/// A node file.
#[derive(Debug)]
pub(super) struct NodeFile {
    pub(super) head: NodesHead,
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn VfsFile>,
    tail: Mutex<Tail>,
}

/// Records that are not written yet, and where they go.
#[derive(Debug)]
struct Tail {
    start: u64,
    records: Vec<u8>,
}

impl Tail {
    fn end(&self) -> u64 {
        self.start.saturating_add(to_u64(self.records.len()))
    }

    fn write(&mut self, file: &NodeFile) -> Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        file.file.write_at(&self.records, self.start).map_err(|e| io_error("write", &file.path, e))?;
        self.start = self.end();
        self.records.clear();
        Ok(())
    }
}

impl NodeFile {
    /// Wraps an open file whose next node goes behind everything that it holds now.
    pub(super) fn new(head: NodesHead, path: &Path, file: Arc<dyn VfsFile>, size: u64) -> Self {
        let start = size.max(NODES_START).next_multiple_of(to_u64(NODE_ALIGN));
        let tail = Mutex::new(Tail { start, records: Vec::new() });
        Self { head, path: path.to_path_buf(), file, tail }
    }

    /// Returns where the next node goes: the file's length once all is written.
    pub(super) fn end(&self) -> u64 {
        self.tail.lock().end()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `Limit`: the node is too long. `Io`: those before it cannot be written. It is not added.
    pub(super) fn append(&self, node: &[u8]) -> Result<NodeAt> {
        let mut tail = self.tail.lock();
        if tail.records.len() >= TAIL_BYTES {
            tail.write(self)?;
        }
        let offset = tail.end();
        match self.head.put_node(&mut tail.records, offset, node) {
            Some(bytes) => Ok(NodeAt { file: self.head.file, offset, bytes }),
            None => Err(Error::invalid(Code::Limit, format!("a node is longer than {NODE_BYTES_MAX} bytes"))),
        }
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// `Io`: it goes on waiting.
    pub(super) fn write(&self) -> Result<()> {
        self.tail.lock().write(self)
    }

    /// Reads a node: one read of the file, unless it still waits.
    ///
    /// # Errors
    /// `Io`, and `Corrupt`: it is not what was added there, or nothing was.
    pub(super) fn read(&self, at: NodeAt) -> Result<Vec<u8>> {
        let damaged = |what: &str| Err(Error::corrupt(what).at_path(&self.path).at_byte(at.offset));
        let bytes = usize::try_from(at.bytes).unwrap_or(usize::MAX);
        if !(NODE_HEAD_BYTES..=NODE_HEAD_BYTES + NODE_BYTES_MAX).contains(&bytes) {
            return damaged("a node is said to have a length that none has");
        }
        let mut record = self.waiting(at.offset, bytes).unwrap_or_default();
        if record.is_empty() {
            record.resize(bytes, 0);
            let read = self.file.read_at(&mut record, at.offset);
            if read.map_err(|e| io_error("read", &self.path, e))? != bytes {
                return damaged("a node lies behind the end of the file");
            }
        }
        let node = self.head.node_of(at.offset, &record);
        let len = node.map_err(|fault| fault_error(fault, &self.path, at.offset))?.len();
        record.truncate(NODE_HEAD_BYTES + len);
        record.drain(..NODE_HEAD_BYTES);
        Ok(record)
    }

    /// Returns a copy of a record that is not written yet.
    fn waiting(&self, offset: u64, bytes: usize) -> Option<Vec<u8>> {
        let tail = self.tail.lock();
        let start = usize::try_from(offset.checked_sub(tail.start)?).ok()?;
        Some(tail.records.get(start..start.checked_add(bytes)?)?.to_vec())
    }
}
