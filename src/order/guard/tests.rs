//! The guard against plain reachability, and how much it looks at.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::order::Graph;

/// An event to come: its name and those of its causes.
type Coming = (u32, Vec<u32>);

/// A log as a store has it: what is held, what waits for whom.
#[derive(Default)]
struct Log {
    /// Causes by arrival; `None` once evicted.
    held: Vec<Option<Vec<u32>>>,
    arrival_of: HashMap<u32, u64>,
    named_by: HashMap<u32, Vec<u64>>,
    guard: CycleGuard,
    visits: u64,
}

impl Log {
    fn causes_of(&self, arrival: u64) -> Vec<u64> {
        let causes = self.held[usize::try_from(arrival).unwrap()].as_deref().unwrap_or_default();
        causes.iter().filter_map(|cause| self.arrival_of.get(cause)).copied().collect()
    }

    fn dependents_of(&self, name: u32) -> Vec<u64> {
        let all = self.named_by.get(&name).into_iter().flatten().copied();
        all.filter(|arrival| self.held[usize::try_from(*arrival).unwrap()].is_some()).collect()
    }

    /// What the guard says: a cycle's path, or `None` when the event was taken.
    fn append(&mut self, (name, causes): &Coming, accept: bool) -> Option<Vec<u64>> {
        let own = self.guard.len();
        let place = |cause: &u32| if cause == name { Some(own) } else { self.arrival_of.get(cause).copied() };
        let held: Vec<u64> = causes.iter().filter_map(place).collect();
        let dependents = self.dependents_of(*name);
        let mut guard = std::mem::take(&mut self.guard);
        let mut visits = 0;
        let mut verdict = |guard: &mut CycleGuard| {
            let verdict = guard
                .check(&held, &dependents, |arrival, list: &mut Vec<u64>| {
                    visits += 1;
                    list.extend(self.causes_of(arrival));
                    Ok::<(), Infallible>(())
                })
                .unwrap();
            match verdict {
                Verdict::Clear(admission) => {
                    if accept {
                        admission.accept();
                    }
                    Ok(None)
                }
                Verdict::Cycle(path) => Ok(Some(path)),
                Verdict::NeedsOrder => Err(()),
            }
        };
        let result = verdict(&mut guard).or_else(|()| {
            guard.rebuild(self.order()).unwrap();
            verdict(&mut guard)
        });
        self.visits += visits;
        let path = result.unwrap();
        if path.is_none() && accept {
            self.arrival_of.insert(*name, own);
            for cause in causes {
                self.named_by.entry(*cause).or_default().push(own);
            }
            self.held.push(Some(causes.clone()));
        }
        self.guard = guard;
        path
    }

    fn order(&self) -> Vec<u64> {
        let mut graph = Graph::default();
        for arrival in 0..self.held.len() as u64 {
            graph
                .push(self.causes_of(arrival).into_iter().map(|cause| u32::try_from(cause).unwrap()))
                .unwrap();
        }
        graph.linearize().unwrap().into_iter().map(u64::from).collect()
    }

    /// Whether an event would close a cycle, by looking at everything.
    fn closes(&self, (name, causes): &Coming) -> bool {
        let dependents: HashSet<u64> = self.dependents_of(*name).into_iter().collect();
        let mut left: Vec<u64> =
            causes.iter().filter_map(|cause| self.arrival_of.get(cause)).copied().collect();
        let mut seen = HashSet::new();
        while let Some(arrival) = left.pop() {
            if dependents.contains(&arrival) {
                return true;
            }
            if seen.insert(arrival) {
                left.extend(self.causes_of(arrival));
            }
        }
        causes.contains(name)
    }

    /// Each arrival of a path is a cause of the next, and `name`, the last, is a cause of the first.
    fn is_cycle(&self, path: &[u64], (name, causes): &Coming) -> bool {
        let own = self.guard.len();
        let names = |event: u64, cause: u64| {
            if event == own {
                let place = |c: &u32| if c == name { Some(own) } else { self.arrival_of.get(c).copied() };
                causes.iter().filter_map(place).any(|c| c == cause)
            } else if cause == own {
                self.dependents_of(*name).contains(&event)
            } else {
                self.causes_of(event).contains(&cause)
            }
        };
        path.last() == Some(&own)
            && path.windows(2).all(|pair| names(pair[1], pair[0]))
            && names(path[0], own)
    }

    /// Every held cause stands before the event that names it.
    fn is_sound(&self) -> bool {
        let State::Known { runs, .. } = &self.guard.state else { return true };
        (0..self.guard.len()).all(|event| {
            self.causes_of(event).iter().all(|cause| runs.position(*cause) < runs.position(event))
        })
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The next event of one of the hosts that still have some.
    Append(Index),
    /// A check whose answer is not acted on.
    Ask(Index),
    Evict(Index),
    /// Evicts everything before an arrival.
    Forget(Index),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any::<Index>().prop_map(Step::Append),
        1 => any::<Index>().prop_map(Step::Ask),
        1 => any::<Index>().prop_map(Step::Evict),
        1 => any::<Index>().prop_map(Step::Forget),
        1 => Just(Step::Reopen),
    ]
}

