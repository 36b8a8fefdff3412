//! Appends that fail half-way leave everything as it was.

use super::model::{Event, fingerprint};
use super::*;
use crate::contract::Error;
use crate::order::tree::Shape;

const HOSTS: u32 = 4;

/// Facts that fail at a certain question.
struct Failing<'a> {
    model: &'a mut Model,
    left: u64,
}

impl Facts for Failing<'_> {
    fn causes(&mut self, of: EventKey, out: &mut Vec<Cause>) -> Result<()> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Error::io("read failed", std::io::Error::other("made to")));
        };
        self.left = left;
        self.model.causes(of, out)
    }

    fn fingerprint(&mut self, of: EventKey) -> Result<u64> {
        self.model.fingerprint(of)
    }
}

/// An index of some events where most of what comes next has been named already; nothing is cached.
struct Stored {
    index: OrderIndex,
    model: Model,
    memory: Memory,
    ranks: Ranks,
    random: Random,
}

impl Stored {
    fn new(seed: u64) -> Self {
        let ranks = Ranks::new(vec![2, 0, 3, 1]);
        let (index, model) = Default::default();
        let mut stored = Self { index, model, memory: Memory::default(), ranks, random: Random(seed) };
        for number in 0..60 {
            let event = stored.event(number);
            stored.add(&event);
        }
        let shelf = stored.memory.shelf(0, SMALLEST);
        stored.index.flush(&shelf, &mut stored.memory).unwrap();
        stored
    }

    fn event(&mut self, number: u64) -> Event {
        let host = u32::try_from(self.random.below(u64::from(HOSTS))).unwrap();
        let seq = self.model.last_of(host).map_or(1, |last| last + 1 + self.random.below(2));
        // The next few are named more often than they would be in life.
        let causes = (0..self.random.below(4))
            .map(|_| match self.random.below(3) {
                0 => 2 * (number + 1 + self.random.below(8)),
                _ => 2 * self.random.below(number + 1),
            })
            .collect();
        Event { id: number * 2, key: EventKey::new(host, seq), causes, follows: false }
    }

    /// Adds an event with some that ask for it; whether it was placed.
    fn try_add(&mut self, event: &Event, facts_left: u64) -> Result<Placing> {
        let shelf = self.memory.shelf(0, SMALLEST);
        let causes = self.model.causes_of_new(event);
        let namers = self.model.namers(event.id);
        let new = NewEvent {
            key: event.key,
            fingerprint: fingerprint(event.id),
            causes: &causes,
            namers: &namers,
            follows: event.follows,
        };
        let mut facts = Failing { model: &mut self.model, left: facts_left };
        self.index.add(&shelf, &self.ranks, &new, &mut facts)
    }

    fn add(&mut self, event: &Event) {
        if self.try_add(event, u64::MAX).unwrap() == Placing::Placed {
            self.model.add(event);
        }
    }

    fn look(&mut self) {
        let shelf = self.memory.shelf(0, SMALLEST);
        let order = self.model.kahn(&self.ranks).unwrap();
        compare(&mut self.model, &order, &self.index, &shelf, &self.ranks, &mut self.random);
    }
}

const SMALLEST: Shape = Shape { leaf: 3, inner: 3 };

#[test]
fn an_append_that_fails_changes_nothing() {
    let mut late = 0;
    for seed in 0..12 {
        let mut stored = Stored::new(seed);
        let event = stored.event(60);
        late += stored.model.namers(event.id).len();
        let (told, before) = (stored.index.generation(), stored.index.clone());
        for reads in 0.. {
            stored.memory.fail_after(Some(reads), false);
            let result = stored.try_add(&event, u64::MAX);
            if stored.memory.is_armed() {
                stored.memory.fail_after(None, false);
                break;
            }
            assert!(result.is_err(), "a failed read that nobody heard of");
            assert_eq!(stored.index.generation(), told);
            stored.look();
            stored.index = before.clone();
        }
        stored.index = before.clone();
        for asked in 0.. {
            if stored.try_add(&event, asked).is_ok() {
                break;
            }
            stored.look();
            stored.index = before.clone();
        }
    }
    assert!(late > 0, "no event came late");
}

#[test]
fn what_cannot_be_taken_back_answers_nothing() {
    let mut broken = 0;
    for reads in 0..200 {
        let mut stored = Stored::new(3);
        let event = stored.event(60);
        stored.memory.fail_after(Some(reads), true);
        let result = stored.try_add(&event, u64::MAX);
        stored.memory.fail_after(None, false);
        if result.is_ok() {
            break;
        }
        let shelf = stored.memory.shelf(0, SMALLEST);
        if stored.index.at(&shelf, 0).is_ok() {
            stored.look();
            continue;
        }
        broken += 1;
        assert!(stored.index.to_bytes().is_none());
        assert!(stored.index.check(&shelf, &stored.ranks).is_err());
        assert!(stored.try_add(&event, u64::MAX).is_err());
    }
    assert!(broken > 0);
}

#[test]
fn an_eviction_that_fails_leaves_a_clone_as_it_was() {
    let mut stored = Stored::new(5);
    let before = stored.index.clone();
    for reads in 0..400 {
        let shelf = stored.memory.shelf(0, SMALLEST);
        stored.memory.fail_after(Some(reads * 5), false);
        let result = stored.index.evict(&shelf, &stored.ranks, &[(0, 2..=9), (2, 0..=4)], &mut stored.model);
        let failed = !stored.memory.is_armed();
        stored.memory.fail_after(None, false);
        assert_eq!(result.is_err(), failed);
        stored.index = before.clone();
        stored.look();
        if !failed {
            return;
        }
    }
    panic!("it never ends");
}
