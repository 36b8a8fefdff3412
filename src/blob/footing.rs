//! Writing footers.

use crate::codec::{FOOTER_ENTRY_BYTES, FooterEntry, FooterTail};

/// Returns a footer for entries in any order, to be written at `offset`.
pub(super) fn footer(
    mut entries: Vec<FooterEntry>,
    records: u64,
    records_end: u64,
    offset: u64,
    store: &[u8; 16],
    number: u64,
) -> Vec<u8> {
    entries.sort_by(FooterEntry::order);
    let mut bytes = Vec::with_capacity(entries.len() * FOOTER_ENTRY_BYTES);
    for entry in &entries {
        bytes.extend_from_slice(&entry.to_bytes());
    }
    let tail = FooterTail {
        entries: entries.len() as u64,
        entries_offset: offset,
        records,
        records_end,
        aliases: entries.iter().filter(|entry| entry.alias).count() as u64,
        entries_crc: FooterTail::crc_of(&bytes, store, number),
    };
    bytes.extend_from_slice(&tail.to_bytes(store, number));
    bytes
}
