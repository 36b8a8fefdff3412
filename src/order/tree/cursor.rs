//! Walks over entries, in either direction.
//!
//! Invariants:
//! - the path is empty, and the cursor before the first entry, or leads from the root to a leaf;
//! - in an inner node the index is that of the path's next node; in the leaf it is that of the entry behind the cursor, or
//!   the number of entries;
//! - a failed step leaves the cursor where it was.

use std::fmt;
use std::sync::Arc;

use super::node::{Link, Node};
use super::search::count_before;
use super::shelf::{Shelf, child_link, no_child, shared};
use super::{Entry, Kind, Tree};
use crate::contract::Result;

/// A place between two entries of a tree. Holds the nodes that lead to it, so it goes on over the tree it was made of whatever
/// happens to that.
pub struct Cursor<K: Kind> {
    root: Option<Link<K>>,
    height: u8,
    path: Vec<Step<K>>,
    /// The end of the path to come.
    ahead: Vec<Step<K>>,
}

struct Step<K: Kind> {
    node: Arc<Node<K>>,
    index: usize,
}

impl<K: Kind> fmt::Debug for Cursor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("height", &self.height).finish_non_exhaustive()
    }
}

/// Where a path goes down.
#[derive(Clone, Copy)]
enum Side {
    First,
    Last,
}

impl<K: Kind> Tree<K> {
    /// Returns a cursor before the first entry.
    pub fn cursor(&self) -> Cursor<K> {
        Cursor { root: self.root.clone(), height: self.height, path: Vec::new(), ahead: Vec::new() }
    }
}

impl<K: Kind> Cursor<K> {
    /// Goes to directly before the first entry whose key is not less. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`]; the cursor stays where it was.
    pub fn seek(&mut self, shelf: &Shelf, key: &K::Key) -> Result<()> {
        self.go(shelf, |node| match node {
            Node::Leaf(entries) => count_before(entries, |(before, _)| before < key),
            Node::Inner(inner) => inner.child_of(key),
        })
    }

    /// Goes behind the last entry. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Cursor::seek`].
    pub fn seek_end(&mut self, shelf: &Shelf) -> Result<()> {
        self.go(shelf, |node| Side::Last.index(node))
    }

    /// Passes over the next entry and returns it; `None` at the end. O(1) amortised.
    ///
    /// # Errors
    ///
    /// As [`Cursor::seek`].
    pub fn next(&mut self, shelf: &Shelf) -> Result<Option<Entry<K>>> {
        if self.path.is_empty() {
            self.go(shelf, |node| Side::First.index(node))?;
        }
        if let Some(entry) = self.step_forward() {
            return Ok(Some(entry));
        }
        // The leaf is behind us: the deepest node that has a child further right leads on.
        let Some(turn) = self.path.iter().rposition(|step| step.index + 1 < step.node.len()) else {
            return Ok(None);
        };
        let Some(step) = self.path.get(turn) else { return Ok(None) };
        let index = step.index + 1;
        self.turn(shelf, turn, index, Side::First)?;
        Ok(self.step_forward())
    }

    /// Passes back over the entry before and returns it; `None` at the start. O(1) amortised.
    ///
    /// # Errors
    ///
    /// As [`Cursor::seek`].
    pub fn prev(&mut self, shelf: &Shelf) -> Result<Option<Entry<K>>> {
        if let Some(entry) = self.step_back() {
            return Ok(Some(entry));
        }
        let Some(turn) = self.path.iter().rposition(|step| step.index > 0) else { return Ok(None) };
        let Some(step) = self.path.get(turn) else { return Ok(None) };
        let index = step.index - 1;
        self.turn(shelf, turn, index, Side::Last)?;
        Ok(self.step_back())
    }

    fn step_forward(&mut self) -> Option<Entry<K>> {
        let Step { node, index } = self.path.last_mut()?;
        let Node::Leaf(entries) = &**node else { return None };
        let entry = *entries.get(*index)?;
        *index += 1;
        Some(entry)
    }

    fn step_back(&mut self) -> Option<Entry<K>> {
        let Step { node, index } = self.path.last_mut()?;
        let Node::Leaf(entries) = &**node else { return None };
        let before = index.checked_sub(1)?;
        let entry = *entries.get(before)?;
        *index = before;
        Some(entry)
    }

    /// Goes from the root to a leaf by what `index` says of each node.
    fn go(&mut self, shelf: &Shelf, index: impl Fn(&Node<K>) -> usize) -> Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        let node = shared(root, self.height, shelf)?;
        self.look_ahead(shelf, node, index)?;
        self.path.clear();
        self.path.append(&mut self.ahead);
        Ok(())
    }

    /// Goes from a node of the path to another child, and to one side of what is below that.
    fn turn(&mut self, shelf: &Shelf, turn: usize, index: usize, side: Side) -> Result<()> {
        let step = self.path.get(turn).ok_or_else(no_child)?;
        let (link, level) = child_link(&step.node, index)?;
        let node = shared(link, level, shelf)?;
        self.look_ahead(shelf, node, |node| side.index(node))?;
        self.path.truncate(turn + 1);
        if let Some(step) = self.path.last_mut() {
            step.index = index;
        }
        self.path.append(&mut self.ahead);
        Ok(())
    }

    fn look_ahead(
        &mut self,
        shelf: &Shelf,
        mut node: Arc<Node<K>>,
        index_in: impl Fn(&Node<K>) -> usize,
    ) -> Result<()> {
        self.ahead.clear();
        loop {
            shelf.visited(1);
            let index = index_in(&node);
            if node.level() == 0 {
                self.ahead.push(Step { node, index });
                return Ok(());
            }
            let (link, level) = child_link(&node, index)?;
            let child = shared(link, level, shelf)?;
            self.ahead.push(Step { node, index });
            node = child;
        }
    }
}

impl Side {
    fn index<K: Kind>(self, node: &Node<K>) -> usize {
        match (self, node) {
            (Self::First, _) => 0,
            (Self::Last, Node::Leaf(entries)) => entries.len(),
            (Self::Last, Node::Inner(inner)) => inner.len().saturating_sub(1),
        }
    }
}
