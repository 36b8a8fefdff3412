//! Changes along one path, from the root down and back.
//!
//! On the way down every node of the path becomes fresh and nobody else's, and with it the neighbour that a removal
//! may need; that changes where nodes lie, not what the tree holds. All loading is done by then: entries, separators and sums
//! change on the way back, which cannot fail. A tree whose change failed holds what it held.

use std::sync::Arc;

use super::node::{Inner, Link, Node};
use super::search::count_before;
use super::shelf::{Shelf, no_child};
use super::{Kind, Shape, Tree};
use crate::contract::Result;

/// The memory of a tree's fresh nodes, each as if it were full.
#[derive(Clone, Copy, Default)]
pub(super) struct Fresh {
    pub(super) bytes: usize,
}

impl Fresh {
    fn more<K: Kind>(&mut self, level: u8, shape: Shape) {
        self.bytes += Node::<K>::memory_of(level, shape);
    }

    fn less<K: Kind>(&mut self, level: u8, shape: Shape) {
        self.bytes = self.bytes.saturating_sub(Node::<K>::memory_of(level, shape));
    }
}

/// What a change needs on its way.
struct Edit<'a, K: Kind> {
    shelf: &'a Shelf,
    context: &'a K::Context,
    shape: Shape,
    fresh: &'a mut Fresh,
}

/// What an insertion leaves to the node above.
struct Put<K: Kind> {
    old: Option<K::Value>,
    /// The node that was split off to the right.
    right: Option<Node<K>>,
}

impl<K: Kind> Tree<K> {
    /// Puts an entry, in the place of the one with the same key if there is one, whose value it returns.
    ///
    /// O(log n). Nodes that clones share are copied along the path. On an error the tree holds what it held.
    ///
    /// # Errors
    ///
    /// Errors of the source, and [`Corrupt`](crate::contract::ErrorKind::Corrupt) where a stored node is not one of this tree.
    pub fn insert(
        &mut self,
        shelf: &Shelf,
        context: &K::Context,
        key: K::Key,
        value: K::Value,
    ) -> Result<Option<K::Value>> {
        let shape = shelf.shape();
        shelf.visited(u64::from(self.height) + 1);
        let Some(link) = &mut self.root else {
            let mut entries = Vec::with_capacity(shape.leaf + 1);
            entries.push((key, value));
            self.root = Some(Link::Fresh(Arc::new(Node::Leaf(entries))));
            self.fresh.more::<K>(0, shape);
            self.len = 1;
            return Ok(None);
        };
        let mut edit = Edit { shelf, context, shape, fresh: &mut self.fresh };
        let root = edit.fresh(link, self.height)?;
        let Put { old, right } = edit.insert(root, key, value)?;
        if let Some(right) = right {
            let left = std::mem::replace(root, Node::Leaf(Vec::new()));
            *root = edit.root_over(left, right, self.height + 1);
            self.height += 1;
        }
        if old.is_none() {
            self.len += 1;
        }
        Ok(old)
    }

    /// Takes out an entry and returns its value; `None` where there is none, and nothing is copied then.
    ///
    /// O(log n), as [`Tree::insert`].
    ///
    /// # Errors
    ///
    /// As [`Tree::insert`].
    pub fn remove(&mut self, shelf: &Shelf, context: &K::Context, key: &K::Key) -> Result<Option<K::Value>> {
        if self.get(shelf, key)?.is_none() {
            return Ok(None);
        }
        let shape = shelf.shape();
        shelf.visited(u64::from(self.height) + 1);
        let Some(link) = &mut self.root else { return Ok(None) };
        let mut edit = Edit { shelf, context, shape, fresh: &mut self.fresh };
        let root = edit.fresh(link, self.height)?;
        let old = edit.remove(root, key)?;
        if old.is_some() {
            self.len = self.len.saturating_sub(1);
        }
        match root {
            Node::Leaf(entries) if entries.is_empty() => {
                self.root = None;
                self.fresh.less::<K>(0, shape);
            }
            Node::Inner(inner) if inner.len() == 1 => {
                self.root = inner.links.pop();
                self.fresh.less::<K>(self.height, shape);
                self.height -= 1;
            }
            _ => {}
        }
        Ok(old)
    }
}

