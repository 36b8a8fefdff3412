//! The order of any slice of events, by identifiers.

use std::collections::HashMap;

use super::cycle::{Cycle, OrderError, TooMany};
use super::numbered::Graph;
use super::repeated;
use crate::contract::{EventFields, IdRef, cmp_utf16};

/// Puts events in their one order and returns their indexes in that order.
///
/// A cause that is not among the events is ignored; the input's own order does not matter. Where an
/// identifier occurs twice, which a store never holds, the result is the one the other implementations
/// give.
///
/// Costs O(n log n) time for sorting keys and 70 to 110 bytes an event, most of it the map of
/// identifiers; with numbers at hand [`Graph`] needs a fifth of that and no map.
///
/// # Errors
/// [`OrderError::Cycle`] with the identifiers that cannot be placed, in the order of the input: those on
/// a cycle and everything downstream. [`OrderError::TooMany`] beyond 2^32 - 1 events or held causes.
pub fn linearize<E: EventFields>(events: &[E]) -> Result<Vec<usize>, OrderError> {
    let by_key = sorted_by_key(events)?;
    let mut numbers = HashMap::with_capacity(events.len());
    for (number, event) in (0u32..).zip(by_key.iter().filter_map(|index| events.get(*index))) {
        numbers.insert(event.id(), number);
    }
    if numbers.len() < events.len() {
        drop(numbers);
        return repeated::linearize(events, &by_key).map_err(|stuck| named(events, stuck).into());
    }
    let mut graph = Graph::with_capacity(events.len());
    for event in by_key.iter().filter_map(|index| events.get(*index)) {
        graph.push(event.causes().filter_map(|cause| numbers.get(&cause).copied()))?;
    }
    drop(numbers);
    let index_of = |number: u32| by_key.get(number as usize).copied();
    match graph.linearize() {
        Ok(order) => Ok(order.into_iter().filter_map(index_of).collect()),
        Err(Cycle { stuck }) => {
            let mut stuck: Vec<usize> = stuck.into_iter().filter_map(index_of).collect();
            stuck.sort_unstable();
            Err(named(events, stuck).into())
        }
    }
}

/// Reports whether every held cause on an event's own host has a smaller `seq` than the event.
///
/// What an honest writer produces. It neither implies an order (two hosts can still form a cycle) nor is
/// it needed for one.
pub fn well_formed<E: EventFields>(events: &[E]) -> bool {
    let held: HashMap<IdRef<'_>, &E> = events.iter().map(|event| (event.id(), event)).collect();
    events.iter().all(|event| {
        event
            .causes()
            .filter_map(|cause| held.get(&cause))
            .all(|cause| cause.host() != event.host() || cause.seq() < event.seq())
    })
}

/// Returns the indexes of the events in the order of their keys; equal keys keep the input's order.
fn sorted_by_key<E: EventFields>(events: &[E]) -> Result<Vec<usize>, TooMany> {
    // Hosts repeat: rank the few names once, then compare numbers.
    let mut ranks: HashMap<&str, u32> = HashMap::new();
    for event in events {
        ranks.entry(event.host()).or_default();
    }
    let mut hosts: Vec<&str> = ranks.keys().copied().collect();
    hosts.sort_unstable_by(|a, b| cmp_utf16(a, b));
    for (place, host) in hosts.into_iter().enumerate() {
        ranks.insert(host, u32::try_from(place).map_err(|_| TooMany)?);
    }
    let mut keys: Vec<(u32, u64, usize)> = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        keys.push((ranks.get(event.host()).copied().unwrap_or_default(), event.seq().get(), index));
    }
    keys.sort_unstable_by(|a, b| {
        // One seq of one host twice is rare, so identifiers are hardly ever looked at.
        let id = |index: usize| events.get(index).map(EventFields::id);
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| id(a.2).cmp(&id(b.2))).then(a.2.cmp(&b.2))
    });
    Ok(keys.into_iter().map(|(_, _, index)| index).collect())
}

