//! Questions to a tree. Nothing is allocated on the way but what a node that is not cached needs.

use super::node::{Inner, Node, sum_of};
use super::search::count_before;
use super::shelf::{Held, Shelf, no_child};
use super::{Entry, Kind, Tree};
use crate::contract::Result;

/// An entry, and how far within its weight a unit lies.
pub type Weighed<K> = (<K as Kind>::Key, <K as Kind>::Value, u64);

/// A child, by its node and its index.
struct Beside<'a, K: Kind>(Held<'a, K>, usize);

impl<K: Kind> Tree<K> {
    /// Returns the value of a key. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::insert`]; so do all questions.
    pub fn get(&self, shelf: &Shelf, key: &K::Key) -> Result<Option<K::Value>> {
        let Some(mut held) = self.held(shelf)? else { return Ok(None) };
        loop {
            held = match &*held {
                Node::Leaf(entries) => {
                    let at = count_before(entries, |(before, _)| before < key);
                    return Ok(entries.get(at).filter(|(found, _)| found == key).map(|(_, value)| *value));
                }
                Node::Inner(inner) => held.child(inner.child_of(key), shelf)?,
            };
        }
    }

    /// Returns the first entry. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn first(&self, shelf: &Shelf) -> Result<Option<Entry<K>>> {
        self.held(shelf)?.map_or(Ok(None), |root| first_below(root, shelf))
    }

    /// Returns the last entry. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn last(&self, shelf: &Shelf) -> Result<Option<Entry<K>>> {
        self.held(shelf)?.map_or(Ok(None), |root| last_below(root, shelf))
    }

    /// Returns the first entry whose key is not less. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn at_or_after(&self, shelf: &Shelf, key: &K::Key) -> Result<Option<Entry<K>>> {
        self.first_not(shelf, key, |held| held < key)
    }

    /// Returns the first entry whose key is greater. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn after(&self, shelf: &Shelf, key: &K::Key) -> Result<Option<Entry<K>>> {
        self.first_not(shelf, key, |held| held <= key)
    }

    /// Returns the last entry whose key is not greater. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn at_or_before(&self, shelf: &Shelf, key: &K::Key) -> Result<Option<Entry<K>>> {
        self.last_of(shelf, |held| held <= key)
    }

    /// Returns the last entry whose key is less. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn before(&self, shelf: &Shelf, key: &K::Key) -> Result<Option<Entry<K>>> {
        self.last_of(shelf, |held| held < key)
    }

    /// Returns the sum of all entries; `None` of an empty tree. Looks at the root.
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn total(&self, shelf: &Shelf, context: &K::Context) -> Result<Option<K::Sum>> {
        Ok(self.held(shelf)?.and_then(|root| root.sum(context)))
    }

    /// Returns the sum of all entries with a smaller key; `None` where there are none. O(log n), and in each node a part of
    /// its sums or entries is added up.
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn sum_before(&self, shelf: &Shelf, context: &K::Context, key: &K::Key) -> Result<Option<K::Sum>> {
        let Some(mut held) = self.held(shelf)? else { return Ok(None) };
        let mut left = None;
        let add = |left: Option<K::Sum>, right| Some(left.map_or(right, |left| K::add(left, right, context)));
        loop {
            held = match &*held {
                Node::Leaf(entries) => {
                    let at = count_before(entries, |(before, _)| before < key);
                    let here = sum_of::<K>(entries.get(..at).unwrap_or_default(), context);
                    return Ok(here.map_or(left, |here| add(left, here)));
                }
                Node::Inner(inner) => {
                    let index = inner.child_of(key);
                    left = inner.sums.iter().take(index).fold(left, |left, sum| add(left, *sum));
                    held.child(index, shelf)?
                }
            };
        }
    }

    /// Returns what all entries with a smaller key weigh together, where an entry weighs `weight` and a child `weight_of` its
    /// sum: [`Tree::sum_before`] where one number of the sums is all that is asked for. O(log n), and the same parts of nodes.
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn weight_before(
        &self,
        shelf: &Shelf,
        key: &K::Key,
        weight_of: impl Fn(&K::Sum) -> u64,
        weight: impl Fn(&K::Key, &K::Value) -> u64,
    ) -> Result<u64> {
        let Some(mut held) = self.held(shelf)? else { return Ok(0) };
        let mut left = 0u64;
        loop {
            held = match &*held {
                Node::Leaf(entries) => {
                    let before = entries.iter().take_while(|(before, _)| before < key);
                    return Ok(
                        before.fold(left, |left, (key, value)| left.saturating_add(weight(key, value)))
                    );
                }
                Node::Inner(inner) => {
                    let index = inner.child_of(key);
                    let sums = inner.sums.iter().take(index);
                    left = sums.fold(left, |left, sum| left.saturating_add(weight_of(sum)));
                    held.child(index, shelf)?
                }
            };
        }
    }

    /// Finds the first entry whose key is not less than `from` and that `hit` accepts.
    ///
    /// `may` must be true of every sum with such an entry below it. Where it is true of those alone this is O(log n); each time it
    /// is true in vain costs a node more.
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn find_from(
        &self,
        shelf: &Shelf,
        from: &K::Key,
        may: &dyn Fn(&K::Sum) -> bool,
        hit: &dyn Fn(&K::Key, &K::Value) -> bool,
    ) -> Result<Option<Entry<K>>> {
        self.held(shelf)?.map_or(Ok(None), |root| find_below(&root, shelf, Some(from), may, hit))
    }

    /// Finds the entry that holds the `n`-th unit, from 0, where an entry weighs `weight` and a child `weight_of` its sum;
    /// returns it with `n` less what stands before it. `None` where all entries together weigh no more than `n`. O(log n).
    ///
    /// # Errors
    ///
    /// As [`Tree::get`].
    pub fn nth(
        &self,
        shelf: &Shelf,
        mut n: u64,
        weight_of: &dyn Fn(&K::Sum) -> u64,
        weight: &dyn Fn(&K::Key, &K::Value) -> u64,
    ) -> Result<Option<Weighed<K>>> {
        let Some(mut held) = self.held(shelf)? else { return Ok(None) };
        loop {
            held = match &*held {
                Node::Leaf(entries) => {
                    let found = entries.iter().find(|(key, value)| passed(&mut n, weight(key, value)));
                    return Ok(found.map(|(key, value)| (*key, *value, n)));
                }
                Node::Inner(inner) => {
                    match inner.sums.iter().position(|sum| passed(&mut n, weight_of(sum))) {
                        Some(index) => held.child(index, shelf)?,
                        None => return Ok(None),
                    }
                }
            };
        }
    }

    /// Returns the root, which is looked at together with one node of each level below it.
    fn held(&self, shelf: &Shelf) -> Result<Option<Held<'_, K>>> {
        let Some(link) = &self.root else { return Ok(None) };
        shelf.visited(u64::from(self.height) + 1);
        Held::of(link, self.height, shelf).map(Some)
    }

    /// Returns the first entry that is not `left` of what is asked for; everything up to `key` may be.
    fn first_not(
        &self,
        shelf: &Shelf,
        key: &K::Key,
        left: impl Fn(&K::Key) -> bool,
    ) -> Result<Option<Entry<K>>> {
        let Some(mut held) = self.held(shelf)? else { return Ok(None) };
        let mut right: Option<Beside<'_, K>> = None;
        loop {
            held = match &*held {
                Node::Leaf(entries) => {
                    let at = count_before(entries, |(key, _)| left(key));
                    return match (entries.get(at), right) {
                        (Some(found), _) => Ok(Some(*found)),
                        (None, Some(Beside(node, index))) => first_below(node.child(index, shelf)?, shelf),
                        (None, None) => Ok(None),
                    };
                }
                Node::Inner(inner) => {
                    let index = inner.child_of(key);
                    let child = held.child(index, shelf)?;
                    if index + 1 < inner.len() {
                        right = Some(Beside(held, index + 1));
                    }
                    child
                }
            };
        }
    }

    /// Returns the last entry that is `left` of what is asked for.
    fn last_of(&self, shelf: &Shelf, left: impl Fn(&K::Key) -> bool) -> Result<Option<Entry<K>>> {
        let Some(mut held) = self.held(shelf)? else { return Ok(None) };
        let mut beside: Option<Beside<'_, K>> = None;
        loop {
            held = match &*held {
                Node::Leaf(entries) => {
                    let at = count_before(entries, |(key, _)| left(key));
                    return match (at.checked_sub(1).and_then(|at| entries.get(at)), beside) {
                        (Some(found), _) => Ok(Some(*found)),
                        (None, Some(Beside(node, index))) => last_below(node.child(index, shelf)?, shelf),
                        (None, None) => Ok(None),
                    };
                }
                Node::Inner(inner) => {
                    let index = count_before(&inner.keys, &left).saturating_sub(1);
                    let child = held.child(index, shelf)?;
                    if let Some(before) = index.checked_sub(1) {
                        beside = Some(Beside(held, before));
                    }
                    child
                }
            };
        }
    }
}

