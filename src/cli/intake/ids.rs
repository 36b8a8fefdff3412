//! From ids to ranks: a join on disk.

use std::path::Path;

use super::links::{Link, Links};
use crate::cli::sort::{Sorted, Sorter};
use crate::contract::{Event, IdForm, IdRef, Result};

/// Memory of the sort.
const SORT_BYTES: usize = 32 << 20;
/// Marks who names an id, against who has it. Lines and ranks stay below it.
const NAMED: u64 = 1 << 63;

/// Gathers who has an id and who names it.
#[derive(Debug)]
pub(super) struct Join {
    ids: Sorter,
}

/// The line of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) rank: u64,
    /// Where its record stands.
    pub(super) position: u64,
}

impl Join {
    pub(super) fn new(dir: &Path) -> Self {
        Self { ids: Sorter::new(dir, SORT_BYTES) }
    }

    /// Adds an event that the store does not hold.
    pub(super) fn event(&mut self, place: Place, event: &Event) -> Result<()> {
        let Place { line, rank, position } = place;
        self.push(event.id.as_ref(), line, |out| {
            out.extend_from_slice(&rank.to_le_bytes());
            out.extend_from_slice(&position.to_le_bytes());
        })?;
        for cause in &event.causes {
            self.push(cause.as_ref(), NAMED | rank, |_| {})?;
        }
        Ok(())
    }

    fn push(&mut self, id: IdRef<'_>, word: u64, value: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        if self.ids.is_full() {
            self.ids.spill(|first| first)?;
        }
        let [high, low] = fingerprint(id);
        self.ids.push([high, low, word], value)
    }

    /// Joins, and adds the links. The first line with an id has it; `again` says what a later one is.
    pub(super) fn finish(
        self,
        links: &mut Links,
        mut again: impl FnMut(Place, Place) -> Result<Link>,
    ) -> Result<()> {
        let ids: Sorted = self.ids.finish(|first| first)?;
        let mut ids = ids.records();
        let mut first: Option<([u64; 2], Place)> = None;
        while let Some(record) = ids.header()? {
            let [high, low, word] = record.key;
            let id = [high, low];
            let holder = first.filter(|(held, _)| *held == id).map(|(_, place)| place);
            // Who has an id stands before those who name it, by line.
            if word & NAMED != 0 {
                // Where nobody in the file has the id, the store holds it, or nobody does.
                if let Some(holder) = holder {
                    links.push(word & !NAMED, Link::Cause(holder.rank))?;
                }
                continue;
            }
            let mut numbers = ids.value()?.as_chunks().0.iter().copied().map(u64::from_le_bytes);
            let (rank, position) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            let place = Place { line: word, rank, position };
            match holder {
                Some(holder) => {
                    let link = again(holder, place)?;
                    links.push(rank, link)?;
                }
                None => first = Some((id, place)),
            }
        }
        Ok(())
    }
}

/// Stands for an id in the sort: a UUID itself, or 128 bits of the text's BLAKE3.
fn fingerprint(id: IdRef<'_>) -> [u64; 2] {
    let bytes = match id.form() {
        IdForm::Uuid(bytes) => bytes,
        IdForm::Text(text) => {
            blake3::hash(text.as_bytes()).as_bytes().first_chunk().copied().unwrap_or_default()
        }
    };
    let number = u128::from_be_bytes(bytes);
    [u64::try_from(number >> 64).unwrap_or(0), u64::try_from(number & u128::from(u64::MAX)).unwrap_or(0)]
}
