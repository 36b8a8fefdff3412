//! Nodes in memory, and the links that lead to them.
//!
//! Invariants:
//! - entries and separators rise strictly; a leaf holds at least one entry, an inner node at least two children;
//! - the three lists of an inner node have one length;
//! - the separator of a child is not above any key below it, and above every key to its left;
//! - the sum of a child is that of all entries below it;
//! - a stored node has stored children only: what the cache keeps never leads to a fresh node.

use std::sync::Arc;

use super::search::count_before;
use super::{Entry, Kind, NodeAt, Shape};

/// The way to a node.
pub(super) enum Link<K: Kind> {
    /// In memory alone; changed in place while nobody shares it.
    Fresh(Arc<Node<K>>),
    /// Stored, and never changed there.
    Stored {
        at: NodeAt,
        /// Stored bytes of the node and of all below it.
        below: u64,
    },
}

impl<K: Kind> Clone for Link<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Fresh(node) => Self::Fresh(Arc::clone(node)),
            Self::Stored { at, below } => Self::Stored { at: *at, below: *below },
        }
    }
}

/// A node of a tree.
pub(super) enum Node<K: Kind> {
    Leaf(Vec<Entry<K>>),
    Inner(Inner<K>),
}

/// The children of an inner node, as lists side by side: a search reads keys alone, a sum reads sums alone.
pub(super) struct Inner<K: Kind> {
    /// How far above the leaves: 1 directly above them.
    pub(super) level: u8,
    pub(super) keys: Vec<K::Key>,
    pub(super) sums: Vec<K::Sum>,
    pub(super) links: Vec<Link<K>>,
}

impl<K: Kind> Clone for Inner<K> {
    fn clone(&self) -> Self {
        Self {
            level: self.level,
            keys: self.keys.clone(),
            sums: self.sums.clone(),
            links: self.links.clone(),
        }
    }
}

impl<K: Kind> Clone for Node<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(entries) => Self::Leaf(entries.clone()),
            Self::Inner(inner) => Self::Inner(inner.clone()),
        }
    }
}

impl<K: Kind> Node<K> {
    /// Returns how far above the leaves it stands: 0 for a leaf.
    pub(super) fn level(&self) -> u8 {
        match self {
            Self::Leaf(_) => 0,
            Self::Inner(inner) => inner.level,
        }
    }

    /// Returns the number of entries or children.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Inner(inner) => inner.len(),
        }
    }

    /// Copies it with room for one more than a node may hold, so that a change needs no further memory.
    pub(super) fn copy(&self, shape: Shape) -> Self {
        match self {
            Self::Leaf(entries) => Self::Leaf(copied(entries, shape.leaf + 1)),
            Self::Inner(inner) => Self::Inner(Inner {
                level: inner.level,
                keys: copied(&inner.keys, shape.inner + 1),
                sums: copied(&inner.sums, shape.inner + 1),
                links: copied(&inner.links, shape.inner + 1),
            }),
        }
    }

    /// Returns the sum of everything below; `None` where there is nothing, as in a node that is about to go.
    pub(super) fn sum(&self, context: &K::Context) -> Option<K::Sum> {
        match self {
            Self::Leaf(entries) => sum_of::<K>(entries, context),
            Self::Inner(inner) => {
                inner.sums.iter().copied().reduce(|left, right| K::add(left, right, context))
            }
        }
    }

    /// Returns a key that is not above any below, and above all that stand to the left of the node.
    pub(super) fn least(&self) -> Option<K::Key> {
        match self {
            Self::Leaf(entries) => entries.first().map(|(key, _)| *key),
            Self::Inner(inner) => inner.keys.first().copied(),
        }
    }

    /// Moves everything from a place on into a new node.
    pub(super) fn split_off(&mut self, at: usize, shape: Shape) -> Self {
        match self {
            Self::Leaf(entries) => Self::Leaf(tail(entries, at, shape.leaf + 1)),
            Self::Inner(inner) => Self::Inner(Inner {
                level: inner.level,
                keys: tail(&mut inner.keys, at, shape.inner + 1),
                sums: tail(&mut inner.sums, at, shape.inner + 1),
                links: tail(&mut inner.links, at, shape.inner + 1),
            }),
        }
    }

    /// Puts everything of its neighbour to the right behind its own. Nothing happens to nodes of two levels.
    pub(super) fn append(&mut self, right: Self) {
        match (self, right) {
            (Self::Leaf(entries), Self::Leaf(mut more)) => entries.append(&mut more),
            (Self::Inner(inner), Self::Inner(mut more)) => {
                inner.keys.append(&mut more.keys);
                inner.sums.append(&mut more.sums);
                inner.links.append(&mut more.links);
            }
            (Self::Leaf(_), Self::Inner(_)) | (Self::Inner(_), Self::Leaf(_)) => {}
        }
    }

    /// Memory that a full node of a level takes, in bytes.
    pub(super) fn memory_of(level: u8, shape: Shape) -> usize {
        let one = if level == 0 { size_of::<Entry<K>>() } else { Inner::<K>::CHILD_BYTES };
        size_of::<Self>() + one * (shape.most(level) + 1)
    }

    /// Memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let lists = match self {
            Self::Leaf(entries) => entries.capacity() * size_of::<Entry<K>>(),
            Self::Inner(inner) => inner.keys.capacity() * Inner::<K>::CHILD_BYTES,
        };
        size_of::<Self>() + lists
    }
}

impl<K: Kind> Inner<K> {
    /// Memory of a child's key, sum and link.
    pub(super) const CHILD_BYTES: usize = size_of::<K::Key>() + size_of::<K::Sum>() + size_of::<Link<K>>();

    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns the child that holds a key if any does.
    pub(super) fn child_of(&self, key: &K::Key) -> usize {
        count_before(&self.keys, |least| least <= key).saturating_sub(1)
    }

    pub(super) fn put_child(&mut self, at: usize, key: K::Key, sum: K::Sum, link: Link<K>) {
        self.keys.insert(at, key);
        self.sums.insert(at, sum);
        self.links.insert(at, link);
    }
}

/// Adds up entries; `None` for none.
pub(super) fn sum_of<K: Kind>(entries: &[Entry<K>], context: &K::Context) -> Option<K::Sum> {
    (!entries.is_empty()).then(|| K::sum(entries, context))
}

fn copied<T: Clone>(list: &[T], capacity: usize) -> Vec<T> {
    let mut copy = Vec::with_capacity(capacity.max(list.len()));
    copy.extend_from_slice(list);
    copy
}

fn tail<T>(list: &mut Vec<T>, at: usize, capacity: usize) -> Vec<T> {
    let mut tail = Vec::with_capacity(capacity.max(list.len().saturating_sub(at)));
    tail.extend(list.drain(at.min(list.len())..));
    tail
}
