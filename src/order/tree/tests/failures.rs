//! What a failed read or write leaves: the tree as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use super::kinds::{Medium, Numbers, Pen};

const CONTEXT: u64 = 3;
const SMALL: Shape = Shape { leaf: 3, inner: 3 };

fn stored(keys: impl IntoIterator<Item = u64>, medium: &Arc<Medium>, cache: usize) -> (Tree<Numbers>, Shelf) {
    let shelf = Shelf::new(Arc::clone(medium) as Arc<dyn Source>, cache, SMALL);
    let mut tree = Tree::default();
    for key in keys {
        tree.insert(&shelf, &CONTEXT, key, key).unwrap();
    }
    tree.flush(&shelf, &mut Pen(Arc::clone(medium))).unwrap();
    (tree, shelf)
}

fn keys(tree: &Tree<Numbers>, shelf: &Shelf) -> Vec<u64> {
    let mut cursor = tree.cursor();
    std::iter::from_fn(|| cursor.next(shelf).unwrap()).map(|(key, _)| key).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_failed_change_changes_nothing(
        ops in vec((0..4_u8, 0..60_u64, prop::option::of(0..9_usize)), 1..120),
    ) {
        let medium = Arc::new(Medium::default());
        let (mut tree, shelf) = stored((0..60).step_by(2), &medium, 0);
        let mut model: BTreeMap<u64, u64> = (0..60).step_by(2).map(|key| (key, key)).collect();
        for (op, key, fails_in) in ops {
            medium.fail_in(fails_in);
            let done = match op {
                0 => tree.insert(&shelf, &CONTEXT, key, key + 1).map(|_| {
                    model.insert(key, key + 1);
                }),
                1 => tree.remove(&shelf, &CONTEXT, &key).map(|_| {
                    model.remove(&key);
                }),
                2 => tree.flush(&shelf, &mut Pen(Arc::clone(&medium))),
                _ => tree.rewrite(&shelf, &mut Pen(Arc::clone(&medium))),
            };
            medium.fail_in(None);
            prop_assert!(done.is_ok() || fails_in.is_some());
            tree.check(&shelf, &CONTEXT).unwrap();
            prop_assert_eq!(keys(&tree, &shelf), model.keys().copied().collect::<Vec<u64>>());
        }
    }
}

#[test]
fn a_cursor_stays_where_a_read_failed() {
    let medium = Arc::new(Medium::default());
    let (tree, shelf) = stored(0..40, &medium, 0);
    let mut cursor = tree.cursor();
    let mut seen = Vec::new();
    for fails_in in (0..3).cycle() {
        medium.fail_in(Some(fails_in));
        let next = cursor.next(&shelf);
        medium.fail_in(None);
        match next {
            Ok(Some((key, _))) => seen.push(key),
            Ok(None) => break,
            Err(_) => {
                let here = cursor.next(&shelf).unwrap().map(|(key, _)| key);
                assert_eq!(here, Some(seen.len() as u64));
                cursor.prev(&shelf).unwrap();
                let back = cursor.next(&shelf).unwrap().map(|(key, _)| key);
                assert_eq!(back, here);
                seen.extend(here);
            }
        }
    }
    assert_eq!(seen, (0..40).collect::<Vec<u64>>());
    medium.fail_in(Some(0));
    cursor.seek(&shelf, &7).unwrap_err();
    medium.fail_in(None);
    assert_eq!(cursor.prev(&shelf).unwrap(), Some((39, 39)));
}

#[test]
fn a_cursor_walks_the_tree_it_was_made_of() {
    let medium = Arc::new(Medium::default());
    let (mut tree, shelf) = stored(0..40, &medium, 1 << 20);
    tree.insert(&shelf, &CONTEXT, 100, 100).unwrap();
    let mut cursor = tree.cursor();
    cursor.seek(&shelf, &10).unwrap();
    for key in 0..40 {
        tree.remove(&shelf, &CONTEXT, &key).unwrap();
    }
    assert_eq!(keys(&tree, &shelf), [100]);
    let left: Vec<u64> = std::iter::from_fn(|| cursor.next(&shelf).unwrap()).map(|(key, _)| key).collect();
    assert_eq!(left, (10..40).chain([100]).collect::<Vec<u64>>());
}

#[test]
fn a_change_copies_its_path_and_stores_no_more() {
    let medium = Arc::new(Medium::default());
    let (mut tree, shelf) = stored((0..200).map(|key| 2 * key), &medium, 1 << 20);
    let (height, nodes) = (tree.stored().unwrap().height, medium.len());
    tree.insert(&shelf, &CONTEXT, 100, 7).unwrap();
    tree.flush(&shelf, &mut Pen(Arc::clone(&medium))).unwrap();
    assert_eq!(medium.len() - nodes, usize::from(height) + 1);
    // Everything is cached, so nothing was read; with no cache, a question reads one node a level.
    assert_eq!(medium.reads(), 0);
    let bare = Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, 0, SMALL);
    assert_eq!(Tree::<Numbers>::open(tree.stored().unwrap()).get(&bare, &100).unwrap(), Some(7));
    assert_eq!(medium.reads(), usize::from(height) + 1);
    assert_eq!((bare.visits(), bare.cached_bytes()), (u64::from(height) + 1, 0));
}
