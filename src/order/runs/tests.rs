//! The order against a plain list, and the work of making room.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

impl Runs {
    fn order(&self) -> Vec<u64> {
        self.by_tag.values().flat_map(|start| *start..self.by_start[start].end).collect()
    }

    /// Checks the invariants; arrivals below `oldest` may be forgotten.
    fn check(&self, oldest: u64) {
        let mut end = 0;
        for (&start, run) in &self.by_start {
            assert!(end <= start && start <= end.max(oldest) && start < run.end);
            assert_eq!(self.by_tag[&run.tag], start);
            end = run.end;
        }
        assert_eq!(self.by_tag.len(), self.by_start.len());
        assert!(self.by_start.values().filter(|run| run.end <= oldest).count() <= 1);
        // Neighbours that belong together are one run.
        let starts: Vec<u64> = self.by_tag.values().copied().collect();
        assert!(starts.windows(2).all(|pair| self.by_start[&pair[0]].end != pair[1]));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Last,
    Extend,
    MoveBefore(Index, Vec<Index>),
    Forget(Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Last),
        Just(Step::Extend),
        (any::<Index>(), prop::collection::vec(any::<Index>(), 0..6))
            .prop_map(|(at, moved)| Step::MoveBefore(at, moved)),
        any::<Index>().prop_map(Step::Forget),
    ]
}

proptest! {
    #[test]
    fn equals_a_plain_list(len in 0u64..40, steps in prop::collection::vec(step(), 0..80)) {
        let mut runs = Runs::of_arrival(len);
        let mut plain: Vec<u64> = (0..len).collect();
        let (mut own, mut oldest) = (len, 0);
        for step in steps {
            match step {
                Step::MoveBefore(at, moved) if !plain.is_empty() => {
                    let at = plain[at.index(plain.len())];
                    let mut moved: Vec<Position> =
                        moved.iter().map(|index| runs.position(plain[index.index(plain.len())])).collect();
                    moved.sort();
                    moved.dedup();
                    moved.retain(|position| position.arrival != at);
                    runs.move_before(at, &moved, own);
                    plain.retain(|arrival| moved.iter().all(|position| position.arrival != *arrival));
                    let place = plain.iter().position(|arrival| *arrival == at).unwrap();
                    plain.splice(place..place, moved.iter().map(|position| position.arrival).chain([own]));
                    own += 1;
                }
                Step::Extend => {
                    runs.extend(own);
                    let place = plain.iter().position(|arrival| arrival + 1 == own).map_or(0, |place| place + 1);
                    plain.insert(place, own);
                    own += 1;
                }
                Step::Forget(index) => {
                    oldest += index.index(usize::try_from(own - oldest).unwrap() + 1) as u64;
                    runs.forget(oldest);
                    plain.retain(|arrival| *arrival >= oldest);
                    prop_assert!(runs.count() <= plain.len() + 1);
                }
                _ => {
                    runs.push_last(own);
                    plain.push(own);
                    own += 1;
                }
            }
            let held: Vec<u64> = runs.order().into_iter().filter(|arrival| *arrival >= oldest).collect();
            prop_assert_eq!(&held, &plain);
            let first = plain.iter().map(|arrival| runs.position(*arrival)).min();
            let forgotten = (0..oldest).filter(|arrival| runs.run_of(*arrival).is_none());
            prop_assert!(forgotten.map(|arrival| runs.position(arrival)).all(|at| first.is_none_or(|first| at < first)));
            runs.check(oldest);
        }
        if oldest == 0 {
            let again = Runs::of_order(plain.clone(), plain.len() as u64).map(|runs| runs.order());
            prop_assert_eq!(again, Some(plain));
        }
    }
}

/// Puts arrivals one by one before one that `at` picks by their number.
fn insert(count: u64, at: impl Fn(u64) -> u64) -> Runs {
    let mut runs = Runs::of_arrival(2);
    for own in 2..count {
        runs.move_before(at(own), &[], own);
    }
    runs.check(0);
    runs
}

#[test]
fn room_is_made_wherever_it_runs_out() {
    const COUNT: u64 = 40_000;
    // Always before the last one put; both ends of one gap in turn; before the first of all.
    for runs in [
        insert(COUNT, |own| own - 1),
        insert(COUNT, |own| if own % 2 == 0 { 1 } else { own - 1 }),
        insert(COUNT, |_| 0),
    ] {
        assert_eq!(runs.order().len() as u64, COUNT);
        // About 2 log2(n) runs for each one put.
        let each = runs.retagged as u64 / COUNT;

        assert!(each <= 32, "{each} runs got another tag for each one put");
    }
}

#[test]
fn room_is_made_at_the_end() {
    let mut runs = Runs::default();
    runs.put(0, Run { tag: u64::MAX - 1, end: 1 });
    let mut own = 1;
    for _ in 0..1_000 {
        runs.move_before(0, &[], own);
        runs.push_last(own + 1);
        own += 2;
    }
    runs.check(0);
}
