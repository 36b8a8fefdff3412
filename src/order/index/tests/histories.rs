//! Random histories.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::model::{Event, fingerprint};
use super::*;
use crate::order::tree::{Shape, Shelf};

/// A snapshot, and what it has to say for ever.
struct Kept {
    index: OrderIndex,
    model: Model,
    order: Vec<EventKey>,
    ranks: Ranks,
}

struct World {
    model: Model,
    index: OrderIndex,
    memory: Memory,
    shelf: Shelf,
    cache_bytes: usize,
    shape: Shape,
    ranks: Ranks,
    random: Random,
    order: Vec<EventKey>,
    /// Generations and the order of then.
    past: Vec<(u64, Vec<EventKey>)>,
    kept: Vec<Kept>,
    cycles: u64,
    moved: u64,
}

/// Hosts with their ranks, and what each appends in turn.
fn history(random: &mut Random, most: u64) -> (Ranks, Vec<VecDeque<Event>>) {
    let hosts = 1 + random.below(12);
    let mut ranks: Vec<u32> = (0..u32::try_from(hosts).unwrap()).collect();
    for at in (1..ranks.len()).rev() {
        let other = usize::try_from(random.below(at as u64 + 1)).unwrap();
        ranks.swap(at, other);
    }
    let steps = 1 + random.below(4);
    let mut next: Vec<u64> = (0..hosts).map(|_| random.below(4).saturating_sub(1)).collect();
    let mut queues = vec![VecDeque::new(); usize::try_from(hosts).unwrap()];
    let events = 1 + random.below(most);
    let chance = 1 + random.below(12);
    let chained = random.one_in(2);
    let mut own: Vec<Vec<u64>> = vec![Vec::new(); queues.len()];
    for number in 0..events {
        let id = number * 2 + 2;
        let host = usize::try_from(random.below(hosts)).unwrap();
        let mut causes: Vec<u64> = Vec::new();
        for _ in 0..random.below(4) {
            causes.push(match random.below(chance + 8) {
                0 => 2 + 2 * random.below(events), // any, itself too: late, or closes a cycle
                1 => 3 + 2 * random.below(8),      // nobody, with the fingerprint of an event
                2 => 100_000 + random.below(4),
                3 if number > 0 => 2 + 2 * (number - 1),
                _ => 2 + 2 * random.below(number.max(1)),
            });
        }
        if chained && let Some(before) = own[host].last() {
            causes.push(*before);
        }
        if random.one_in(5)
            && let Some(cause) = causes.first().copied()
        {
            causes.push(cause);
        }
        // Two ids of one event with one fingerprint count as one, by contract.
        let all = causes.clone();
        causes.retain(|id| all.iter().all(|other| other <= id || fingerprint(*other) != fingerprint(*id)));
        own[host].push(id);
        let follows = random.one_in(2);
        let key = EventKey::new(u32::try_from(host).unwrap(), next[host]);
        queues[host].push_back(Event { id, key, causes, follows });
        next[host] += 1 + if random.one_in(3) { random.below(steps) } else { 0 };
    }
    (Ranks::new(ranks.into_iter().map(u64::from).collect()), queues)
}

impl World {
    fn new(seed: u64, cache_bytes: usize, shape: Shape, ranks: Ranks) -> Self {
        let memory = Memory::default();
        Self {
            model: Model::default(),
            index: with_stride(OrderIndex::default(), seed),
            shelf: memory.shelf(cache_bytes, shape),
            memory,
            cache_bytes,
            shape,
            ranks,
            random: Random(seed),
            order: Vec::new(),
            past: Vec::new(),
            kept: Vec::new(),
            cycles: 0,
            moved: 0,
        }
    }

    fn add(&mut self, event: &Event) {
        let causes = self.model.causes_of_new(event);
        let mut namers = self.model.namers(event.id);
        if self.random.one_in(3)
            && let Some(again) = namers.first().copied()
        {
            namers.push(again);
        }
        let new = NewEvent {
            key: event.key,
            fingerprint: fingerprint(event.id),
            causes: &causes,
            namers: &namers,
            follows: event.follows,
        };
        self.model.asked = 0;
        let (generation, bytes) = (self.index.generation(), self.index.changed_since(0));
        let placing = self.index.add(&self.shelf, &self.ranks, &new, &mut self.model).unwrap();
        if namers.is_empty() {
            assert_eq!(self.model.asked, 0, "nothing was late");
        }
        let mut with = self.model.clone();
        with.add(event);
        let after = with.kahn(&self.ranks);
        match placing {
            Placing::Placed => {
                assert_eq!(self.index.generation(), generation + 1);
                self.model = with;
                self.now(after.expect("an event that closes a cycle was placed"));
            }
            Placing::Cycle(path) => {
                assert!(self.model.is_cycle(event, &path), "{path:?}");
                assert!(after.is_none());
                assert_eq!((self.index.generation(), self.index.changed_since(0)), (generation, bytes));
                self.cycles += 1;
                self.look();
            }
        }
    }