impl<K: Kind> Edit<'_, K> {
    /// Makes the node of a link one that only this tree has.
    fn fresh<'n>(&mut self, link: &'n mut Link<K>, level: u8) -> Result<&'n mut Node<K>> {
        match link {
            Link::Stored { at, .. } => {
                *link = Link::Fresh(Arc::new(self.shelf.copy(*at, level)?));
                self.fresh.more::<K>(level, self.shape);
            }
            Link::Fresh(node) if Arc::strong_count(node) > 1 => *node = Arc::new(node.copy(self.shape)),
            Link::Fresh(_) => {}
        }
        match link {
            Link::Fresh(node) => Ok(Arc::make_mut(node)),
            Link::Stored { .. } => Err(no_child()),
        }
    }

    fn fresh_child<'n>(&mut self, inner: &'n mut Inner<K>, index: usize) -> Result<&'n mut Node<K>> {
        let level = inner.level.saturating_sub(1);
        self.fresh(inner.links.get_mut(index).ok_or_else(no_child)?, level)
    }

    fn insert(&mut self, node: &mut Node<K>, key: K::Key, value: K::Value) -> Result<Put<K>> {
        let (put_at, old) = match node {
            Node::Leaf(entries) => {
                let at = count_before(entries, |(before, _)| *before < key);
                match entries.get_mut(at) {
                    Some((found, held)) if *found == key => {
                        return Ok(Put { old: Some(std::mem::replace(held, value)), right: None });
                    }
                    _ => entries.insert(at, (key, value)),
                }
                (at, None)
            }
            Node::Inner(inner) => {
                let index = inner.child_of(&key);
                let child = self.fresh_child(inner, index)?;
                let Put { old, right } = self.insert(child, key, value)?;
                let sum = if right.is_none() { None } else { child.sum(self.context) };
                match sum {
                    Some(sum) => set(&mut inner.sums, index, sum),
                    None => self.change_sum(inner, index, &key, old.as_ref(), Some(&value)),
                }
                if let Some(least) = inner.keys.first_mut()
                    && key < *least
                {
                    *least = key;
                }
                let Some(right) = right else { return Ok(Put { old, right: None }) };
                self.adopt(inner, index + 1, right);
                (index + 1, old)
            }
        };
        let len = node.len();
        let level = node.level();
        let right = (len > self.shape.most(level)).then(|| {
            self.fresh.more::<K>(level, self.shape);
            // Where keys come in rising order the left part is left fuller: it gets no more of them.
            let rising = put_at + 1 + len / 8 >= len;
            let at = if rising { len - self.shape.least(level) } else { len / 2 };
            node.split_off(at, self.shape)
        });
        Ok(Put { old, right })
    }

    fn remove(&mut self, node: &mut Node<K>, key: &K::Key) -> Result<Option<K::Value>> {
        let inner = match node {
            Node::Leaf(entries) => {
                let at = entries.binary_search_by(|(held, _)| held.cmp(key)).ok();
                return Ok(at.map(|at| entries.remove(at).1));
            }
            Node::Inner(inner) => inner,
        };
        let index = inner.child_of(key);
        let least = self.shape.least(inner.level.saturating_sub(1));
        let may_shrink = self.fresh_child(inner, index)?.len() <= least;
        let left = index.saturating_sub(1);
        if may_shrink {
            self.fresh_child(inner, if index == 0 { 1 } else { left })?;
        }
        let child = self.fresh_child(inner, index)?;
        let old = self.remove(child, key)?;
        let shrunk = child.len() < least;
        if let Some(old) = &old {
            if shrunk {
                self.even_out(inner, left);
            } else {
                self.change_sum(inner, index, key, Some(old), None);
            }
        }
        Ok(old)
    }

    /// Brings a child's sum up to date after one entry below it changed.
    fn change_sum(
        &self,
        inner: &mut Inner<K>,
        index: usize,
        key: &K::Key,
        old: Option<&K::Value>,
        new: Option<&K::Value>,
    ) {
        let Some(sum) = inner.sums.get(index) else { return };
        let changed = K::change(*sum, key, old, new, self.context).or_else(|| self.child_sum(inner, index));
        if let Some(sum) = changed {
            set(&mut inner.sums, index, sum);
        }
    }

    /// Adds up a child that is fresh.
    fn child_sum(&self, inner: &Inner<K>, index: usize) -> Option<K::Sum> {
        match inner.links.get(index)? {
            Link::Fresh(node) => node.sum(self.context),
            Link::Stored { .. } => None,
        }
    }

    /// Makes one node of two neighbours, both fresh, or two that are alike full.
    fn even_out(&mut self, inner: &mut Inner<K>, left: usize) {
        if left + 1 >= inner.len() {
            return;
        }
        let level = inner.level.saturating_sub(1);
        inner.keys.remove(left + 1);
        inner.sums.remove(left + 1);
        let Link::Fresh(right) = inner.links.remove(left + 1) else { return };
        self.fresh.less::<K>(level, self.shape);
        let Some(Link::Fresh(node)) = inner.links.get_mut(left) else { return };
        let node = Arc::make_mut(node);
        node.append(Arc::unwrap_or_clone(right));
        let too_full = node.len() > self.shape.most(level);
        let right = too_full.then(|| node.split_off(node.len() / 2, self.shape));
        if let Some(sum) = node.sum(self.context) {
            set(&mut inner.sums, left, sum);
        }
        if let Some(right) = right {
            self.fresh.more::<K>(level, self.shape);
            self.adopt(inner, left + 1, right);
        }
    }

    /// Makes a node a child.
    fn adopt(&self, inner: &mut Inner<K>, index: usize, node: Node<K>) {
        if let (Some(key), Some(sum)) = (node.least(), node.sum(self.context)) {
            inner.put_child(index, key, sum, Link::Fresh(Arc::new(node)));
        }
    }

    fn root_over(&mut self, left: Node<K>, right: Node<K>, level: u8) -> Node<K> {
        let room = self.shape.inner + 1;
        let mut inner = Inner {
            level,
            keys: Vec::with_capacity(room),
            sums: Vec::with_capacity(room),
            links: Vec::with_capacity(room),
        };
        self.adopt(&mut inner, 0, left);
        self.adopt(&mut inner, 1, right);
        self.fresh.more::<K>(level, self.shape);
        Node::Inner(inner)
    }
}

fn set<T>(list: &mut [T], index: usize, value: T) {
    if let Some(place) = list.get_mut(index) {
        *place = value;
    }
}
