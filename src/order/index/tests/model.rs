//! Events in maps, Kahn's algorithm, and everything the index answers asked of both.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::*;
use crate::order::Proof;
use crate::order::tree::Shelf;

/// An event of a history: who it is and what it names.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) id: u64,
    pub(super) key: EventKey,
    pub(super) causes: Vec<u64>,
    pub(super) follows: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) held: BTreeMap<EventKey, Event>,
    pub(super) by_id: HashMap<u64, EventKey>,
    /// Where events were that ever were held.
    ever: HashMap<u64, EventKey>,
    /// Ordinals that are explained, by host.
    explained: BTreeSet<(u32, u64)>,
    /// Ids that held events wait for, with the event.
    awaited: BTreeSet<(EventKey, u64)>,
    /// Reads of causes.
    pub(super) asked: u64,
}

/// Two ids in a row have the same fingerprint.
pub(super) fn fingerprint(id: u64) -> u64 {
    (id / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Facts for Model {
    fn causes(&mut self, of: EventKey, out: &mut Vec<Cause>) -> Result<()> {
        self.asked += 1;
        let event = self.held.get(&of).unwrap_or_else(|| panic!("{of:?} is asked for and not held"));
        out.extend(event.causes.iter().map(|id| self.cause(*id)));
        Ok(())
    }

    fn fingerprint(&mut self, of: EventKey) -> Result<u64> {
        Ok(fingerprint(self.held[&of].id))
    }
}

impl Model {
    pub(super) fn cause(&self, id: u64) -> Cause {
        let held = self.by_id.get(&id).copied();
        // Where it was is told of some.
        let at = held.or_else(|| self.ever.get(&id).copied().filter(|_| !id.is_multiple_of(3)));
        Cause { fingerprint: fingerprint(id), at }
    }

    /// The causes of an event that is to be placed.
    pub(super) fn causes_of_new(&self, event: &Event) -> Vec<Cause> {
        let own = |id: u64| Cause { fingerprint: fingerprint(id), at: Some(event.key) };
        event.causes.iter().map(|id| if *id == event.id { own(*id) } else { self.cause(*id) }).collect()
    }

    /// Held events that name an id.
    pub(super) fn namers(&self, id: u64) -> Vec<EventKey> {
        self.held.values().filter(|event| event.causes.contains(&id)).map(|event| event.key).collect()
    }

    pub(super) fn last_of(&self, host: u32) -> Option<u64> {
        let range = EventKey::new(host, 0)..=EventKey::new(host, u64::MAX);
        self.held.range(range).next_back().map(|(key, _)| key.seq)
    }

    pub(super) fn add(&mut self, event: &Event) {
        let host = event.key.host;
        if event.follows && self.missing(host).is_none() {
            let before = self.last_of(host).map_or(0, |last| last + 1);
            self.explained.extend((before..event.key.seq).map(|seq| (host, seq)));
        }
        for id in &event.causes {
            if self.cause(*id).at.is_none() {
                self.awaited.insert((event.key, *id));
            }
        }
        self.awaited.retain(|(_, id)| *id != event.id);
        self.held.insert(event.key, event.clone());
        self.by_id.insert(event.id, event.key);
        self.ever.insert(event.id, event.key);
    }

    pub(super) fn evict(&mut self, ranges: &[(u32, std::ops::RangeInclusive<u64>)]) -> u64 {
        let last: Vec<Option<u64>> = ranges.iter().map(|(host, _)| self.last_of(*host)).collect();
        let before = self.held.len();
        for ((host, range), last) in ranges.iter().zip(last) {
            self.held.retain(|key, _| key.host != *host || !range.contains(&key.seq));
            if let Some(last) = last
                && *range.start() <= last
            {
                self.explained.extend((0..=last.min(*range.end())).map(|seq| (*host, seq)));
            }
        }
        let held = &self.held;
        self.by_id.retain(|_, key| held.contains_key(key));
        self.awaited.retain(|(key, _)| held.contains_key(key));
        (before - self.held.len()) as u64
    }

    fn missing(&self, host: u32) -> Option<u64> {
        let last = self.last_of(host)?;
        (1..last).find(|seq| {
            !self.held.contains_key(&EventKey::new(host, *seq)) && !self.explained.contains(&(host, *seq))
        })
    }

    fn gap(&self, host: u32) -> Option<Gap> {
        let missing = self.missing(host)?;
        let below = self.held.range(EventKey::new(host, 0)..EventKey::new(host, missing));
        Some(Gap { after: below.last().map(|(key, _)| key.seq), missing })
    }

    fn held_causes(&self, key: EventKey) -> BTreeSet<EventKey> {
        self.held[&key].causes.iter().filter_map(|id| self.by_id.get(id)).copied().collect()
    }

    fn missing_causes(&self, key: EventKey) -> BTreeSet<u64> {
        let causes = self.held[&key].causes.iter();
        causes.filter(|id| !self.by_id.contains_key(id)).map(|id| fingerprint(*id)).collect()
    }

    fn dependents(&self) -> BTreeMap<EventKey, BTreeSet<EventKey>> {
        let mut dependents: BTreeMap<EventKey, BTreeSet<EventKey>> = BTreeMap::new();
        for key in self.held.keys() {
            for cause in self.held_causes(*key) {
                dependents.entry(cause).or_default().insert(*key);
            }
        }
        dependents
    }

    /// The definition of the order; `None` if there is a cycle.
    pub(super) fn kahn(&self, ranks: &Ranks) -> Option<Vec<EventKey>> {
        let dependents = self.dependents();
        let mut open: BTreeMap<EventKey, usize> =
            self.held.keys().map(|key| (*key, self.held_causes(*key).len())).collect();
        let mut ready: BTreeSet<((u64, u64), EventKey)> =
            open.iter().filter(|(_, open)| **open == 0).map(|(key, _)| (ranks.of(*key), *key)).collect();
        let mut order = Vec::new();
        while let Some((_, key)) = ready.pop_first() {
            order.push(key);
            for dependent in dependents.get(&key).into_iter().flatten() {
                let open = open.get_mut(dependent).unwrap();
                *open -= 1;
                if *open == 0 {
                    ready.insert((ranks.of(*dependent), *dependent));
                }
            }
        }
        (order.len() == self.held.len()).then_some(order)
    }

    /// Whether the one-pass check takes a sequence for the order.
    pub(super) fn proves(&self, ranks: &Ranks, order: &[EventKey]) -> bool {
        let places: HashMap<EventKey, u64> = order.iter().copied().zip(0..).collect();
        let mut proof = Proof::new();
        order.iter().all(|key| {
            let last = self.held_causes(*key).iter().map(|cause| places[cause]).max();
            proof.push(ranks.of(*key), last).is_ok()
        })
    }

    /// Whether each of a path is a cause of the next, the last is the event, and the event is a cause of the first.
    pub(super) fn is_cycle(&self, event: &Event, path: &[EventKey]) -> bool {
        let mut with = self.clone();
        with.add(event);
        let names = |pair: (&EventKey, &EventKey)| with.held_causes(*pair.1).contains(pair.0);
        path.last() == Some(&event.key)
            && path.iter().zip(path.iter().skip(1)).all(names)
            && names((&event.key, &path[0]))
    }
}

/// Asks everything of both. `order` is Kahn's.
pub(super) fn compare(
    model: &mut Model,
    order: &[EventKey],
    index: &OrderIndex,
    shelf: &Shelf,
    ranks: &Ranks,
    random: &mut Random,
) {
    index.check(shelf, ranks).unwrap();
    assert_eq!(index.len(), order.len() as u64);
    assert_eq!(index.is_empty(), order.is_empty());
    compare_positions(order, index, shelf, random);
    compare_keys(model, order, index, shelf, ranks);
    compare_links(model, order, index, shelf);
}

fn compare_positions(order: &[EventKey], index: &OrderIndex, shelf: &Shelf, random: &mut Random) {
    for (position, key) in (0..).zip(order) {
        assert_eq!(index.at(shelf, position).unwrap(), Some(*key));
        assert_eq!(index.position(shelf, *key).unwrap(), Some(position));
        assert!(index.holds(shelf, *key).unwrap());
    }
    assert_eq!(index.at(shelf, order.len() as u64).unwrap(), None);
    // Forward and backward from somewhere, then wherever chance goes.
    let len = order.len() as u64;
    let runs = order.windows(2).filter(|pair| pair[0].next() != Some(pair[1])).count();
    assert_eq!(index.runs_len(), if len == 0 { 0 } else { runs as u64 + 1 });
    let mut boundary = random.below(len + 1);
    let mut cursor = index.runs(shelf, boundary).unwrap();
    let mut ways = vec![true; order.len() + 1];
    ways.extend(vec![false; order.len() + 1]);
    ways.extend((0..order.len()).map(|_| random.one_in(2)));
    if random.one_in(2) {
        ways.reverse();
    }
    for forward in ways {
        let piece = if forward { cursor.next(shelf) } else { cursor.prev(shelf) }.unwrap();
        let Some((position, run)) = piece else {
            assert_eq!(boundary, if forward { len } else { 0 });
            continue;
        };
        let end = position + run.len;
        assert_eq!(if forward { position } else { end }, boundary);
        let keys = (run.first..=run.last()).map(|seq| EventKey::new(run.host, seq));
        assert!(
            keys.eq(order[usize::try_from(position).unwrap()..usize::try_from(end).unwrap()].iter().copied())
        );
        // It reaches as far as the run does.
        if forward {
            assert_ne!(order.get(usize::try_from(end).unwrap()).copied(), run.last_key().next());
        } else if let Some(before) = position.checked_sub(1) {
            assert_ne!(order[usize::try_from(before).unwrap()].next(), Some(run.first_key()));
        }
        boundary = if forward { end } else { position };
    }
}

fn compare_keys(model: &Model, order: &[EventKey], index: &OrderIndex, shelf: &Shelf, ranks: &Ranks) {
    for host in 0..14 {
        assert_eq!(index.last_of(shelf, host).unwrap(), model.last_of(host));
        let mut of_host = model.held.range(EventKey::new(host, 0)..=EventKey::new(host, u64::MAX));
        assert_eq!(index.first_of(shelf, host).unwrap(), of_host.next().map(|(key, _)| key.seq));
        assert_eq!(index.gap_of(shelf, host).unwrap(), model.gap(host), "the gap of host {host}");
        let most = model.last_of(host).unwrap_or(0) + 2;
        for seq in (0..most).chain([u64::MAX]) {
            let key = EventKey::new(host, seq);
            let greater = order.iter().position(|other| ranks.of(*other) > ranks.of(key));
            assert_eq!(index.first_greater(shelf, ranks, key).unwrap(), greater.map(|at| at as u64));
            let mut behind = model.held.range(key..=EventKey::new(host, u64::MAX)).map(|(other, _)| *other);
            let next = behind.find(|other| *other != key);
            assert_eq!(index.next_held(shelf, key).unwrap(), next);
            assert_eq!(index.holds(shelf, key).unwrap(), model.held.contains_key(&key));
            assert_eq!(index.position(shelf, key).unwrap().is_some(), model.held.contains_key(&key));
        }
    }
}

fn compare_links(model: &mut Model, order: &[EventKey], index: &OrderIndex, shelf: &Shelf) {
    let waits = |key: &EventKey| model.awaited.range((*key, 0)..=(*key, u64::MAX)).next().is_some();
    let waiting = order.iter().position(waits);
    let waiting = waiting.map(|at| (at as u64, order[at]));
    assert_eq!(index.first_waiting(shelf).unwrap(), waiting);
    let mut missing: BTreeMap<u64, BTreeSet<EventKey>> = BTreeMap::new();
    for key in order {
        for cause in model.missing_causes(*key) {
            missing.entry(cause).or_default().insert(*key);
        }
    }
    assert_eq!(index.missing_len(), missing.values().map(|by| by.len() as u64).sum::<u64>());
    for (fingerprint, by) in &missing {
        let found = collect(|after| index.next_namer(shelf, *fingerprint, after));
        assert!(found.iter().eq(by));
    }
    assert_eq!(index.next_namer(shelf, 1, None).unwrap(), None);
    let dependents = model.dependents();
    let heads: Vec<EventKey> =
        model.held.keys().filter(|key| !dependents.contains_key(key)).copied().collect();
    assert_eq!(collect(|after| index.next_head(shelf, after)), heads);
    assert_eq!(index.heads_len(), heads.len() as u64);
    for key in order {
        let found = collect(|after| index.next_dependent(shelf, *key, after, model));
        assert!(found.iter().eq(dependents.get(key).into_iter().flatten()));
    }
}

fn collect(mut next: impl FnMut(Option<EventKey>) -> Result<Option<EventKey>>) -> Vec<EventKey> {
    let mut found = Vec::new();
    while let Some(key) = next(found.last().copied()).unwrap() {
        found.push(key);
    }
    found
}
