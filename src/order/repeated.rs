//! The order of a slice in which an identifier occurs more than once.
//!
//! Outside the contract: a store holds an identifier once. The other implementations answer all the
//! same, and their answer falls out of how they keep their books, so this module keeps the same ones:
//! - the last occurrence of an identifier stands for it: its causes are the ones counted, and it is the
//!   one that becomes ready when the last of them is emitted;
//! - every occurrence is ready at once if that count is zero;
//! - every occurrence's causes lead to the identifier, and every occurrence emitted releases all its
//!   dependents once more, so a dependent can come before some of its causes, and never again after.
//!
//! Thus the result can depend on the input's order, and an identifier that repeats and has a held cause
//! is always stuck. Plain rather than fast: nothing but such a slice comes here.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::contract::EventFields;

/// One identifier: its last occurrence, the causes still open, and the places of its dependents.
struct Entry {
    last: usize,
    open: i64,
    dependents: Vec<usize>,
}

/// Orders events given their indexes by key; returns the indexes in order, or those that are stuck in
/// the order of the input.
pub(super) fn linearize<E: EventFields>(events: &[E], by_key: &[usize]) -> Result<Vec<usize>, Vec<usize>> {
    let mut places = HashMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    let mut place_of = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        let place = *places.entry(event.id()).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(entry) => entry.last = index,
            None => entries.push(Entry { last: index, open: 0, dependents: Vec::new() }),
        }
        place_of.push(place);
    }
    for (event, &place) in events.iter().zip(&place_of) {
        let mut open = 0;
        for cause in event.causes().filter_map(|cause| places.get(&cause)) {
            open += 1;
            if let Some(entry) = entries.get_mut(*cause) {
                entry.dependents.push(place);
            }
        }
        if let Some(entry) = entries.get_mut(place) {
            entry.open = open; // the last occurrence overwrites the earlier ones' count
        }
    }
    drop(places);

    let mut rank = vec![0; events.len()];
    for (number, &index) in by_key.iter().enumerate() {
        if let Some(rank) = rank.get_mut(index) {
            *rank = number;
        }
    }
    let rank = |index: usize| rank.get(index).copied().unwrap_or_default();
    let is_free = |place: &usize| entries.get(*place).is_some_and(|entry| entry.open == 0);
    let mut ready: BinaryHeap<Reverse<(usize, usize)>> = place_of
        .iter()
        .enumerate()
        .filter(|(_, place)| is_free(place))
        .map(|(index, _)| Reverse((rank(index), index)))
        .collect();
    let mut order = Vec::with_capacity(events.len());
    let mut emitted = vec![false; events.len()];
    while let Some(Reverse((_, index))) = ready.pop() {
        order.push(index);
        if let Some(flag) = emitted.get_mut(index) {
            *flag = true;
        }
        let dependents =
            place_of.get(index).and_then(|place| entries.get(*place)).map(|entry| entry.dependents.clone());
        for dependent in dependents.unwrap_or_default() {
            if let Some(entry) = entries.get_mut(dependent) {
                entry.open -= 1;
                if entry.open == 0 {
                    ready.push(Reverse((rank(entry.last), entry.last)));
                }
            }
        }
    }
    if order.len() == events.len() {
        return Ok(order);
    }
    Err(emitted.iter().enumerate().filter(|(_, emitted)| !**emitted).map(|(index, _)| index).collect())
}
