//! Nodes and roots as bytes.
//!
//! A node: the tree's number u8, its level u8 (0 for a leaf), the number of entries or children (LEB128, like all numbers
//! below); then in a leaf the entries as the kind writes them, each by its difference to the one before; in an inner node for each
//! child its separator, its sum, and its link: file, offset, bytes, bytes of all below. A root has fixed fields, little-endian.
//!
//! Reading takes any bytes: what is not a node of the tree and the level asked for is an error.

use super::node::{Inner, Link, Node};
use super::varint::{put_u64, take_u32, take_u64};
use super::{Kind, NodeAt, Shape};
use crate::contract::{Error, Result};

/// No node holds more entries or children.
pub(super) const FILL_MAX: usize = 1 << 14;

/// No tree is higher: two children a node and 2^64 entries.
const HEIGHT_MAX: u8 = 64;

/// Where a stored tree's root lies, and what the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The root node; `None` for an empty tree.
    pub at: Option<NodeAt>,
    /// Levels of inner nodes.
    pub height: u8,
    /// Entries.
    pub len: u64,
    /// Stored bytes of all its nodes.
    pub below: u64,
}

impl Root {
    /// The empty tree's.
    pub const EMPTY: Self = Self { at: None, height: 0, len: 0, below: 0 };

    /// Bytes of every root: whether there is a node u8, file u32, offset u64, bytes u32, height u8, entries u64, bytes below u64.
    pub const BYTES: usize = 34;

    /// Writes it, [`Root::BYTES`] long.
    pub fn put(&self, out: &mut Vec<u8>) {
        let at = self.at.unwrap_or(NodeAt { file: 0, offset: 0, bytes: 0 });
        out.push(self.at.is_some().into());
        out.extend(at.file.to_le_bytes());
        out.extend(at.offset.to_le_bytes());
        out.extend(at.bytes.to_le_bytes());
        out.push(self.height);
        out.extend(self.len.to_le_bytes());
        out.extend(self.below.to_le_bytes());
    }

    /// Takes one off the front; `None` for what no tree's root is.
    #[must_use]
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let [held] = take(bytes)?;
        let file = u32::from_le_bytes(take(bytes)?);
        let offset = u64::from_le_bytes(take(bytes)?);
        let at = NodeAt { file, offset, bytes: u32::from_le_bytes(take(bytes)?) };
        let [height] = take(bytes)?;
        let len = u64::from_le_bytes(take(bytes)?);
        let below = u64::from_le_bytes(take(bytes)?);
        let empty = (at, height, len, below) == (NodeAt { file: 0, offset: 0, bytes: 0 }, 0, 0, 0);
        match held {
            0 if empty => Some(Self::EMPTY),
            1 if height <= HEIGHT_MAX && len > 0 => Some(Self { at: Some(at), height, len, below }),
            _ => None,
        }
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// Writes a node whose children are stored.
///
/// An error for one that has a fresh child, which only our own mistake makes, and for a leaf whose keys do not rise, which comes of
/// changing a tree whose separators are damaged: kinds write differences, and rely on it.
pub(super) fn put_node<K: Kind>(out: &mut Vec<u8>, node: &Node<K>) -> Result<()> {
    out.push(K::NUMBER);
    out.push(node.level());
    put_u64(out, node.len() as u64);
    match node {
        Node::Leaf(entries) => {
            let mut before: Option<&K::Key> = None;
            for (key, value) in entries {
                if before.is_some_and(|before| before >= key) {
                    return Err(Error::corrupt("a node of the order has keys that do not rise"));
                }
                K::put_entry(out, before, key, value);
                before = Some(key);
            }
        }
        Node::Inner(inner) => {
            for ((key, sum), link) in inner.keys.iter().zip(&inner.sums).zip(&inner.links) {
                let Link::Stored { at, below } = link else {
                    return Err(Error::corrupt("a node of the order is stored before its children"));
                };
                K::put_key(out, key);
                K::put_sum(out, sum);
                for number in [u64::from(at.file), at.offset, u64::from(at.bytes), *below] {
                    put_u64(out, number);
                }
            }
        }
    }
    Ok(())
}

/// Reads a node of a tree and a level, with room for one more entry than a node of the shape may hold.
pub(super) fn read_node<K: Kind>(bytes: &[u8], level: u8, shape: Shape) -> Result<Node<K>> {
    let wrong = || Error::corrupt("a node of the order is not what it should be");
    let mut rest = bytes;
    let [number, stored_level] = take(&mut rest).ok_or_else(wrong)?;
    if number != K::NUMBER || stored_level != level {
        return Err(wrong());
    }
    let len = take_u64(&mut rest).and_then(|len| usize::try_from(len).ok()).ok_or_else(wrong)?;
    let least = if level == 0 { 1 } else { 2 };
    if !(least..=FILL_MAX).contains(&len) {
        return Err(wrong());
    }
    let node =
        if level == 0 { read_leaf(&mut rest, len, shape) } else { read_inner(&mut rest, len, level, shape) };
    node.filter(|_| rest.is_empty()).ok_or_else(wrong)
}

fn read_leaf<K: Kind>(bytes: &mut &[u8], len: usize, shape: Shape) -> Option<Node<K>> {
    let mut entries = Vec::with_capacity(len.max(shape.leaf + 1));
    let mut before = None;
    for _ in 0..len {
        let (key, value) = K::take_entry(bytes, before.as_ref())?;
        if before.is_some_and(|before| before >= key) {
            return None;
        }
        before = Some(key);
        entries.push((key, value));
    }
    Some(Node::Leaf(entries))
}

fn read_inner<K: Kind>(bytes: &mut &[u8], len: usize, level: u8, shape: Shape) -> Option<Node<K>> {
    let room = len.max(shape.inner + 1);
    let (mut keys, mut sums, mut links) =
        (Vec::with_capacity(room), Vec::with_capacity(room), Vec::with_capacity(room));
    for _ in 0..len {
        let key = K::take_key(bytes)?;
        if keys.last().is_some_and(|before| *before >= key) {
            return None;
        }
        keys.push(key);
        sums.push(K::take_sum(bytes)?);
        let file = take_u32(bytes)?;
        let offset = take_u64(bytes)?;
        let at = NodeAt { file, offset, bytes: take_u32(bytes)? };
        links.push(Link::Stored { at, below: take_u64(bytes)? });
    }
    Some(Node::Inner(Inner { level, keys, sums, links }))
}
