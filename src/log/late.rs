//! Causes that come late: what an event is told that would close a cycle.

use super::view::View;
use crate::contract::{Code, Error, IdRef};
use crate::order::index::EventKey;

/// Says which events an event would close a cycle with.
pub fn cycle(id: IdRef<'_>, own: EventKey, path: &[EventKey], view: &View) -> Error {
    const SHOWN_MAX: usize = 8;
    let mut names: Vec<String> = path
        .iter()
        .filter(|key| **key != own)
        .take(SHOWN_MAX)
        .filter_map(|key| view.at(key.host, key.seq).ok().flatten())
        .map(|found| found.record.get().id.get().to_string())
        .collect();
    if path.len() > SHOWN_MAX {
        names.push(format!("{} more", path.len() - SHOWN_MAX));
    }
    names.insert(0, id.to_string());
    Error::invalid(Code::Cycle, format!("event {id} would close a cycle of causes: {}", names.join(" -> ")))
}
