//! Storing a tree: the fresh nodes, or all of them anew.
//!
//! Children are stored before what leads to them, so whatever is cut off leaves no node with a way to nowhere. The tree changes
//! at the end alone, and clones of it keep the nodes they have.

use std::sync::Arc;

use super::edit::Fresh;
use super::encode::{Root, put_node};
use super::node::{Inner, Link, Node};
use super::shelf::Shelf;
use super::{Kind, NodeAt, Sink, Tree};
use crate::contract::Result;

/// Which nodes are stored.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Fresh,
    All,
}

struct Flush<'a> {
    shelf: &'a Shelf,
    sink: &'a mut dyn Sink,
    which: Which,
    bytes: Vec<u8>,
}

impl<K: Kind> Tree<K> {
    /// Stores every fresh node, children first. From then on the cache alone holds them.
    ///
    /// On an error the tree is as before, and what was stored by then is of no use to it. Nothing is made durable: that is the
    /// sink's business.
    ///
    /// # Errors
    ///
    /// Errors of the sink; [`Corrupt`](crate::contract::ErrorKind::Corrupt) where damage led to a node that cannot be stored.
    pub fn flush(&mut self, shelf: &Shelf, sink: &mut dyn Sink) -> Result<()> {
        self.store(shelf, sink, Which::Fresh)
    }

    /// Stores every node anew, those too that are stored: nothing of the tree is left in older files. Takes the memory of one
    /// path; the cache keeps what it kept, under the new places.
    ///
    /// On an error the tree is as before, as with [`Tree::flush`].
    ///
    /// # Errors
    ///
    /// Errors of the sink and of the source, and [`Corrupt`](crate::contract::ErrorKind::Corrupt) where a stored node is not one of
    /// this tree.
    pub fn rewrite(&mut self, shelf: &Shelf, sink: &mut dyn Sink) -> Result<()> {
        self.store(shelf, sink, Which::All)
    }

    /// Returns where the tree's root lies; `None` while it has fresh nodes.
    pub fn stored(&self) -> Option<Root> {
        match &self.root {
            None => Some(Root::EMPTY),
            Some(Link::Fresh(_)) => None,
            Some(Link::Stored { at, below }) => {
                Some(Root { at: Some(*at), height: self.height, len: self.len, below: *below })
            }
        }
    }

    /// Opens a stored tree; nothing is read yet.
    pub fn open(root: Root) -> Self {
        let link = root.at.map(|at| Link::Stored { at, below: root.below });
        if link.is_none() {
            return Self::default();
        }
        Self { root: link, height: root.height, len: root.len, fresh: Fresh::default() }
    }

    fn store(&mut self, shelf: &Shelf, sink: &mut dyn Sink, which: Which) -> Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        let (at, below) = Flush { shelf, sink, which, bytes: Vec::new() }.link(root, self.height)?;
        self.root = Some(Link::Stored { at, below });
        self.fresh = Fresh::default();
        Ok(())
    }
}

impl Flush<'_> {
    /// Stores what a link leads to; returns its place and the stored bytes of all of it. Calls itself once a level.
    fn link<K: Kind>(&mut self, link: &Link<K>, level: u8) -> Result<(NodeAt, u64)> {
        let (node, keep) = match link {
            Link::Stored { at, below } if self.which == Which::Fresh => return Ok((*at, *below)),
            Link::Stored { at, .. } => self.shelf.pass(*at, level)?,
            Link::Fresh(node) => (Arc::clone(node), true),
        };
        let mut below = 0_u64;
        let clean = match &*node {
            Node::Leaf(_) => node,
            Node::Inner(inner) => {
                let mut links = Vec::with_capacity(inner.len());
                for link in &inner.links {
                    let (at, bytes) = self.link(link, level.saturating_sub(1))?;
                    below = below.saturating_add(bytes);
                    links.push(Link::Stored { at, below: bytes });
                }
                let (keys, sums) = (inner.keys.clone(), inner.sums.clone());
                Arc::new(Node::Inner(Inner { level: inner.level, keys, sums, links }))
            }
        };
        self.bytes.clear();
        put_node(&mut self.bytes, &clean)?;
        let at = self.sink.append(&self.bytes)?;
        if keep {
            self.shelf.keep(at, &clean);
        }
        Ok((at, below.saturating_add(at.bytes.into())))
    }
}