/// Takes a weight off `n`, or reports that the `n`-th unit is within it.
fn passed(n: &mut u64, weight: u64) -> bool {
    match n.checked_sub(weight) {
        Some(left) => {
            *n = left;
            false
        }
        None => true,
    }
}

fn first_below<K: Kind>(mut held: Held<'_, K>, shelf: &Shelf) -> Result<Option<Entry<K>>> {
    loop {
        held = match &*held {
            Node::Leaf(entries) => return Ok(entries.first().copied()),
            Node::Inner(_) => held.child(0, shelf)?,
        };
    }
}

fn last_below<K: Kind>(mut held: Held<'_, K>, shelf: &Shelf) -> Result<Option<Entry<K>>> {
    loop {
        held = match &*held {
            Node::Leaf(entries) => return Ok(entries.last().copied()),
            Node::Inner(inner) => held.child(inner.len().checked_sub(1).ok_or_else(no_child)?, shelf)?,
        };
    }
}

/// Looks for a hit below a node, from a key on if one is given. Calls itself once a level.
fn find_below<K: Kind>(
    node: &Held<'_, K>,
    shelf: &Shelf,
    from: Option<&K::Key>,
    may: &dyn Fn(&K::Sum) -> bool,
    hit: &dyn Fn(&K::Key, &K::Value) -> bool,
) -> Result<Option<Entry<K>>> {
    let inner: &Inner<K> = match &**node {
        Node::Leaf(entries) => {
            let start = from.map_or(0, |from| count_before(entries, |(key, _)| key < from));
            return Ok(entries.iter().skip(start).find(|(key, value)| hit(key, value)).copied());
        }
        Node::Inner(inner) => inner,
    };
    let first = from.map_or(0, |from| inner.child_of(from));
    for (index, sum) in inner.sums.iter().enumerate().skip(first) {
        if may(sum) {
            let child = node.child(index, shelf)?;
            let found = find_below(&child, shelf, from.filter(|_| index == first), may, hit)?;
            if found.is_some() {
                return Ok(found);
            }
            shelf.visited(1);
        }
    }
    Ok(None)
}
