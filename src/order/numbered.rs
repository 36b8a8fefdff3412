//! The order over event numbers: the form for stores of millions of events.
//!
//! An event's number is the rank of its key, so the order of numbers is the order of keys and no key
//! is compared here.
//!
//! Kahn's algorithm asks of each emitted event which others had it as their last open cause. So each event
//! waits for one open cause at a time, in a list that hangs on that cause; when the cause is emitted, the
//! event looks among the rest of its causes for another open one and waits there, or is ready. No list of
//! dependents is built, and each cause is looked at once.
//!
//! Invariants, once every event has been looked at:
//! - an event that is neither emitted nor ready is in the list of exactly one event, one of its causes that
//!   is not emitted; all causes before that one in its own list are emitted or not held;
//! - the place of the cause it waits for stands in the slot of its first cause, which is not asked for again.

use super::bitmap::Bitmap;
use super::blocks::Blocks;
use super::cycle::{Cycle, TooMany};

/// No event: the greatest number that an event can have is one less.
const NONE: u32 = u32::MAX;

/// Events by number, with the numbers of their causes.
///
/// Push the events in rising order of their key; a number is the place in that order, from 0. Numbers
/// need not be ranks of keys: with arrival ordinals the result is the order of the causes closest to
/// arrival, which is what [`CycleGuard::rebuild`](super::CycleGuard::rebuild) wants.
///
/// # Memory
/// 4 bytes an event and 4 for each of its causes while they are pushed, and 256 KiB. At its peak, while the
/// order is computed, 12 bytes and a quarter an event and 4 for each cause: below 25 bytes an event at three
/// causes each. The result takes 4 bytes an event. Without a capacity the list of events may, as it grows,
/// take 8 bytes an event more for a moment.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Causes of all events behind each other.
    causes: Blocks,
    /// Where the causes of each event end.
    ends: Vec<u32>,
}

impl Graph {
    /// Creates an empty graph with room for `events`.
    #[must_use]
    pub fn with_capacity(events: usize) -> Self {
        Self { causes: Blocks::default(), ends: Vec::with_capacity(events) }
    }

    /// Adds the next event and returns its number.
    ///
    /// A cause may have a greater number, or be named twice; one that is never added counts as not
    /// held and is ignored.
    ///
    /// # Errors
    /// [`TooMany`] from the event or the cause on that 32 bits cannot number; the graph is then as before.
    pub fn push(&mut self, causes: impl IntoIterator<Item = u32>) -> Result<u32, TooMany> {
        let number = u32::try_from(self.ends.len()).map_err(|_| TooMany)?;
        let before = self.causes.len();
        for cause in causes {
            self.causes.push(cause);
        }
        match u32::try_from(self.causes.len()) {
            // The greatest number stays free: as a count of events it must fit as well.
            Ok(end) if number < NONE => self.ends.push(end),
            _ => {
                self.causes.truncate(before);
                return Err(TooMany);
            }
        }
        Ok(number)
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Reports whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Computes the order: O(events + causes), whatever the shape.
    ///
    /// # Errors
    /// [`Cycle`] with the numbers that cannot be placed, rising.
    pub fn linearize(self) -> Result<Vec<u32>, Cycle<u32>> {
        let mut kahn = Kahn::new(self);
        let (mut first, mut last) = (NONE, NONE);
        let mut emitted = 0;
        while let Some(number) = kahn.ready.pop_first() {
            kahn.emit(number);
            // Who is emitted waits no longer, so its link is free: it holds the order until there is room.
            let link = if last == NONE { Some(&mut first) } else { kahn.next.get_mut(last as usize) };
            if let Some(link) = link {
                *link = number;
            }
            last = number;
            emitted += 1;
        }
        if emitted < kahn.events() {
            let numbers = 0..u32::try_from(kahn.events()).unwrap_or(NONE);
            return Err(Cycle { stuck: numbers.filter(|number| kahn.is_open(*number)).collect() });
        }
        let next = kahn.into_links();
        let mut order = Vec::with_capacity(emitted);
        let mut number = first;
        while order.len() < emitted {
            order.push(number);
            number = next.get(number as usize).copied().unwrap_or(NONE);
        }
        Ok(order)
    }
}

/// Kahn's algorithm on its way.
struct Kahn {
    graph: Graph,
    /// The first of the events that wait for each event.
    waiting: Vec<u32>,
    /// The next of the events that wait for the same one.
    next: Vec<u32>,
    /// A bit for each event that is not emitted.
    open: Vec<u64>,
    ready: Bitmap,
}

impl Kahn {
    /// Lets every event wait for the first of its causes that is held.
    fn new(graph: Graph) -> Self {
        let events = graph.len();
        let mut kahn = Self {
            graph,
            waiting: vec![NONE; events],
            next: vec![NONE; events],
            open: vec![u64::MAX; events.div_ceil(64)],
            ready: Bitmap::new(events),
        };
        for number in 0..u32::try_from(events).unwrap_or(NONE) {
            kahn.look(number, None);
        }
        kahn
    }

