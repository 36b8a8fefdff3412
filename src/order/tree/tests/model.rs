//! Random histories against `BTreeMap`: shapes that split and merge all the time, caches of nothing, of one node and of everything,
//! stores and openings in between, and clones that must stay as they were.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use super::kinds::{Counted, Medium, Numbers, NumbersSum, Pen};

const CONTEXT: u64 = 5;

type Model = BTreeMap<u64, u64>;

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64),
    /// The next key above all.
    Push(u64),
    Remove(u64),
    /// The n-th key held, so that trees shrink too.
    RemoveHeld(usize),
    RemoveRange(u64, u64),
    Flush,
    Rewrite,
    Reopen,
    Clone,
    DropClone,
    Ask(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let key = || 0..120_u64;
    prop_oneof![
        8 => (key(), 0..40_u64).prop_map(|(key, value)| Op::Insert(key, value)),
        3 => (0..40_u64).prop_map(Op::Push),
        3 => key().prop_map(Op::Remove),
        5 => (0..1000_usize).prop_map(Op::RemoveHeld),
        1 => (key(), 0..60_u64).prop_map(|(from, len)| Op::RemoveRange(from, from + len)),
        1 => Just(Op::Flush),
        1 => Just(Op::Rewrite),
        1 => Just(Op::Reopen),
        1 => Just(Op::Clone),
        1 => Just(Op::DropClone),
        3 => key().prop_map(Op::Ask),
    ]
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![Just((3, 3)), Just((4, 5)), Just((5, 3)), Just((16, 4))]
        .prop_map(|(leaf, inner)| Shape { leaf, inner })
}

fn caches() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), Just(900), Just(usize::MAX / 2)]
}

/// A tree and what it must be.
struct Pair {
    tree: Tree<Numbers>,
    model: Model,
}

fn sum(model: &Model) -> Option<NumbersSum> {
    let entries: Vec<(u64, u64)> = model.iter().map(|(key, value)| (*key, *value)).collect();
    (!entries.is_empty()).then(|| Numbers::sum(&entries, &CONTEXT))
}

fn held(entry: (&u64, &u64)) -> (u64, u64) {
    (*entry.0, *entry.1)
}

/// Every entry, forwards, from the tree alone.
fn entries(tree: &Tree<Numbers>, shelf: &Shelf) -> Vec<(u64, u64)> {
    let mut cursor = tree.cursor();
    std::iter::from_fn(|| cursor.next(shelf).unwrap()).collect()
}

impl Pair {
    /// All of it, by walking and by checking.
    fn compare(&self, shelf: &Shelf) {
        self.tree.check(shelf, &CONTEXT).unwrap();
        let all: Vec<(u64, u64)> = self.model.iter().map(held).collect();
        assert_eq!(self.tree.len(), self.model.len() as u64);
        assert_eq!(self.tree.is_empty(), self.model.is_empty());
        assert_eq!(entries(&self.tree, shelf), all);
        let mut cursor = self.tree.cursor();
        cursor.seek_end(shelf).unwrap();
        let mut back: Vec<(u64, u64)> = std::iter::from_fn(|| cursor.prev(shelf).unwrap()).collect();
        back.reverse();
        assert_eq!(back, all);
        assert_eq!(self.tree.total(shelf, &CONTEXT).unwrap(), sum(&self.model));
        assert_eq!(self.tree.first(shelf).unwrap(), all.first().copied());
        assert_eq!(self.tree.last(shelf).unwrap(), all.last().copied());
    }

    /// Every question about one key.
    fn ask(&self, shelf: &Shelf, key: u64) {
        let (tree, model) = (&self.tree, &self.model);
        assert_eq!(tree.get(shelf, &key).unwrap(), model.get(&key).copied());
        assert_eq!(tree.at_or_after(shelf, &key).unwrap(), model.range(key..).next().map(held));
        assert_eq!(tree.after(shelf, &key).unwrap(), model.range(key + 1..).next().map(held));
        assert_eq!(tree.at_or_before(shelf, &key).unwrap(), model.range(..=key).next_back().map(held));
        assert_eq!(tree.before(shelf, &key).unwrap(), model.range(..key).next_back().map(held));
        let before: Model = model.range(..key).map(held).collect();
        assert_eq!(tree.sum_before(shelf, &CONTEXT, &key).unwrap(), sum(&before));
        let weight = tree.weight_before(shelf, &key, |sum| sum.events, |_, value| value % 8).unwrap();
        assert_eq!(weight, before.values().map(|value| value % 8).sum::<u64>());

        for least in [0, 20, 35, 39, 40] {
            let found =
                tree.find_from(shelf, &key, &|sum| sum.greatest >= least, &|_, value| *value >= least);
            assert_eq!(found.unwrap(), model.range(key..).map(held).find(|(_, value)| *value >= least));
            let visits = shelf.visits();
            let found = tree.find_from(shelf, &key, &|_| true, &|_, value| *value >= least);
            assert_eq!(found.unwrap(), model.range(key..).map(held).find(|(_, value)| *value >= least));
            assert!(shelf.visits() > visits || tree.is_empty());
        }

        let mut n = key;
        let wanted = model.iter().map(held).find_map(|(key, value)| {
            if n < value % 8 {
                return Some((key, value, n));
            }
            n -= value % 8;
            None
        });
        assert_eq!(tree.nth(shelf, key, &|sum| sum.events, &|_, value| value % 8).unwrap(), wanted);

        let mut cursor = tree.cursor();
        cursor.seek(shelf, &key).unwrap();
        let (mut after, mut before) = (model.range(key..).map(held), model.range(..key).rev().map(held));
        for _ in 0..3 {
            assert_eq!(cursor.next(shelf).unwrap(), after.next());
        }
        cursor.seek(shelf, &key).unwrap();
        for _ in 0..3 {
            assert_eq!(cursor.prev(shelf).unwrap(), before.next());
        }
    }

