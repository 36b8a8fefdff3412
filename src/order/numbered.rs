//! The order over event numbers: the form for stores of millions of events.
//!
//! An event's number is the rank of its key, so the order of numbers is the order of keys and no key
//! is compared here. Kahn's algorithm then needs, per event, the count of causes not yet emitted and
//! the list of dependents; the lists stand behind each other in one array, built by counting.

use super::bitmap::Bitmap;
use super::cycle::{Cycle, TooMany};

/// Events by number, with the numbers of their causes.
///
/// Push the events in rising order of their key; a number is the place in that order, from 0. Numbers
/// need not be ranks of keys: with arrival ordinals the result is the order of the causes closest to
/// arrival, which is what [`CycleGuard::rebuild`](super::CycleGuard::rebuild) wants.
///
/// # Memory
/// At its peak, with exact capacities, 12 bytes an event (open causes, start of dependents, result),
/// 8 bytes a cause before the result exists and 4 after, and 1/8 byte for the ready set. At 1.2 causes
/// an event that is below 18 bytes an event; without capacities the buffers' growth can make it 27.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Causes of all events behind each other.
    causes: Vec<u32>,
    /// How many of `causes` belong to each event.
    counts: Vec<u32>,
}

/// Dependents of all events: those of event `n` are `targets[starts[n]..starts[n + 1]]`.
struct Dependents {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// Creates an empty graph with room for `events` and, over all of them, `causes`.
    #[must_use]
    pub fn with_capacity(events: usize, causes: usize) -> Self {
        Self { causes: Vec::with_capacity(causes), counts: Vec::with_capacity(events) }
    }

    /// Adds the next event and returns its number.
    ///
    /// A cause may have a greater number, or be named twice; one that is never added counts as not
    /// held and is ignored.
    ///
    /// # Errors
    /// [`TooMany`] from the event or the cause on that 32 bits cannot number; the graph is then as before.
    pub fn push(&mut self, causes: impl IntoIterator<Item = u32>) -> Result<u32, TooMany> {
        let number = u32::try_from(self.counts.len()).map_err(|_| TooMany)?;
        let before = self.causes.len();
        self.causes.extend(causes);
        // The greatest number stays free: as a count of events it must fit as well.
        if number == u32::MAX || u32::try_from(self.causes.len()).is_err() {
            self.causes.truncate(before);
            return Err(TooMany);
        }
        let count = u32::try_from(self.causes.len() - before).map_err(|_| TooMany)?;
        self.counts.push(count);
        Ok(number)
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Reports whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Computes the order: O(events + causes), whatever the shape.
    ///
    /// # Errors
    /// [`Cycle`] with the numbers that cannot be placed, rising.
    pub fn linearize(self) -> Result<Vec<u32>, Cycle<u32>> {
        let (dependents, open) = self.into_dependents();
        dependents.emit(open)
    }

    /// Turns causes into dependents; returns them with the count of held causes of each event.
    fn into_dependents(self) -> (Dependents, Vec<u32>) {
        let Self { causes, counts: mut open } = self;
        let events = open.len();
        // One place more than events: the end of the last event's list. A number of that size is no event's.
        let mut starts = vec![0u32; events + 1];
        for &cause in causes.iter().filter(|&&cause| (cause as usize) < events) {
            if let Some(count) = starts.get_mut(cause as usize) {
                *count += 1;
            }
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        // Each `start` is the end of its event's list by now; filling from behind makes it the start.
        let mut targets = vec![0u32; end as usize];
        let mut causes_left = causes.iter().rev();
        let mut number = u32::try_from(events).unwrap_or(u32::MAX);
        for count in open.iter_mut().rev() {
            number -= 1;
            for &cause in causes_left.by_ref().take(*count as usize) {
                if cause as usize >= events {
                    *count -= 1;
                } else if let Some(start) = starts.get_mut(cause as usize) {
                    *start -= 1;
                    if let Some(target) = targets.get_mut(*start as usize) {
                        *target = number;
                    }
                }
            }
        }
        (Dependents { starts, targets }, open)
    }
}

impl Dependents {
    /// Kahn's algorithm. `open` counts the causes not yet emitted of each event.
    fn emit(&self, mut open: Vec<u32>) -> Result<Vec<u32>, Cycle<u32>> {
        let mut ready = Bitmap::new(open.len());
        for (number, _) in (0..).zip(&open).filter(|(_, count)| **count == 0) {
            ready.insert(number);
        }
        let mut order = Vec::with_capacity(open.len());
        while let Some(number) = ready.pop_first() {
            order.push(number);
            for &target in self.of(number) {
                if let Some(count) = open.get_mut(target as usize) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(target);
                    }
                }
            }
        }
        if order.len() == open.len() {
            return Ok(order);
        }
        // What was emitted has no open cause, and what has none was emitted.
        Err(Cycle {
            stuck: (0..).zip(&open).filter(|(_, count)| **count > 0).map(|(number, _)| number).collect(),
        })
    }