    fn evict(&mut self) {
        let mut ranges: Vec<(u32, RangeInclusive<u64>)> = Vec::new();
        for _ in 0..=self.random.below(4) {
            let host = u32::try_from(self.random.below(13)).unwrap();
            let most = self.model.last_of(host).unwrap_or(3);
            let first = self.random.below(most + 2);
            let last = match self.random.below(6) {
                0 => u64::MAX,
                1 | 2 => first + self.random.below(most + 2),
                _ => first + self.random.below(2),
            };
            ranges.push((host, first..=last));
        }
        let taken = self.index.evict(&self.shelf, &self.ranks, &ranges, &mut self.model).unwrap();
        assert_eq!(taken, self.model.evict(&ranges));
        let order = self.model.kahn(&self.ranks).unwrap();
        self.now(order);
    }

    /// Takes the order of now, and compares what is said of the change with the change.
    fn now(&mut self, order: Vec<EventKey>) {
        let before = std::mem::replace(&mut self.order, order);
        let generation = self.index.generation();
        let changed = first_difference(&before, &self.order);
        assert_eq!(self.index.changed_since(generation - 1), changed);
        assert_eq!(self.index.changed_since(generation), None);
        self.moved += u64::from(changed.is_some());
        self.past.push((generation - 1, before));
        for (generation, then) in &self.past {
            let told = self.index.changed_since(*generation);
            if let Some(changed) = first_difference(then, &self.order) {
                assert!(told.is_some_and(|told| told <= changed));
            }
        }
        self.look();
    }

    fn look(&mut self) {
        compare(&mut self.model, &self.order, &self.index, &self.shelf, &self.ranks, &mut self.random);
    }

    /// Stores everything, and sometimes goes on with what was stored.
    fn store(&mut self) {
        self.index.set_arrivals(self.random.below(1_000));
        let changed = self.past.iter().map(|(then, _)| self.index.changed_since(*then)).collect::<Vec<_>>();
        if self.random.one_in(3) {
            self.memory.next_file();
            self.index.rewrite(&self.shelf, &mut self.memory).unwrap();
            let alone = self.memory.newest_alone().shelf(self.cache_bytes, self.shape);
            let again = OrderIndex::from_bytes(&self.index.to_bytes().unwrap()).unwrap();
            compare(&mut self.model, &self.order, &again, &alone, &self.ranks, &mut self.random);
        } else {
            self.index.flush(&self.shelf, &mut self.memory).unwrap();
        }
        assert_eq!(self.index.fresh_bytes(), 0);
        let bytes = self.index.to_bytes().unwrap();
        assert!(bytes.len() <= 3_500);
        let again = OrderIndex::from_bytes(&bytes).unwrap();
        assert_eq!(again.to_bytes(), Some(bytes));
        assert_eq!(again.arrivals(), self.index.arrivals());
        assert_eq!(again.generation(), self.index.generation());
        assert_eq!(again.live_bytes(), self.index.live_bytes());
        let told = self.past.iter().map(|(then, _)| again.changed_since(*then));
        assert!(told.eq(changed));
        if self.random.one_in(2) {
            let stride = self.index.tables.stride;
            self.index = again;
            self.index.tables.stride = stride;
            if self.random.one_in(2) {
                self.shelf = self.memory.shelf(self.cache_bytes, self.shape);
            }
        }
        self.look();
    }

    fn keep(&mut self) {
        self.kept.push(Kept {
            index: self.index.clone(),
            model: self.model.clone(),
            order: self.order.clone(),
            ranks: self.ranks.clone(),
        });
    }
}

/// Where two orders first differ, as far as the older one went.
fn first_difference(before: &[EventKey], after: &[EventKey]) -> Option<u64> {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    (same < before.len()).then_some(same as u64)
}

/// Half of the histories run out of room all the time.
fn with_stride(mut index: OrderIndex, seed: u64) -> OrderIndex {
    index.tables.stride = match seed % 4 {
        0 => Stride(1),
        1 => Stride(3),
        _ => Stride::default(),
    };
    index
}

/// Plays a history; returns how many cycles were refused and how often the middle changed.
fn play(seed: u64, most: u64, cache_bytes: usize, shape: Shape) -> (u64, u64) {
    let mut random = Random(seed);
    let (ranks, mut queues) = history(&mut random, most);
    let mut world = World::new(seed ^ 1, cache_bytes, shape, ranks);
    let evicts = 2 + random.below(40);
    while queues.iter().any(|queue| !queue.is_empty()) {
        let left: Vec<usize> = (0..queues.len()).filter(|host| !queues[*host].is_empty()).collect();
        let host = *random.pick(&left);
        let event = queues[host].pop_front().unwrap();
        world.add(&event);
        if random.one_in(evicts) {
            world.evict();
        }
        if random.one_in(9) {
            world.store();
        }
        if random.one_in(15) {
            world.keep();
        }
    }
    assert!(world.model.proves(&world.ranks, &world.order));
    for at in 1..world.order.len() {
        let mut wrong = world.order.clone();
        wrong.swap(at - 1, at);
        assert!(!world.model.proves(&world.ranks, &wrong));
    }
    for kept in &mut world.kept {
        let (shelf, random) = (&world.shelf, &mut world.random);
        compare(&mut kept.model, &kept.order, &kept.index, shelf, &kept.ranks, random);
    }
    (world.cycles, world.moved)
}