    fn events(&self) -> usize {
        self.waiting.len()
    }

    /// Marks an event as emitted and goes on with everything that waits for it.
    fn emit(&mut self, number: u32) {
        if let Some(word) = self.open.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
        let mut waiting = self.waiting.get(number as usize).copied().unwrap_or(NONE);
        while waiting != NONE {
            let behind = self.next.get(waiting as usize).copied().unwrap_or(NONE);
            self.look(waiting, self.graph.causes.get(self.start(waiting)));
            waiting = behind;
        }
    }

    /// Looks for the next open cause of an event, behind the place of the last one it waited for.
    fn look(&mut self, number: u32, waited: Option<u32>) {
        let start = self.start(number);
        let end = self.graph.ends.get(number as usize).map_or(start, |end| *end as usize);
        let from = waited.map_or(start, |place| place as usize + 1);
        for place in from..end {
            let Some(cause) = self.graph.causes.get(place).filter(|cause| self.is_open(*cause)) else {
                continue;
            };
            self.graph.causes.set(start, u32::try_from(place).unwrap_or(NONE));
            if let (Some(first), Some(next)) =
                (self.waiting.get_mut(cause as usize), self.next.get_mut(number as usize))
            {
                *next = std::mem::replace(first, number);
            }
            return;
        }
        self.ready.insert(number);
    }

    /// Returns where the causes of an event start.
    fn start(&self, number: u32) -> usize {
        let before = (number as usize).checked_sub(1).and_then(|before| self.graph.ends.get(before));
        before.map_or(0, |end| *end as usize)
    }

    /// Reports whether an event is held and not emitted.
    fn is_open(&self, number: u32) -> bool {
        (number as usize) < self.events()
            && self.open.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Gives back everything but the links.
    fn into_links(self) -> Vec<u32> {
        self.next
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
    fn memory_is_12_bytes_an_event_and_4_a_cause() {
        const EVENTS: u32 = 200_000;
        let words = |list: &Vec<u32>| list.capacity() * size_of::<u32>();
        for causes in [1, 3] {
            let mut graph = Graph::with_capacity(EVENTS as usize);
            for number in 0..EVENTS {
                graph.push((1..=causes).filter_map(|back| number.checked_sub(back))).unwrap();
            }
            let kahn = Kahn::new(graph);
            let links = words(&kahn.waiting) + words(&kahn.next) + words(&kahn.graph.ends);
            let bits = kahn.ready.bytes() + kahn.open.capacity() * size_of::<u64>();
            let held = links + bits + kahn.graph.causes.bytes();
            let most = (12 + 4 * causes) as usize * EVENTS as usize + EVENTS as usize / 2 + (256 << 10);
            assert!(held <= most, "{held} bytes, {causes} causes");
        }
    }

    #[test]
    fn many_causes_are_looked_at_once() {
        // Each cause of the last event is emitted behind the one before: it wakes as often as it has causes.
        const CAUSES: u32 = 65_536;
        let mut graph = Graph::with_capacity(CAUSES as usize + 1);
        for number in 0..CAUSES {
            graph.push(number.checked_sub(1)).unwrap();
        }
        graph.push(0..CAUSES).unwrap();
        let order = graph.linearize().unwrap();
        assert!(order.into_iter().eq(0..=CAUSES));
    }

    #[test]
    fn nothing_and_self() {
        assert!(Graph::default().is_empty());
        assert_eq!(Graph::default().linearize(), Ok(Vec::new()));
        assert_eq!(graph(&[vec![0]]).linearize(), Err(Cycle { stuck: vec![0] }));
        assert_eq!(graph(&[vec![1, 1, 7], vec![]]).linearize(), Ok(vec![1, 0]));
    }
}
