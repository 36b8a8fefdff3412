//! Stores the index, and what is needed to find it again.

use crate::contract::Result;
use crate::order::tree::{Kind, Root, Shelf, Sink, Tree};
use crate::order::tree::{put_u64, take_u64};

use super::changes::{self, Changes};
use super::layout::Layout;
use super::{OrderIndex, Tables};

/// The form of [`OrderIndex::to_bytes`]: version, the roots of the trees in the order of their numbers, events,
/// generation, arrivals, number of changes, and each change's generation and position. Integers are LEB128.
const VERSION: u8 = 1;

impl OrderIndex {
    /// Returns the memory of nodes that are not stored yet, about. O(1).
    #[must_use]
    pub fn fresh_bytes(&self) -> usize {
        let tables = &self.tables;
        [
            tables.layout.runs.fresh_bytes(),
            tables.layout.places.fresh_bytes(),
            tables.dependents.fresh_bytes(),
            tables.missing.fresh_bytes(),
            tables.waiting.fresh_bytes(),
            tables.heads.fresh_bytes(),
            tables.hosts.fresh_bytes(),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }

    /// Stores every node that is not stored yet. What it costs is what changed since.
    ///
    /// # Errors
    /// Those of the sink and of reading nodes. The order stays as it is, and what was stored stays so.
    pub fn flush(&mut self, shelf: &Shelf, sink: &mut dyn Sink) -> Result<()> {
        self.sound()?;
        let tables = &mut self.tables;
        tables.layout.runs.flush(shelf, sink)?;
        tables.layout.places.flush(shelf, sink)?;
        tables.dependents.flush(shelf, sink)?;
        tables.missing.flush(shelf, sink)?;
        tables.waiting.flush(shelf, sink)?;
        tables.heads.flush(shelf, sink)?;
        tables.hosts.flush(shelf, sink)
    }

    /// Stores every node anew, so that nothing older is needed. Reads and writes the whole index, in the memory of a path.
    ///
    /// # Errors
    /// Those of the sink and of reading nodes; the index is then as before.
    pub fn rewrite(&mut self, shelf: &Shelf, sink: &mut dyn Sink) -> Result<()> {
        let mut tables = self.sound()?.clone();
        tables.layout.runs.rewrite(shelf, sink)?;
        tables.layout.places.rewrite(shelf, sink)?;
        tables.dependents.rewrite(shelf, sink)?;
        tables.missing.rewrite(shelf, sink)?;
        tables.waiting.rewrite(shelf, sink)?;
        tables.heads.rewrite(shelf, sink)?;
        tables.hosts.rewrite(shelf, sink)?;
        self.tables = tables;
        Ok(())
    }

    /// Returns the bytes of the stored nodes that the index needs; of those trees that changed since they were stored, none. O(1).
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.roots().into_iter().flatten().fold(0, |bytes, root| bytes.saturating_add(root.below))
    }

    /// Returns what [`from_bytes`](Self::from_bytes) makes the index of again; `None` while something is not stored. Below
    /// 3,500 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        self.sound().ok()?;
        let mut out = vec![VERSION];
        for root in self.roots() {
            root?.put(&mut out);
        }
        let changes = self.changes.entries();
        for number in [self.events, self.generation, self.arrivals, changes.len() as u64] {
            put_u64(&mut out, number);
        }
        for (generation, from) in changes {
            put_u64(&mut out, *generation);
            put_u64(&mut out, *from);
        }
        Some(out)
    }

    /// Makes an index of the bytes of [`to_bytes`](Self::to_bytes), without reading a node; `None` if they are none, or of
    /// another version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, mut rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let bytes = &mut rest;
        let tables = Tables {
            layout: Layout { runs: open(bytes)?, places: open(bytes)? },
            dependents: open(bytes)?,
            missing: open(bytes)?,
            waiting: open(bytes)?,
            heads: open(bytes)?,
            hosts: open(bytes)?,
            ..Tables::default()
        };
        let events = take_u64(bytes)?;
        let generation = take_u64(bytes)?;
        let arrivals = take_u64(bytes)?;
        let mut changes = Vec::new();
        for _ in 0..usize::try_from(take_u64(bytes)?).ok().filter(|len| *len <= changes::MAX)? {
            changes.push((take_u64(bytes)?, take_u64(bytes)?));
        }
        let changes = Changes::from_entries(changes)?;
        let is_sound = bytes.is_empty() && changes.since(generation).is_none();
        is_sound.then(|| Self { tables, events, generation, arrivals, changes, ..Self::default() })
    }

    fn roots(&self) -> [Option<Root>; 7] {
        let tables = &self.tables;
        [
            tables.layout.runs.stored(),
            tables.layout.places.stored(),
            tables.dependents.stored(),
            tables.missing.stored(),
            tables.waiting.stored(),
            tables.heads.stored(),
            tables.hosts.stored(),
        ]
    }
}

fn open<K: Kind>(bytes: &mut &[u8]) -> Option<Tree<K>> {
    Some(Tree::open(Root::take(bytes)?))
}