/// How many histories: more where there is time.
fn histories(few: u64) -> u64 {
    if std::env::var_os("CAUSELOG_FULL").is_some() { few * 50 } else { few }
}

fn play_all(first: u64, count: u64, most: u64, cache_bytes: usize, shape: Shape) {
    let (mut cycles, mut moved) = (0, 0);
    for seed in first..first + histories(count) {
        let result = std::panic::catch_unwind(|| play(seed, most, cache_bytes, shape));
        let Ok((refused, changed)) = result else { panic!("history {seed} of {most} events") };
        cycles += refused;
        moved += changed;
    }
    assert!(cycles > 0 && moved > 0, "histories that do not try much");
}

const SMALLEST: Shape = Shape { leaf: 3, inner: 3 };

#[test]
fn equals_kahn_with_small_nodes_and_no_cache() {
    play_all(1_000_000, 150, 60, 0, SMALLEST);
}

#[test]
fn equals_kahn_with_small_nodes_and_a_cache_of_one() {
    play_all(2_000_000, 150, 60, 400, SMALLEST);
}

#[test]
fn equals_kahn_with_small_nodes_all_cached() {
    play_all(3_000_000, 150, 60, 1 << 30, SMALLEST);
}

#[test]
fn equals_kahn_with_small_nodes_over_long_histories() {
    play_all(4_000_000, 4, 400, 10_000, SMALLEST);
}

#[test]
fn equals_kahn_with_the_usual_nodes() {
    play_all(5_000_000, 60, 120, 1 << 20, Shape::default());
}

#[test]
fn a_link_over_evicted_events_is_told_once() {
    let mut world = World::new(1, 0, SMALLEST, Ranks::new(vec![0]));
    for (seq, causes) in [(1, vec![]), (2, vec![]), (3, vec![2])] {
        world.add(&Event { id: seq * 2, key: EventKey::new(0, seq), causes, follows: false });
    }
    // The link of 3 to 1 has an entry; without 2 it is implied as well.
    for seq in [2, 1] {
        let ranges = [(0, seq..=seq)];
        assert_eq!(world.index.evict(&world.shelf, &world.ranks, &ranges, &mut world.model).unwrap(), 1);
        world.model.evict(&ranges);
        let order = world.model.kahn(&world.ranks).unwrap();
        world.now(order);
    }
    world.add(&Event { id: 20, key: EventKey::new(0, 9), causes: vec![6], follows: true });
}

#[test]
fn a_seq_that_does_not_grow_is_refused() {
    let memory = Memory::default();
    let (shelf, ranks) = (memory.shelf(0, SMALLEST), Ranks::new(vec![0]));
    let (mut index, mut model) = (OrderIndex::default(), Model::default());
    let event = |seq| NewEvent {
        key: EventKey::new(0, seq),
        fingerprint: seq,
        causes: &[],
        namers: &[],
        follows: false,
    };
    assert_eq!(index.add(&shelf, &ranks, &event(2), &mut model).unwrap(), Placing::Placed);
    for seq in 0..3 {
        let error = index.add(&shelf, &ranks, &event(seq), &mut model).unwrap_err();
        assert_eq!(error.code(), crate::contract::Code::Seq);
    }
    assert_eq!((index.len(), index.generation()), (1, 1));
    assert_eq!(index.gap_of(&shelf, 0).unwrap(), Some(Gap { after: None, missing: 1 }));
}

#[test]
fn bytes_that_are_no_index_are_refused() {
    let mut memory = Memory::default();
    let shelf = memory.shelf(0, SMALLEST);
    let mut index = OrderIndex::default();
    index.flush(&shelf, &mut memory).unwrap();
    let bytes = index.to_bytes().unwrap();
    for len in 0..bytes.len() {
        assert!(OrderIndex::from_bytes(&bytes[..len]).is_none());
    }
    assert!(OrderIndex::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_none());
    let mut other = bytes.clone();
    other[0] += 1;
    assert!(OrderIndex::from_bytes(&other).is_none());
    let mut random = Random(7);
    for _ in 0..10_000 {
        let mut bytes = bytes.clone();
        let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        bytes[at] = u8::try_from(random.below(256)).unwrap();
        drop(OrderIndex::from_bytes(&bytes));
    }
}