    fn insert(&mut self, shelf: &Shelf, key: u64, value: u64) {
        assert_eq!(self.tree.insert(shelf, &CONTEXT, key, value).unwrap(), self.model.insert(key, value));
    }

    fn remove(&mut self, shelf: &Shelf, key: u64) {
        assert_eq!(self.tree.remove(shelf, &CONTEXT, &key).unwrap(), self.model.remove(&key));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_map(ops in vec(op(), 1..250), shape in shapes(), cache in caches()) {
        let medium = Arc::new(Medium::default());
        let mut pen = Pen(Arc::clone(&medium));
        let shelf = || Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, cache, shape);
        let mut shelf = (shelf(), shelf);
        let mut pair = Pair { tree: Tree::default(), model: Model::new() };
        let mut clones: Vec<Pair> = Vec::new();
        for op in ops {
            match op {
                Op::Insert(key, value) => pair.insert(&shelf.0, key, value),
                Op::Push(value) => {
                    let key = pair.model.last_key_value().map_or(0, |(key, _)| key + 1);
                    pair.insert(&shelf.0, key, value);
                }
                Op::Remove(key) => pair.remove(&shelf.0, key),
                Op::RemoveHeld(n) => {
                    let key = pair.model.keys().nth(n % pair.model.len().max(1)).copied();
                    if let Some(key) = key {
                        pair.remove(&shelf.0, key);
                    }
                }
                Op::RemoveRange(from, to) => {
                    let keys: Vec<u64> = pair.model.range(from..to).map(|(key, _)| *key).collect();
                    for key in keys {
                        pair.remove(&shelf.0, key);
                    }
                }
                Op::Flush => {
                    pair.tree.flush(&shelf.0, &mut pen).unwrap();
                    prop_assert_eq!(pair.tree.fresh_bytes(), 0);
                    prop_assert!(pair.tree.stored().is_some());
                }
                Op::Rewrite => {
                    let first = medium.len();
                    pair.tree.rewrite(&shelf.0, &mut pen).unwrap();
                    prop_assert_eq!(pair.tree.stored().unwrap().below, medium.bytes_from(first));
                    if clones.is_empty() {
                        medium.forget_before(first);
                    }
                }
                Op::Reopen => {
                    pair.tree.flush(&shelf.0, &mut pen).unwrap();
                    let mut bytes = Vec::new();
                    pair.tree.stored().unwrap().put(&mut bytes);
                    prop_assert_eq!(bytes.len(), Root::BYTES);
                    pair.tree = Tree::open(Root::take(&mut bytes.as_slice()).unwrap());
                    shelf.0 = (shelf.1)();
                }
                Op::Clone => clones.push(Pair { tree: pair.tree.clone(), model: pair.model.clone() }),
                Op::DropClone => drop(clones.pop()),
                Op::Ask(key) => pair.ask(&shelf.0, key),
            }
            pair.tree.check(&shelf.0, &CONTEXT).unwrap();
            prop_assert!(shelf.0.cached_bytes() <= cache);
        }
        pair.compare(&shelf.0);
        for key in 0..130 {
            pair.ask(&shelf.0, key);
        }
        for clone in &clones {
            clone.compare(&shelf.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A sum that follows changes one by one is the sum of all that is there.
    #[test]
    fn sums_follow_changes(ops in vec((any::<bool>(), 0..6_u32, 0..30_u64), 1..400), shape in shapes()) {
        let medium = Arc::new(Medium::default());
        let shelf = Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, 1 << 20, shape);
        let mut tree = Tree::<Counted>::default();
        let mut model = BTreeSet::new();
        for (index, (put, host, seq)) in ops.into_iter().enumerate() {
            let key = (host, seq);
            if put || index < 100 {
                prop_assert_eq!(tree.insert(&shelf, &(), key, ()).unwrap().is_none(), model.insert(key));
            } else {
                prop_assert_eq!(tree.remove(&shelf, &(), &key).unwrap().is_some(), model.remove(&key));
            }
            tree.check(&shelf, &()).unwrap();
            if index % 37 == 0 {
                tree.flush(&shelf, &mut Pen(Arc::clone(&medium))).unwrap();
            }
            let before = model.range(..key).count() as u64;
            prop_assert_eq!(tree.sum_before(&shelf, &(), &key).unwrap().unwrap_or(0), before);
        }
    }
}
