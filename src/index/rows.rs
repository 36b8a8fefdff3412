//! What a checkpoint holds.

use std::collections::BTreeMap;

use crate::contract::{EventId, HostId, Seq};

/// Where recovery may start: up to here, the log is what the index says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The store it belongs to.
    pub store_id: [u8; 16],
    /// Events written to the store up to there, evicted ones included.
    pub arrivals: u64,
    /// Number of the active segment.
    pub active_segment: u64,
    /// Byte offset in the active segment up to which everything is durable and accounted for here.
    pub durable_end: u64,
    /// Events in the whole store, up to there.
    pub events: u64,
}

/// What is held of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// The highest seq held.
    pub seq: Seq,
    /// The id of the event that bears it.
    pub last_id: EventId,
    /// Events held.
    pub events: u64,
}

/// One sealed segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRow {
    /// Its file's name within the store's directory.
    pub path: String,
    /// BLAKE3 root of its contents.
    pub root: [u8; 32],
    /// Events in it.
    pub events: u64,
    /// Bytes of its file.
    pub bytes: u64,
}

/// A whole checkpoint: everything the index holds, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointBatch {
    /// Where it stands.
    pub checkpoint: Checkpoint,
    /// All hosts.
    pub hosts: BTreeMap<HostId, HostRow>,
    /// All sealed segments, by number.
    pub segments: BTreeMap<u64, SegmentRow>,
}

impl CheckpointBatch {
    /// Returns a BLAKE3 hash over every field of every row.
    ///
    /// It notices what the checksums of blocks cannot: a block that is whole, but from another time.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("causelog index checkpoint v1");
        let Checkpoint { store_id, arrivals, active_segment, durable_end, events } = &self.checkpoint;
        hasher.update(store_id);
        let mut numbers = |numbers: &[u64]| {
            for number in numbers {
                hasher.update(&number.to_le_bytes());
            }
        };
        let len = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        numbers(&[*arrivals, *active_segment, *durable_end, *events]);
        numbers(&[len(self.hosts.len()), len(self.segments.len())]);
        for (host, HostRow { seq, last_id, events }) in &self.hosts {
            let id = last_id.to_string();
            let (host, id) = (host.as_str().as_bytes(), id.as_bytes());
            for number in [len(host.len()), len(id.len()), seq.get(), *events] {
                hasher.update(&number.to_le_bytes());
            }
            hasher.update(host).update(id);
        }
        for (number, SegmentRow { path, root, events, bytes }) in &self.segments {
            for number in [*number, len(path.len()), *events, *bytes] {
                hasher.update(&number.to_le_bytes());
            }
            hasher.update(path.as_bytes()).update(root);
        }
        *hasher.finalize().as_bytes()
    }
}
