//! The content of the demo's run, on its way into the store.

use serde::Serialize;

use crate::cli::sample::contents;
use crate::contract::{Address, AddressKind, EventFields, Json, Result};
use crate::store::{Blobs, PutOptions, PutReport, Snapshot};

/// What became of the run's content.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Imported {
    /// Pieces of content, and their bytes.
    pub(super) pieces: u64,
    pub(super) bytes: u64,
    pub(super) stored: u64,
    pub(super) held: u64,
    /// What an earlier demo forgot stays forgotten.
    pub(super) left_out: u64,
    /// What the run says was shredded before it was handed over.
    pub(super) shredded_before: Vec<String>,
}

/// Puts the content by the addresses that the run has for it.
pub(super) fn put(blobs: &Blobs) -> Result<Imported> {
    let mut imported = Imported::default();
    let how = PutOptions::new().address(AddressKind::Sha256).keep_shredded(true);
    for (address, bytes) in contents() {
        let expected: Address = address.parse()?;
        let count = match blobs.put_with(bytes, &how.clone().expect(expected))? {
            PutReport::Stored(_) => &mut imported.stored,
            PutReport::Held(_) => &mut imported.held,
            PutReport::LeftOut(_) => &mut imported.left_out,
        };
        *count += 1;
        imported.pieces += 1;
        imported.bytes = imported.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    }
    blobs.sync()?;
    Ok(imported)
}

/// Lists the hashes of what the run's events say was shredded.
pub(super) fn shredded(snapshot: &Snapshot) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for event in snapshot.by_type("data.deleted") {
        let event = event?;
        let payload = Json::parse(event.payload())?;
        let hash = payload.get("ref").and_then(|named| named.get("hash")).and_then(Json::as_str);
        let is_shredded = payload.get("shredded").and_then(Json::as_bool) == Some(true);
        found.extend(hash.filter(|_| is_shredded).map(str::to_owned));
    }
    Ok(found)
}