    #[inline]
    fn of(&self, number: u32) -> &[u32] {
        let at = number as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => self.targets.get(start as usize..end as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// Kahn's algorithm as one writes it down: the stuck numbers where there is no order.
    fn plain(causes: &[Vec<u32>]) -> Result<Vec<u32>, Vec<u32>> {
        let events = causes.len();
        let held = |list: &[u32]| list.iter().filter(|c| (**c as usize) < events).count();
        let mut open: Vec<usize> = causes.iter().map(|list| held(list)).collect();
        let numbers = 0..u32::try_from(events).unwrap();
        let mut ready: BinaryHeap<_> =
            numbers.clone().filter(|n| open[*n as usize] == 0).map(Reverse).collect();
        let mut order = Vec::new();
        while let Some(Reverse(number)) = ready.pop() {
            order.push(number);
            for (dependent, list) in causes.iter().enumerate() {
                let named = list.iter().filter(|c| **c == number).count();
                open[dependent] -= named;
                if named > 0 && open[dependent] == 0 {
                    ready.push(Reverse(u32::try_from(dependent).unwrap()));
                }
            }
        }
        if order.len() == events { Ok(order) } else { Err(numbers.filter(|n| !order.contains(n)).collect()) }
    }

    fn graph(causes: &[Vec<u32>]) -> Graph {
        let mut graph = Graph::default();
        for (number, list) in (0..).zip(causes) {
            assert_eq!(graph.push(list.iter().copied()), Ok(number));
        }
        graph
    }

    fn histories() -> impl Strategy<Value = Vec<Vec<u32>>> {
        (0usize..80, 0u32..4).prop_flat_map(|(events, most)| {
            let bound = u32::try_from(events).unwrap() + 3;
            prop::collection::vec(prop::collection::vec(0..bound, 0..=most as usize), events)
        })
    }

    /// Causes that agree with some hidden order, so that long orders without a cycle are drawn as well.
    fn sound_histories() -> impl Strategy<Value = Vec<Vec<u32>>> {
        (1usize..150).prop_flat_map(|events| {
            let hidden = Just((0..u32::try_from(events).unwrap()).collect::<Vec<_>>()).prop_shuffle();
            (hidden, prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..4), events))
                .prop_map(|(hidden, draws)| {
                    let mut causes = vec![Vec::new(); hidden.len()];
                    for (place, draw) in draws.iter().enumerate().skip(1) {
                        let list = draw.iter().map(|index| hidden[index.index(place)]);
                        causes[hidden[place] as usize].extend(list);
                    }
                    causes
                })
        })
    }

    proptest! {
        #[test]
        fn equals_the_plain_algorithm(causes in prop_oneof![histories(), sound_histories()]) {
            prop_assert_eq!(graph(&causes).linearize().map_err(|cycle| cycle.stuck), plain(&causes));
        }

        #[test]
        fn sound_histories_have_an_order(causes in sound_histories()) {
            prop_assert!(graph(&causes).linearize().is_ok());
        }
    }

    #[test]
    fn long_chains_need_no_stack() {
        let events = 300_000u32;
        let mut graph = Graph::default();
        for number in 0..events {
            graph.push((number + 1 < events).then_some(number + 1)).unwrap();
        }
        let order = graph.linearize().unwrap();
        assert!(order.iter().copied().eq((0..events).rev()));
    }

    #[test]
    fn memory_stays_below_32_bytes_an_event() {
        const EVENTS: u32 = 200_000;
        let words = |list: &Vec<u32>| list.capacity() * size_of::<u32>();
        for exact in [true, false] {
            let mut graph = if exact { Graph::with_capacity(200_000, 240_000) } else { Graph::default() };
            for number in 0..EVENTS {
                // 1.2 causes an event: the one before, and every fifth one more.
                let second = (number % 5 == 4).then_some(number / 2);
                graph.push(number.checked_sub(1).into_iter().chain(second)).unwrap();
            }
            let pushed = words(&graph.causes) + words(&graph.counts);
            let (dependents, open) = graph.into_dependents();
            let listed = words(&dependents.starts) + words(&dependents.targets);
            // The causes live until the dependents are built.
            let building = pushed + listed;
            let ready = Bitmap::new(EVENTS as usize).bytes();
            let counts = words(&open);
            let order = dependents.emit(open).unwrap();
            let emitting = listed + counts + ready + words(&order);
            let most = building.max(emitting).div_ceil(EVENTS as usize);
            assert!(most <= if exact { 18 } else { 27 }, "{most} bytes an event, exact capacities {exact}");
        }
    }

    #[test]
    fn nothing_and_self() {
        assert!(Graph::default().is_empty());
        assert_eq!(Graph::default().linearize(), Ok(Vec::new()));
        assert_eq!(graph(&[vec![0]]).linearize(), Err(Cycle { stuck: vec![0] }));
        assert_eq!(graph(&[vec![1, 1, 7], vec![]]).linearize(), Ok(vec![1, 0]));
    }
}
