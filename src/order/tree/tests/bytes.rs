//! Bytes that are not what was written: an error at worst, and the bytes of a clone for good.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::encode::{put_node, read_node};
use super::super::*;
use super::kinds::{Counted, Medium, Numbers, Pen};
use crate::contract::ErrorKind;

const CONTEXT: u64 = 3;
const SMALL: Shape = Shape { leaf: 3, inner: 4 };

/// Asks and changes whatever can be asked and changed; nothing may panic or go on for ever.
fn try_everything(mut tree: Tree<Numbers>, shelf: &Shelf, medium: &Arc<Medium>) {
    for key in [0, 20, 39, u64::MAX] {
        drop(tree.get(shelf, &key));
        drop(tree.at_or_after(shelf, &key));
        drop(tree.before(shelf, &key));
        drop(tree.find_from(shelf, &key, &|_| true, &|_, _| false));
        drop(tree.nth(shelf, key, &|sum| sum.greatest, &|_, value| *value));
    }
    let mut cursor = tree.cursor();
    drop(cursor.seek_end(shelf));
    while let Ok(Some(_)) = cursor.prev(shelf) {}
    for key in 0..60 {
        drop(tree.remove(shelf, &CONTEXT, &key));
    }
    drop(tree.first(shelf));
    drop(tree.insert(shelf, &CONTEXT, 5, 5));
    drop(tree.flush(shelf, &mut Pen(Arc::clone(medium))));
    drop(tree.rewrite(shelf, &mut Pen(Arc::clone(medium))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused_or_a_node(
        mut bytes in vec(any::<u8>(), 0..80),
        head in prop::option::of((0..3_u8, 0..6_u8)),
    ) {
        if let (Some((level, len)), [number, at_level, at_len, ..]) = (head, bytes.as_mut_slice()) {
            (*number, *at_level, *at_len) = (Numbers::NUMBER, level, len);
        }
        for level in 0..3 {
            if let Ok(node) = read_node::<Numbers>(&bytes, level, SMALL) {
                let mut again = Vec::new();
                put_node(&mut again, &node).unwrap();
                prop_assert_eq!(&again, &bytes);
            }
        }
    }

    #[test]
    fn damage_is_an_error_at_worst(node in 0..1000_usize, place in 0..1000_usize, byte: u8, cut: bool) {
        let medium = Arc::new(Medium::default());
        let shelf = |cache| Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, cache, SMALL);
        let mut tree = Tree::<Numbers>::default();
        for key in 0..40 {
            tree.insert(&shelf(0), &CONTEXT, key, key % 9).unwrap();
        }
        tree.flush(&shelf(0), &mut Pen(Arc::clone(&medium))).unwrap();
        let node = node % medium.len();
        let sound = medium.node(node);
        let mut bytes = sound.clone();
        let place = place % bytes.len();
        bytes[place] = byte;
        if cut {
            bytes.truncate(place);
        }
        medium.damage(node, bytes.clone());
        let checked = tree.check(&shelf(0), &CONTEXT);
        prop_assert!(checked.is_ok() || bytes != sound);
        if checked.is_ok() {
            // A separator may be another one as good, or a place one that the medium takes for the same.
            let shelf = shelf(0);
            let mut cursor = tree.cursor();
            let entries = std::iter::from_fn(|| cursor.next(&shelf).unwrap());
            prop_assert!(entries.eq((0..40).map(|key| (key, key % 9))));
        }
        for cache in [0, 1 << 20] {
            try_everything(tree.clone(), &shelf(cache), &medium);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_a_root(mut bytes in vec(any::<u8>(), 0..40), head in prop::option::of(0..2_u8)) {
        if let (Some(head), Some(first)) = (head, bytes.first_mut()) {
            *first = head;
        }
        let mut rest = bytes.as_slice();
        if let Some(root) = Root::take(&mut rest) {
            let mut again = Vec::new();
            root.put(&mut again);
            prop_assert_eq!(&again, &bytes[..Root::BYTES]);
            prop_assert_eq!(rest.len(), bytes.len() - Root::BYTES);
        }
    }
}

#[test]
fn a_node_of_another_tree_is_refused() {
    let medium = Arc::new(Medium::default());
    let shelf = Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, 1 << 20, SMALL);
    let mut tree = Tree::<Numbers>::default();
    tree.insert(&shelf, &CONTEXT, 1, 1).unwrap();
    tree.flush(&shelf, &mut Pen(Arc::clone(&medium))).unwrap();
    let root = tree.stored().unwrap();
    let bare = Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, 0, SMALL);
    for shelf in [&shelf, &bare] {
        let other = Tree::<Counted>::open(root).first(shelf).unwrap_err();
        let higher = Tree::<Numbers>::open(Root { height: 1, ..root }).first(shelf).unwrap_err();
        assert_eq!([other.kind(), higher.kind()], [ErrorKind::Corrupt; 2]);
        assert_eq!(other.place().offset, Some(0));
    }
}

#[test]
fn a_node_that_leads_back_up_ends() {
    let medium = Arc::new(Medium::default());
    let shelf = Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, 1 << 20, SMALL);
    let mut tree = Tree::<Numbers>::default();
    for key in 0..40 {
        tree.insert(&shelf, &CONTEXT, key, key).unwrap();
    }
    tree.flush(&shelf, &mut Pen(Arc::clone(&medium))).unwrap();
    let root = tree.stored().unwrap();
    let last = medium.len() - 1;
    for node in 0..last {
        medium.damage(node, medium.node(last));
    }
    let shelf = Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, 1 << 20, SMALL);
    assert_eq!(Tree::<Numbers>::open(root).first(&shelf).unwrap_err().kind(), ErrorKind::Corrupt);
    try_everything(Tree::open(root), &shelf, &medium);
}

/// Writes everything a clone holds to a medium of its own.
fn image(tree: &Tree<Numbers>, shelf: &Shelf) -> Vec<Vec<u8>> {
    let medium = Arc::new(Medium::default());
    let mut bytes = Vec::new();
    tree.clone().rewrite(shelf, &mut Pen(Arc::clone(&medium))).unwrap();
    for node in 0..medium.len() {
        bytes.push(medium.node(node));
    }
    bytes
}

proptest! {
    #[test]
    fn a_clone_stays_as_it_was_to_the_bit(
        ops in vec((any::<bool>(), 0..80_u64, 0..9_u64), 1..200),
        cache in prop_oneof![Just(0), Just(1 << 20)],
    ) {
        let medium = Arc::new(Medium::default());
        // A shelf of its own for the images: their places are those of other media.
        let new = |cache| Shelf::new(Arc::clone(&medium) as Arc<dyn Source>, cache, SMALL);
        let (shelf, bare) = (new(cache), new(0));
        let mut tree = Tree::default();
        let mut clones = Vec::new();
        for (index, (put, key, value)) in ops.into_iter().enumerate() {
            if put || index < 60 {
                tree.insert(&shelf, &CONTEXT, key, value).unwrap();
            } else {
                tree.remove(&shelf, &CONTEXT, &key).unwrap();
            }
            if value == 0 {
                clones.push((tree.clone(), image(&tree, &bare)));
            }
            if value == 1 {
                tree.flush(&shelf, &mut Pen(Arc::clone(&medium))).unwrap();
            }
        }
        for (clone, then) in clones {
            prop_assert_eq!(image(&clone, &bare), then);
        }
    }
}
