//! Everything that must hold of a tree, looked at node by node.

use std::sync::Arc;

use super::node::{Inner, Link, Node};
use super::shelf::Shelf;
use super::{Kind, Tree};
use crate::contract::{Error, Result};

/// What was found below a node.
struct Below<K: Kind> {
    sum: K::Sum,
    len: u64,
    bytes: u64,
}

impl<K: Kind> Tree<K> {
    /// Checks all of the tree: that keys rise within their separators, how full nodes are, sums, counts, levels, bytes. Reads every
    /// node, in the memory of a path, and leaves the cache alone.
    ///
    /// # Errors
    ///
    /// Errors of the source; [`Corrupt`](crate::contract::ErrorKind::Corrupt) where something does not hold.
    pub fn check(&self, shelf: &Shelf, context: &K::Context) -> Result<()> {
        let Some(root) = &self.root else {
            return hold(self.len == 0 && self.height == 0, "an empty tree of the order has a length");
        };
        let least = if self.height == 0 { 1 } else { 2 };
        let below = check_link(root, self.height, least, (None, None), shelf, context)?;
        hold(below.len == self.len, "a tree of the order has another length than its entries")
    }
}

fn hold(holds: bool, otherwise: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::corrupt(otherwise)) }
}

/// Checks a node and all below it. Calls itself once a level.
fn check_link<K: Kind>(
    link: &Link<K>,
    level: u8,
    least: usize,
    bounds: (Option<K::Key>, Option<K::Key>),
    shelf: &Shelf,
    context: &K::Context,
) -> Result<Below<K>> {
    shelf.visited(1);
    let (node, stored) = match link {
        Link::Fresh(node) => (Arc::clone(node), None),
        Link::Stored { at, below } => (shelf.pass(*at, level)?.0, Some((*at, *below))),
    };
    hold(node.level() == level, "a node of the order is not what it should be")?;
    let full = (least..=shelf.shape().most(level)).contains(&node.len());
    hold(full, "a node of the order holds too little or too much")?;
    let mut found = match &*node {
        Node::Leaf(entries) => {
            check_keys(entries.iter().map(|(key, _)| *key), bounds)?;
            Below { sum: K::sum(entries, context), len: entries.len() as u64, bytes: 0 }
        }
        Node::Inner(inner) => check_children(inner, bounds, stored.is_some(), shelf, context)?,
    };
    if let Some((at, below)) = stored {
        found.bytes = found.bytes.saturating_add(at.bytes.into());
        hold(found.bytes == below, "a node of the order has more or less bytes below it than it says")?;
    }
    Ok(found)
}

fn check_children<K: Kind>(
    inner: &Inner<K>,
    (low, high): (Option<K::Key>, Option<K::Key>),
    stored: bool,
    shelf: &Shelf,
    context: &K::Context,
) -> Result<Below<K>> {
    let lists = inner.keys.len() == inner.len() && inner.sums.len() == inner.len();
    hold(lists, "an inner node of the order has lists of several lengths")?;
    check_keys(inner.keys.iter().copied(), (low, high))?;
    let level = inner.level.saturating_sub(1);
    let least = shelf.shape().least(level);
    let mut all: Option<Below<K>> = None;
    let bounds = inner.keys.iter().skip(1).map(|key| Some(*key)).chain([high]);
    for (((key, sum), link), high) in inner.keys.iter().zip(&inner.sums).zip(&inner.links).zip(bounds) {
        hold(
            !stored || matches!(link, Link::Stored { .. }),
            "a stored node of the order has a child that is not",
        )?;
        let child = check_link(link, level, least, (Some(*key), high), shelf, context)?;
        hold(child.sum == *sum, "a sum of the order is not that of what is below it")?;
        all = Some(match all {
            None => child,
            Some(all) => Below {
                sum: K::add(all.sum, child.sum, context),
                len: all.len + child.len,
                bytes: all.bytes.saturating_add(child.bytes),
            },
        });
    }
    all.ok_or_else(|| Error::corrupt("an inner node of the order has no children"))
}

/// Checks that keys rise, from the low bound on and below the high one.
fn check_keys<T: Copy + Ord>(
    keys: impl Iterator<Item = T>,
    (low, high): (Option<T>, Option<T>),
) -> Result<()> {
    let mut before = None;
    for key in keys {
        let rises = before.is_none_or(|before| before < key);
        let within = low.is_none_or(|low| low <= key) && high.is_none_or(|high| key < high);
        hold(rises && within, "the keys of a node of the order do not rise within its bounds")?;
        before = Some(key);
    }
    Ok(())
}
