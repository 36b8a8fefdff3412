//! What a store holds, counted.

use serde::Serialize;

use super::{BlobStats, Mode, Store};
use crate::blob::{KEYS_DIR, PACKS_DIR};
use crate::contract::{Error, ErrorKind, Result};
use crate::log::{IDS_DIR, Part, View};

/// Counts of a store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stats {
    /// The store's identity, 32 hex digits.
    pub store: String,
    /// Events held.
    pub events: u64,
    /// Hosts in UTF-16 order.
    pub hosts: Vec<HostStats>,
    /// Event types that are held, by name.
    pub types: Vec<TypeStats>,
    /// Segments by rising number.
    pub segments: Vec<SegmentStats>,
    /// Bytes of all files in the store's directory.
    pub bytes_on_disk: u64,
    /// Why the store takes no writes, if it does not.
    pub read_only: Option<String>,
    /// Events that were lost to damage and repaired around.
    pub lost: u64,
    /// The content; `None` where it cannot be told because the key files are damaged.
    pub content: Option<BlobStats>,
}

/// Counts of one host.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostStats {
    /// The host.
    pub host: String,
    /// Events held.
    pub events: u64,
    /// Lowest `seq` held; `None` when none is.
    pub first_seq: Option<u64>,
    /// Highest `seq` held; `None` when none is.
    pub last_seq: Option<u64>,
}

/// Count of one event type.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TypeStats {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Events held.
    pub events: u64,
}

/// Whether a segment takes appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SegmentForm {
    /// Takes appends, or waits to be sealed.
    Active,
    /// Sorted, indexed, never written again.
    Sealed,
}

/// Counts of one segment.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SegmentStats {
    /// The segment's number.
    pub segment: u64,
    /// Its form.
    pub form: SegmentForm,
    /// Events in it.
    pub events: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// BLAKE3 of its file, in hex, once it is sealed.
    pub root: Option<String>,
}

pub(super) fn of(store: &Store) -> Result<Stats> {
    let view = store.snapshot()?.view;
    let mut segments = Vec::new();
    for part in view.parts() {
        segments.push(segment_of(&part)?);
    }
    let files = bytes_in(store)?;
    Ok(Stats {
        store: data_encoding::HEXLOWER.encode(&store.identity()),
        events: view.len(),
        hosts: hosts_of(&view),
        types: types_of(&view)?,
        segments,
        bytes_on_disk: files,
        read_only: match &store.0.mode {
            Mode::Writer(_) => None,
            Mode::Reader(_) => store.0.report.read_only.clone(),
        },
        lost: store.0.report.lost,
        content: content_of(store)?,
    })
}

fn content_of(store: &Store) -> Result<Option<BlobStats>> {
    match store.blobs().stats() {
        Ok(stats) => Ok(Some(stats)),
        // Told when the store was opened; the events are whole.
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}

fn segment_of(part: &Part<'_>) -> Result<SegmentStats> {
    Ok(match part {
        Part::Sealed(segment) => SegmentStats {
            segment: segment.number(),
            form: SegmentForm::Sealed,
            events: segment.events(),
            bytes: segment.bytes(),
            root: Some(data_encoding::HEXLOWER.encode(segment.root())),
        },
        Part::Active(segment, visible) => SegmentStats {
            segment: segment.number(),
            form: SegmentForm::Active,
            events: u64::from(*visible),
            bytes: segment
                .file()
                .size()
                .map_err(|e| Error::io("cannot read a file's size", e).at_path(segment.path()))?,
            root: None,
        },
    })
}

fn hosts_of(view: &View) -> Vec<HostStats> {
    let names = view.names();
    let of_host = |number: &u32| {
        let ranges = || view.parts().filter_map(|part| part.host_last(*number));
        // A repair can have left a number whose name is lost; it has no events.
        let host = names.host(*number).filter(|name| !name.is_empty())?;
        Some(HostStats {
            host: host.to_owned(),
            events: ranges().map(|(_, events)| events).sum(),
            first_seq: view.parts().find_map(|part| part.host_first(*number)),
            last_seq: ranges().next_back().map(|(last, _)| last),
        })
    };
    names.hosts_in_order().iter().filter_map(of_host).collect()
}

fn types_of(view: &View) -> Result<Vec<TypeStats>> {
    let mut types = Vec::new();
    for (number, kind) in view.names().kinds() {
        let mut events = 0;
        for part in view.parts() {
            events += part.count_of_kind(number)?;
        }
        if events > 0 {
            types.push(TypeStats { kind: kind.to_owned(), events });
        }
    }
    types.sort_by(|a, b| a.kind.cmp(&b.kind));
    Ok(types)
}

fn bytes_in(store: &Store) -> Result<u64> {
    let mut total = 0;
    let within = [super::opening::LOG_DIR, super::arranging::ORDER_DIR, IDS_DIR, PACKS_DIR, KEYS_DIR]
        .map(|dir| store.path().join(dir));
    for dir in [store.path().to_path_buf()].into_iter().chain(within) {
        let vfs = &store.options().vfs;
        for name in vfs.list(&dir).map_err(|e| Error::io("cannot list a directory", e).at_path(&dir))? {
            // A file can vanish between the listing and the look: then it takes no space.
            let file = vfs.open(&dir.join(name), crate::io::OpenMode::Read);
            total += file.and_then(|file| file.size()).unwrap_or(0);
        }
    }
    Ok(total)
}
