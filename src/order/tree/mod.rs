//! A persistent B+tree: ordered entries, sums of what is below each node, clones that share all nodes.
//!
//! A [`Tree`] is a link to its root; a clone of it costs one counter and stays as it is. A node is *fresh*, in memory alone
//! and changed in place while no clone shares it, or *stored*, somewhere that a [`Source`] reads and a [`Sink`] writes, and never
//! changed again: a change copies the path to it. Nodes are loaded when they are looked at, and a [`Shelf`] keeps the
//! clean ones in a bounded cache, so memory does not grow with the tree.
//!
//! What an entry is, and what its sums are, says a [`Kind`]. Sums find an entry by more than its key: the first from somewhere on
//! that something holds of ([`Tree::find_from`]), the one that holds the n-th unit ([`Tree::nth`]), and what stands before a key
//! ([`Tree::sum_before`]).
//!
//! Splits and merges are those of a B+tree (Comer, "The ubiquitous B-tree", 1979), copied paths those of Okasaki's and of every
//! copy-on-write store since; nodes differ in that a quarter full is full enough, so that rising keys leave fuller nodes behind.
//!
//! Pure: no files, no clock, no randomness. Nothing calls itself deeper than a tree is high.

mod cache;
mod check;
mod cursor;
mod edit;
mod encode;
mod find;
mod flush;
mod node;
mod search;
mod shelf;
#[cfg(test)]
mod tests;
mod varint;

use std::fmt::{self, Debug};

use self::edit::Fresh;
use self::node::Link;
use crate::contract::Result;

pub use self::cursor::Cursor;
pub use self::encode::Root;
pub use self::find::Weighed;
pub use self::shelf::{Shape, Shelf};
pub use self::varint::{put_u64, take_u32, take_u64};

/// Where a stored node lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeAt {
    /// The file's number.
    pub file: u32,
    /// The offset in the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub bytes: u32,
}

/// Reads stored nodes.
pub trait Source: Send + Sync {
    /// Returns the bytes that were appended for a place. The caller expects them to be checked by a checksum, and still to be
    /// anything.
    ///
    /// # Errors
    ///
    /// Whatever kept it from reading, or from trusting what it read.
    fn read(&self, at: NodeAt) -> Result<Vec<u8>>;
}

/// Takes nodes to be stored.
pub trait Sink {
    /// Takes a node; the matching [`Source`] can read it from then on. One place is never given to two nodes, not even where
    /// something failed in between: the cache knows nodes by their places.
    ///
    /// # Errors
    ///
    /// Whatever kept it from that.
    fn append(&mut self, node: &[u8]) -> Result<NodeAt>;
}

/// What a tree holds.
pub trait Kind: Sized + Send + Sync + 'static {
    /// Distinguishes the trees of one file: the first byte of each stored node, checked on reading.
    const NUMBER: u8;
    /// What entries are ordered by.
    type Key: Copy + Ord + Debug + Send + Sync + 'static;
    /// What stands beside a key.
    type Value: Copy + PartialEq + Debug + Send + Sync + 'static;
    /// What an inner node says of everything below a child.
    type Sum: Copy + PartialEq + Debug + Send + Sync + 'static;
    /// What adding sums needs to know; `()` for most. The sums of what a tree holds must not depend on when it is asked.
    type Context: ?Sized;

    /// Adds up entries, at least one, in the order of their keys.
    fn sum(entries: &[Entry<Self>], context: &Self::Context) -> Self::Sum;

    /// Adds two sums, that of smaller keys on the left. Associative, and agrees with [`Kind::sum`].
    ///
    /// Sums and values that were read may be anything, so neither this nor the others may overflow.
    fn add(left: Self::Sum, right: Self::Sum, context: &Self::Context) -> Self::Sum;

    /// Returns the sum of what is left or there after one entry changed: put anew (no `old`), replaced, or taken out (no `new`).
    ///
    /// `None`, as by default, where the sum alone does not tell; then a node is added up again, which takes tens of
    /// additions on each level. Something remains below in any case.
    fn change(
        _sum: Self::Sum,
        _key: &Self::Key,
        _old: Option<&Self::Value>,
        _new: Option<&Self::Value>,
        _context: &Self::Context,
    ) -> Option<Self::Sum> {
        None
    }

    /// Writes an entry, by its difference to the key before it in the node if there is one, which is less.
    fn put_entry(out: &mut Vec<u8>, before: Option<&Self::Key>, key: &Self::Key, value: &Self::Value);

    /// Takes an entry off the front of any bytes; `None` for what [`Kind::put_entry`] did not write.
    fn take_entry(bytes: &mut &[u8], before: Option<&Self::Key>) -> Option<Entry<Self>>;

    /// Writes a key.
    fn put_key(out: &mut Vec<u8>, key: &Self::Key);

    /// Takes a key off the front of any bytes.
    fn take_key(bytes: &mut &[u8]) -> Option<Self::Key>;

    /// Writes a sum.
    fn put_sum(out: &mut Vec<u8>, sum: &Self::Sum);

    /// Takes a sum off the front of any bytes.
    fn take_sum(bytes: &mut &[u8]) -> Option<Self::Sum>;
}

/// A key and its value.
pub type Entry<K> = (<K as Kind>::Key, <K as Kind>::Value);

/// A persistent B+tree. Clones share nodes: O(1), and none sees what is done to another.
pub struct Tree<K: Kind> {
    root: Option<Link<K>>,
    /// Levels of inner nodes.
    height: u8,
    len: u64,
    fresh: Fresh,
}

impl<K: Kind> Clone for Tree<K> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), height: self.height, len: self.len, fresh: self.fresh }
    }
}

impl<K: Kind> Default for Tree<K> {
    fn default() -> Self {
        Self { root: None, height: 0, len: 0, fresh: Fresh::default() }
    }
}

impl<K: Kind> Debug for Tree<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<K: Kind> Tree<K> {
    /// Returns the number of entries.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the memory of nodes that are not stored yet, about, in bytes; nodes shared with clones count in each.
    pub fn fresh_bytes(&self) -> usize {
        self.fresh.bytes
    }
}