/// Names the events that cannot be placed.
fn named<E: EventFields>(events: &[E], stuck: Vec<usize>) -> Cycle {
    let ids = stuck.into_iter().filter_map(|index| events.get(index));
    Cycle { stuck: ids.map(|event| event.id().to_owned()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Seq;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[derive(Clone, Debug)]
    struct Row {
        id: String,
        host: String,
        seq: u64,
        causes: Vec<String>,
    }

    impl EventFields for Row {
        fn v(&self) -> u32 {
            1
        }
        fn id(&self) -> IdRef<'_> {
            IdRef::new(&self.id)
        }
        fn host(&self) -> &str {
            &self.host
        }
        fn seq(&self) -> Seq {
            Seq::new(self.seq).unwrap()
        }
        fn at(&self) -> f64 {
            0.0
        }
        fn kind(&self) -> &'static str {
            "turn.started"
        }
        fn payload(&self) -> &'static str {
            "{}"
        }
        fn extra(&self) -> Option<&str> {
            None
        }
        fn causes_len(&self) -> usize {
            self.causes.len()
        }
        fn cause(&self, index: usize) -> Option<IdRef<'_>> {
            self.causes.get(index).map(|cause| IdRef::new(cause))
        }
    }

    fn row(id: &str, host: &str, seq: u64, causes: &[&str]) -> Row {
        let causes = causes.iter().map(ToString::to_string).collect();
        Row { id: id.to_owned(), host: host.to_owned(), seq, causes }
    }

    fn ids(rows: &[Row]) -> Result<Vec<&str>, Vec<String>> {
        match linearize(rows) {
            Ok(order) => Ok(order.into_iter().map(|index| rows[index].id.as_str()).collect()),
            Err(OrderError::Cycle(cycle)) => Err(cycle.stuck.iter().map(ToString::to_string).collect()),
            Err(other) => panic!("{other}"),
        }
    }

    /// Kahn's algorithm as one writes it down, over strings as JavaScript holds them.
    fn plain(rows: &[Row]) -> Result<Vec<&str>, Vec<String>> {
        type Key = (Vec<u16>, u64, Vec<u16>);
        let key = |row: &Row| -> Key {
            (row.host.encode_utf16().collect(), row.seq, row.id.encode_utf16().collect())
        };
        let held: HashMap<&str, usize> =
            rows.iter().enumerate().map(|(i, row)| (row.id.as_str(), i)).collect();
        let mut open: Vec<usize> =
            rows.iter().map(|r| r.causes.iter().filter(|c| held.contains_key(c.as_str())).count()).collect();
        let mut ready: BinaryHeap<_> =
            (0..rows.len()).filter(|i| open[*i] == 0).map(|i| Reverse((key(&rows[i]), i))).collect();
        let mut order = Vec::new();
        while let Some(Reverse((_, index))) = ready.pop() {
            order.push(rows[index].id.as_str());
            for (other, row) in rows.iter().enumerate() {
                let named = row.causes.iter().filter(|c| **c == rows[index].id).count();
                open[other] -= named;
                if named > 0 && open[other] == 0 {
                    ready.push(Reverse((key(row), other)));
                }
            }
        }
        if order.len() == rows.len() {
            return Ok(order);
        }
        Err(rows.iter().filter(|row| !order.contains(&row.id.as_str())).map(|row| row.id.clone()).collect())
    }

    /// Events of a few hosts, shuffled; the hosts' names tell UTF-16 order from that of code points.
    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let host = prop::sample::select(vec!["a", "b", "\u{fffd}", "\u{1f600}", "ab", ""]);
        let one = (host, 0u64..6, prop::collection::vec(0usize..40, 0..3));
        prop::collection::vec(one, 0..30)
            .prop_map(|draws| {
                let id = |number: usize| {
                    format!("{}{number}", if number.is_multiple_of(3) { "\u{e000}" } else { "\u{10000}" })
                };
                draws
                    .into_iter()
                    .enumerate()
                    .map(|(number, (host, seq, causes))| Row {
                        id: id(number),
                        host: host.to_owned(),
                        seq,
                        // Mostly earlier events, sometimes later ones, sometimes none that is held.
                        causes: causes
                            .into_iter()
                            .map(|c| id(if c < 36 { c % number.max(1) } else { c }))
                            .collect(),
                    })
                    .filter(|row| !row.causes.contains(&row.id) || row.seq == 0)
                    .collect::<Vec<_>>()
            })
            .prop_shuffle()
    }

    proptest! {
        #[test]
        fn equals_the_plain_algorithm(rows in rows()) {
            prop_assert_eq!(ids(&rows), plain(&rows));
        }

        #[test]
        fn arrival_does_not_matter((rows, again) in rows().prop_flat_map(|r| (Just(r.clone()), Just(r).prop_shuffle()))) {
            let sorted = |result: Result<Vec<&str>, Vec<String>>| {
                result.map(|order| order.join(" ")).map_err(|mut stuck| {
                    stuck.sort();
                    stuck
                })
            };
            prop_assert_eq!(sorted(ids(&rows)), sorted(ids(&again)));
        }
    }

    #[test]
    fn a_cycle_names_what_it_holds_up_in_the_order_given() {
        let rows = [
            row("t", "h", 3, &["b"]),
            row("b", "h", 2, &["a"]),
            row("a", "h", 1, &["b"]),
            row("z", "i", 0, &[]),
        ];
        assert_eq!(ids(&rows), Err(vec!["t".to_owned(), "b".to_owned(), "a".to_owned()]));
    }

    #[test]
    fn well_formed_looks_at_held_causes_of_the_same_host() {
        assert!(well_formed::<Row>(&[]));
        assert!(well_formed(&[row("a", "h", 1, &["gone"]), row("b", "h", 2, &["a", "a"])]));
        assert!(well_formed(&[row("a", "h", 1, &["b"]), row("b", "i", 2, &["a"])]), "a cycle over two hosts");
        assert!(!well_formed(&[row("a", "h", 1, &["b"]), row("b", "h", 2, &[])]));
        assert!(!well_formed(&[row("a", "h", 1, &["a"])]));
    }

    #[test]
    fn repeated_identifiers_release_once_for_each_occurrence() {
        let rows = [
            row("d0", "b", 0, &[]),
            row("d0", "b", 0, &[]),
            row("d1", "c", 1, &[]),
            row("d2", "a", 0, &["d0", "d1"]),
        ];
        assert_eq!(ids(&rows), Ok(vec!["d0", "d0", "d2", "d1"]));
        let rows = [row("x", "a", 0, &["y"]), row("x", "a", 1, &["y"]), row("y", "b", 0, &[])];
        assert_eq!(ids(&rows), Err(vec!["x".to_owned()]));
    }
}
