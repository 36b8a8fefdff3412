//! What the trees of one index share: where nodes come from, the cache of clean nodes, the shape.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cache::Cache;
use super::encode::{FILL_MAX, read_node};
use super::node::{Link, Node};
use super::{Kind, NodeAt, Source};
use crate::contract::{Error, Result};

/// How many entries a node holds at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Entries of a leaf.
    pub leaf: usize,
    /// Children of an inner node.
    pub inner: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { leaf: 64, inner: 64 }
    }
}

impl Shape {
    /// Returns the most that a node of a level holds.
    pub(super) fn most(self, level: u8) -> usize {
        if level == 0 { self.leaf } else { self.inner }
    }

    /// Returns the least that a node of a level holds unless it is the root: a quarter, and two at least. Both halves of a
    /// node that is one too full hold as much, and so do both parts of two that do not fit into one.
    pub(super) fn least(self, level: u8) -> usize {
        (self.most(level) + 1).div_ceil(4).max(2)
    }
}

/// What trees of one index share. Any number of threads use one at the same time.
pub struct Shelf {
    source: Arc<dyn Source>,
    cache: Cache,
    shape: Shape,
    visits: AtomicU64,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("shape", &self.shape)
            .field("visits", &self.visits())
            .finish_non_exhaustive()
    }
}

impl Shelf {
    /// Creates a shelf. The cache keeps at most `cache_bytes` of decoded nodes, nothing where that is 0. A shape of less than 3
    /// becomes 3; one of more than a node can hold is lowered.
    pub fn new(source: Arc<dyn Source>, cache_bytes: usize, shape: Shape) -> Self {
        let clamp = |most: usize| most.clamp(3, FILL_MAX);
        let shape = Shape { leaf: clamp(shape.leaf), inner: clamp(shape.inner) };
        Self { source, cache: Cache::new(cache_bytes), shape, visits: AtomicU64::new(0) }
    }

    /// Returns how much a node holds.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the number of nodes looked at since it was made.
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Returns the memory of cached nodes in bytes, as accounted.
    pub fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    pub(super) fn visited(&self, nodes: u64) {
        self.visits.fetch_add(nodes, Ordering::Relaxed);
    }

    /// Returns a stored node from the cache, or reads it and keeps it there.
    pub(super) fn load<K: Kind>(&self, at: NodeAt, level: u8) -> Result<Arc<Node<K>>> {
        if let Some(node) = self.cached(at, level)? {
            return Ok(node);
        }
        let node = Arc::new(self.read(at, level)?);
        self.keep(at, &node);
        Ok(node)
    }

    /// Returns a stored node as [`Shelf::load`] does, and whether it was cached; leaves the cache alone.
    pub(super) fn pass<K: Kind>(&self, at: NodeAt, level: u8) -> Result<(Arc<Node<K>>, bool)> {
        match self.cached(at, level)? {
            Some(node) => Ok((node, true)),
            None => Ok((Arc::new(self.read(at, level)?), false)),
        }
    }

    /// Returns a copy of a stored node that is about to be changed, with room for that. What has to be read for it is not
    /// cached: the tree will not come back for it.
    pub(super) fn copy<K: Kind>(&self, at: NodeAt, level: u8) -> Result<Node<K>> {
        match self.cached::<K>(at, level)? {
            Some(node) => Ok(node.copy(self.shape)),
            None => self.read(at, level),
        }
    }

    /// Keeps a node that is stored at a place.
    pub(super) fn keep<K: Kind>(&self, at: NodeAt, node: &Arc<Node<K>>) {
        self.cache.put(at, Arc::clone(node) as Arc<dyn Any + Send + Sync>, node.memory());
    }

    fn cached<K: Kind>(&self, at: NodeAt, level: u8) -> Result<Option<Arc<Node<K>>>> {
        let Some(node) = self.cache.get(at) else { return Ok(None) };
        match node.downcast::<Node<K>>() {
            Ok(node) if node.level() == level => Ok(Some(node)),
            _ => Err(Error::corrupt("a node of the order is not what it should be").at_byte(at.offset)),
        }
    }

    fn read<K: Kind>(&self, at: NodeAt, level: u8) -> Result<Node<K>> {
        let bytes = self.source.read(at)?;
        read_node(&bytes, level, self.shape).map_err(|error| error.at_byte(at.offset))
    }
}

/// A node while it is read: borrowed from the tree where it is fresh, so that reading fresh nodes touches no counter.
pub(super) enum Held<'a, K: Kind> {
    Borrowed(&'a Node<K>),
    Shared(Arc<Node<K>>),
}

impl<K: Kind> Deref for Held<'_, K> {
    type Target = Node<K>;

    fn deref(&self) -> &Node<K> {
        match self {
            Self::Borrowed(node) => node,
            Self::Shared(node) => node,
        }
    }
}

impl<'a, K: Kind> Held<'a, K> {
    /// Follows a link of the tree.
    pub(super) fn of(link: &'a Link<K>, level: u8, shelf: &Shelf) -> Result<Self> {
        match link {
            Link::Fresh(node) => Ok(Self::Borrowed(node)),
            Link::Stored { at, .. } => Ok(Self::Shared(shelf.load(*at, level)?)),
        }
    }

    /// Returns a child by its index.
    pub(super) fn child(&self, index: usize, shelf: &Shelf) -> Result<Self> {
        match self {
            Self::Borrowed(node) => {
                let (link, level) = child_link(node, index)?;
                Self::of(link, level, shelf)
            }
            Self::Shared(node) => {
                let (link, level) = child_link(node, index)?;
                Ok(Self::Shared(shared(link, level, shelf)?))
            }
        }
    }
}

/// Follows a link to a node that outlives the tree.
pub(super) fn shared<K: Kind>(link: &Link<K>, level: u8, shelf: &Shelf) -> Result<Arc<Node<K>>> {
    match link {
        Link::Fresh(node) => Ok(Arc::clone(node)),
        Link::Stored { at, .. } => shelf.load(*at, level),
    }
}

/// Returns a child's link and level.
pub(super) fn child_link<K: Kind>(node: &Node<K>, index: usize) -> Result<(&Link<K>, u8)> {
    let child = match node {
        Node::Leaf(_) => None,
        Node::Inner(inner) => inner.links.get(index).map(|link| (link, inner.level.saturating_sub(1))),
    };
    child.ok_or_else(no_child)
}

pub(super) fn no_child() -> Error {
    Error::corrupt("a node of the order has no such child")
}
