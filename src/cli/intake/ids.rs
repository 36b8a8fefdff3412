//! From ids to ranks: a join on disk.

use std::path::Path;

use crate::cli::sort::{Sorted, Sorter};
use crate::contract::{IdForm, IdRef, Result};

/// Memory of the join's first sort; the second one takes half.
const SORT_BYTES: usize = 32 << 20;
/// Marks who names an id, against who has it. Lines and ranks stay below it.
const NAMED: u64 = 1 << 63;

/// What is known of an event of the file, by its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The store holds it, or an earlier line is the same event.
    Duplicate,
    /// It contradicts the store or an earlier line.
    Refused,
    /// It names the event of this rank as a cause.
    Cause(u64),
}

impl Link {
    fn words(self) -> [u64; 2] {
        match self {
            Self::Duplicate => [0, 0],
            Self::Refused => [0, 1],
            Self::Cause(rank) => [1, rank],
        }
    }

    /// Reads a link back from the second and third number of its key.
    pub(super) fn read(words: [u64; 2]) -> Self {
        match words {
            [0, 0] => Self::Duplicate,
            [0, _] => Self::Refused,
            [_, rank] => Self::Cause(rank),
        }
    }
}

/// Gathers who has an id and who names it.
#[derive(Debug)]
pub(super) struct Join {
    ids: Sorter,
    links: Sorter,
}

/// An event that has an id which an earlier line has too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clash {
    /// The later line.
    pub(super) line: u64,
    /// The first line with the id.
    pub(super) first_line: u64,
}

/// The first event that has an id.
struct First {
    id: [u64; 2],
    line: u64,
    rank: u64,
}

impl Join {
    pub(super) fn new(dir: &Path) -> Self {
        Self { ids: Sorter::new(dir, SORT_BYTES), links: Sorter::new(dir, SORT_BYTES / 2) }
    }

    /// Adds the event of a rank that may go in.
    pub(super) fn event(&mut self, rank: u64, line: u64, id: IdRef<'_>, causes: &[IdRef<'_>]) -> Result<()> {
        self.id(id, line, rank)?;
        for cause in causes {
            self.id(*cause, NAMED | rank, 0)?;
        }
        Ok(())
    }

    fn id(&mut self, id: IdRef<'_>, word: u64, rank: u64) -> Result<()> {
        if self.ids.is_full() {
            self.ids.spill(|first| first)?;
        }
        let [high, low] = fingerprint(id);
        self.ids.push([high, low, word], |out| out.extend_from_slice(&rank.to_le_bytes()))
    }

    /// Adds a link.
    pub(super) fn link(&mut self, rank: u64, link: Link) -> Result<()> {
        push_link(&mut self.links, rank, link)
    }

    /// Joins, and returns the links by rank. Reports every event whose id an earlier line has.
    pub(super) fn finish(self, mut clash: impl FnMut(Clash)) -> Result<Sorted> {
        let mut links = self.links;
        let mut ids = self.ids.finish(|first| first)?.records();
        let mut first: Option<First> = None;
        while let Some(record) = ids.header()? {
            let [high, low, word] = record.key;
            let id = [high, low];
            let rank = ids.value()?.first_chunk().copied().map_or(0, u64::from_le_bytes);
            // Who has an id stands before those who name it, by line.
            match (first.as_ref().filter(|first| first.id == id), word & NAMED != 0) {
                (Some(first), true) => push_link(&mut links, word & !NAMED, Link::Cause(first.rank))?,
                // Nobody in the file has the id: the store holds it, or nobody does.
                (None, true) => {}
                (Some(first), false) => {
                    clash(Clash { line: word, first_line: first.line });
                    push_link(&mut links, rank, Link::Refused)?;
                }
                (None, false) => first = Some(First { id, line: word, rank }),
            }
        }
        links.finish(|first| first)
    }
}

fn push_link(links: &mut Sorter, rank: u64, link: Link) -> Result<()> {
    if links.is_full() {
        links.spill(|first| first)?;
    }
    let [second, third] = link.words();
    links.push([rank, second, third], |_| {})
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