/// One event: its host, how it draws its causes, and how many of them.
type Draw = (usize, Vec<(u8, Index)>);

/// Queues of 1 to 6 hosts, in which causes are earlier events for the most part, and now and then a later
/// one of any host, none that is held, or one that is named already.
fn queues(hosts: usize, draws: &[Draw]) -> Vec<Vec<Coming>> {
    let mut queues = vec![Vec::new(); hosts];
    let mut last_of = vec![None; hosts];
    for (name, (host, causes)) in (0u32..).zip(draws) {
        let host = host % hosts;
        let mut list: Vec<u32> = last_of[host].into_iter().collect();
        for (kind, index) in causes {
            match kind {
                0 => list.push(u32::try_from(index.index(draws.len())).unwrap()),
                1 => list.push(1_000_000),
                2 => list.extend(list.first().copied()),
                3 => list.clear(),
                _ if name > 0 => list.push(u32::try_from(index.index(name as usize)).unwrap()),
                _ => {}
            }
        }
        last_of[host] = Some(name);
        queues[host].push((name, list));
    }
    queues
}

fn take_next(queues: &mut Vec<Vec<Coming>>, index: Index) -> Option<Coming> {
    queues.retain(|queue| !queue.is_empty());
    if queues.is_empty() {
        return None;
    }
    let host = index.index(queues.len());
    Some(queues[host].remove(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn decides_as_plain_reachability_does(
        hosts in 1usize..=6,
        draws in prop::collection::vec((any::<usize>(), prop::collection::vec((0u8..20, any::<Index>()), 0..4)), 1..60),
        steps in prop::collection::vec(step(), 1..90),
    ) {
        let mut queues = queues(hosts, &draws);
        let mut log = Log::default();
        for step in steps {
            match step {
                Step::Append(index) | Step::Ask(index) => {
                    let Some(coming) = take_next(&mut queues, index) else { break };
                    let closes = log.closes(&coming);
                    if let Step::Ask(_) = step {
                        prop_assert_eq!(log.append(&coming, false).is_some(), closes);
                        prop_assert!(log.is_sound());
                    }
                    let path = log.append(&coming, true);
                    prop_assert_eq!(path.is_some(), closes, "{:?}", coming);
                    prop_assert!(path.is_none_or(|path| log.is_cycle(&path, &coming)));
                    prop_assert_eq!(log.guard.len(), log.held.len() as u64);
                }
                Step::Evict(index) => {
                    if !log.held.is_empty() {
                        let arrival = index.index(log.held.len());
                        log.held[arrival] = None;
                        log.arrival_of.retain(|_, held| *held != arrival as u64);
                    }
                }
                Step::Forget(index) => {
                    let oldest = index.index(log.held.len() + 1);
                    log.held[..oldest].fill(None);
                    log.arrival_of.retain(|_, held| *held >= oldest as u64);
                    log.guard.forget(oldest as u64);
                    prop_assert!(log.guard.runs() <= log.held.len() - oldest + 1);
                }
                Step::Reopen => log.guard = CycleGuard::from_history(true, log.guard.len()),
            }
            prop_assert!(log.is_sound());
        }
    }
}

/// A small generator of numbers, so that counted work is the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        // Knuth's multiplier; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Hosts that run side by side: each event follows its host's previous one, if `chained`, and `cross`
/// percent name the last event of another host, or with `far` any earlier one.
fn side_by_side(hosts: usize, events: u32, cross: usize, chained: bool, far: bool) -> Vec<Vec<Coming>> {
    let mut draws = Draws(7);
    let mut queues: Vec<Vec<Coming>> = vec![Vec::new(); hosts];
    for name in 0..events {
        let host = draws.below(hosts);
        let mut causes = Vec::new();
        if chained {
            causes.extend(queues[host].last().map(|(name, _)| *name));
        }
        if draws.below(100) < cross {
            let other = &queues[draws.below(hosts)];
            let cause =
                if far && !other.is_empty() { other.get(draws.below(other.len())) } else { other.last() };
            causes.extend(cause.map(|(name, _)| *name));
        }
        queues[host].push((name, causes));
    }
    queues
}

fn arrive<'a>(coming: impl IntoIterator<Item = &'a Coming>) -> Log {
    let mut log = Log::default();
    for coming in coming {
        assert_eq!(log.append(coming, true), None);
    }
    assert!(log.is_sound());
    log
}

#[test]
fn events_in_the_order_they_happened_cost_nothing() {
    let mut side: Vec<Coming> = side_by_side(8, 20_000, 20, true, false).into_iter().flatten().collect();
    side.sort_by_key(|(name, _)| *name);
    let log = arrive(&side);
    assert_eq!((log.visits, log.guard.runs()), (0, 1));
}

#[test]
fn host_by_host_looks_at_each_event_a_few_times() {
    // Visits and runs allowed for each 100 events; measured on these histories, and half as much again.
    for (events, hosts, cross, chained, far, visits, runs) in [
        (30_000, 2, 20, true, false, 38, 8),
        (30_000, 2, 100, true, false, 38, 38),
        (30_000, 8, 5, true, false, 180, 5),
        (100_000, 8, 20, true, false, 180, 16),
        (30_000, 8, 20, true, true, 120, 3),
        (30_000, 8, 20, false, false, 1, 21),
        (30_000, 50, 100, true, false, 480, 75),
        (30_000, 500, 50, true, false, 850, 47),
    ] {
        let queues = side_by_side(hosts, events, cross, chained, far);
        for log in [arrive(queues.iter().flatten()), arrive(queues.iter().rev().flatten())] {
            let of_100 = |count: u64| count.div_ceil(u64::from(events) / 100);
            let found = (of_100(log.visits), of_100(log.guard.runs() as u64));
            assert!(
                found.0 <= visits && found.1 <= runs,
                "{hosts} hosts, {cross}%, {chained}, {far}: {found:?}"
            );
        }
    }
}

#[test]
fn visits_grow_with_the_log_and_no_faster() {
    let visits = [20_000, 80_000]
        .map(|events| arrive(side_by_side(8, events, 20, true, false).iter().flatten()).visits);
    assert!(visits[1] < visits[0] * 5, "{visits:?}");
}

#[test]
fn a_chain_that_arrives_backwards_needs_no_search() {
    let chain: Vec<Coming> =
        (0..50_000u32).map(|name| (name, name.checked_sub(1).into_iter().collect())).collect();
    let log = arrive(chain.iter().rev());
    assert_eq!(log.visits, 0);
    // And closing it from the last to the first is seen.
    let mut log = arrive(chain.iter().skip(1));
    let path = log.append(&(0, vec![49_999]), true).unwrap();
    assert_eq!(path.len(), 50_000);
    assert!(log.is_cycle(&path, &(0, vec![49_999])));
}

#[test]
fn a_ring_keeps_no_more_runs_than_events() {
    // A chain whose events name those of another stream, which comes later: every second event comes late.
    const KEPT: usize = 500;
    let mut log = Log::default();
    let mut most = 0;
    for step in 0..10_000u32 {
        assert_eq!(log.append(&(2 * step, vec![(2 * step).wrapping_sub(2), 2 * step + 101]), true), None);
        assert_eq!(log.append(&(2 * step + 1, vec![]), true), None);
        let oldest = log.held.len().saturating_sub(KEPT);
        log.held[..oldest].fill(None);
        log.arrival_of.retain(|_, held| *held >= oldest as u64);
        log.guard.forget(oldest as u64);
        most = most.max(log.guard.runs());
    }
    assert!(log.is_sound());
    assert!(most > 100 && most <= KEPT + 1, "{most} runs");
}

#[test]
fn a_history_is_asked_for_only_when_needed() {
    let nothing = |_: u64, _: &mut Vec<u64>| Ok::<(), Infallible>(());
    let mut guard = CycleGuard::from_history(true, 3);
    for (causes, dependents) in [(&[2][..], &[][..]), (&[], &[1]), (&[], &[])] {
        let Ok(Verdict::Clear(admission)) = guard.check(causes, dependents, nothing) else { panic!() };
        admission.accept();
    }
    assert_eq!((guard.len(), guard.runs()), (6, 0));
    assert!(matches!(guard.check(&[6], &[0], nothing), Ok(Verdict::Cycle(path)) if path == [6]));
    assert!(matches!(guard.check(&[2], &[0], nothing), Ok(Verdict::NeedsOrder)));
    for wrong in [
        vec![],
        vec![0, 1, 2, 3, 4],
        vec![0, 1, 2, 3, 4, 4],
        vec![0, 1, 2, 3, 4, 6],
        vec![0, 1, 2, 3, u64::MAX - 1, u64::MAX],
        vec![0, 1, 2, 3, 4, 5, 6],
    ] {
        assert_eq!(guard.rebuild(wrong), Err(NotAnOrder));
    }
    assert_eq!(guard.rebuild([4, 2, 3, 0, 1, 5]), Ok(()));
    assert_eq!(guard.runs(), 4);
    assert!(matches!(guard.check(&[2], &[0], nothing), Ok(Verdict::Clear(_))));
}

#[test]
fn an_error_of_the_log_comes_through() {
    let mut guard = CycleGuard::from_history(false, 2);
    let verdict = guard.check(&[1], &[0], |_, _| Err("unreadable"));
    assert_eq!(verdict.err(), Some("unreadable"));
    assert_eq!(guard.len(), 2);
}
