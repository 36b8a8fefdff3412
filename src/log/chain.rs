//! Do the segments of a log belong together?
//!
//! Invariants:
//! - A segment starts in the state in which the one before it ends, names that one's root where it knows it, and
//!   holds as many events as its state counts; a sealed one has the root that was recorded when it was sealed. What
//!   does not fit is a suspicion.
//! - Repairs are part of the log's state, so suspicions are judged when all segments were seen: those that concern
//!   a repaired segment, or its links to its neighbours, are explained.

use std::collections::BTreeMap;

use crate::codec::{ControlState, SegmentHeader};

/// Something that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// The segment that it was noticed at.
    pub segment: u64,
    /// The segment whose repair explains it as well.
    pub neighbour: Option<u64>,
    /// What does not fit.
    pub what: String,
}

/// What a sealed segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedEnd {
    /// Its events.
    pub events: u64,
    /// Its root.
    pub root: [u8; 32],
}

/// The segments of a log as they are opened, by rising number.
#[derive(Debug, Default)]
pub struct Chain {
    started: bool,
    /// The segment before, where it could be read, with the state behind it.
    before: Option<(u64, Option<[u8; 32]>)>,
    state: ControlState,
    /// The roots that sealed segments say they have, and those that were recorded.
    roots: BTreeMap<u64, [u8; 32]>,
    recorded: BTreeMap<u64, [u8; 32]>,
    suspicions: Vec<Suspicion>,
}

impl Chain {
    /// Adds the next segment: its head, the state behind it, and what it says of itself if it is sealed.
    pub fn add(&mut self, header: &SegmentHeader, after: ControlState, sealed: Option<SealedEnd>) {
        let number = header.segment;
        match self.before {
            Some((before, root)) => {
                if self.state != header.state {
                    self.suspect(
                        number,
                        Some(before),
                        "the segment does not start where the one before it ends",
                    );
                }
                let is_next = before.checked_add(1) == Some(number);
                if is_next && header.prev_root != [0; 32] && root.is_some_and(|root| root != header.prev_root)
                {
                    self.suspect(
                        number,
                        Some(before),
                        "the segment names another root for the one before it",
                    );
                }
            }
            None if !self.started && header.state.arrivals > 0 && header.state.ranges.is_empty() => {
                self.suspect(number, None, format!("the segments before number {number} are missing"));
            }
            None => {}
        }
        if let Some(sealed) = sealed {
            self.roots.insert(number, sealed.root);
            let counted = after.arrivals.saturating_sub(header.state.arrivals);
            if counted != sealed.events {
                let what =
                    format!("the segment holds {} events where its state counts {counted}", sealed.events);
                self.suspect(number, None, what);
            }
        }
        self.started = true;
        self.before = Some((number, sealed.map(|sealed| sealed.root)));
        self.state = after;
    }

    /// Says that the next segment cannot be read: what follows it is not compared.
    pub fn interrupt(&mut self) {
        self.started = true;
        self.before = None;
    }

    /// Takes the roots that control records name, by segment; later calls bring newer records.
    pub fn record(&mut self, roots: BTreeMap<u64, [u8; 32]>) {
        self.recorded.extend(roots);
    }

    /// Returns the newest state that could be read, and what no repair explains: neither one that the state knows nor one of `others`.
    pub fn judge(mut self, others: &[u64]) -> (ControlState, Vec<Suspicion>) {
        for (segment, root) in std::mem::take(&mut self.roots) {
            if self.recorded.get(&segment).is_some_and(|recorded| *recorded != root) {
                self.suspect(
                    segment,
                    None,
                    "the segment has another root than was recorded when it was sealed",
                );
            }
        }
        let Self { state, mut suspicions, .. } = self;
        let repaired = |segment: u64| state.lost_of(segment).is_some() || others.contains(&segment);
        suspicions.retain(|one| !repaired(one.segment) && !one.neighbour.is_some_and(repaired));
        (state, suspicions)
    }

    fn suspect(&mut self, segment: u64, neighbour: Option<u64>, what: impl Into<String>) {
        self.suspicions.push(Suspicion { segment, neighbour, what: what.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Control, Form};

    const NONE: [u64; 0] = [];

    fn state(arrivals: u64) -> ControlState {
        ControlState { arrivals, ..ControlState::default() }
    }

    fn header(segment: u64, prev_root: u8, arrivals: u64) -> SegmentHeader {
        SegmentHeader {
            form: Form::Sealed,
            compatible: 0,
            incompatible: 0,
            store: [1; 16],
            segment,
            prev_bytes: 0,
            prev_root: [prev_root; 32],
            secret: [2; 16],
            state: state(arrivals),
        }
    }

    fn sealed(events: u64, root: u8) -> SealedEnd {
        SealedEnd { events, root: [root; 32] }
    }

    /// Segments 1 to 3 of ten events each, with something done to the second.
    fn chain(events: u64, root: u8, starts: u64, last: ControlState) -> Chain {
        let mut chain = Chain::default();
        chain.add(&header(1, 0, 0), state(10), Some(sealed(10, 1)));
        chain.add(&header(2, 1, starts), state(20), Some(sealed(events, root)));
        chain.add(&header(3, 2, 20), last, None);
        chain
    }

    fn found(chain: Chain, others: &[u64]) -> Vec<u64> {
        chain.judge(others).1.into_iter().map(|one| one.segment).collect()
    }

    #[test]
    fn what_does_not_fit_is_suspected_unless_a_repair_explains_it() {
        assert_eq!(found(chain(10, 2, 10, state(30)), &[]), NONE);
        assert_eq!(found(chain(9, 2, 10, state(30)), &[]), [2], "an event is missing");
        assert_eq!(found(chain(10, 9, 10, state(30)), &[]), [3], "another root");
        assert_eq!(found(chain(10, 2, 11, state(30)), &[]), [2, 2], "another start");
        assert_eq!(found(chain(9, 9, 11, state(30)), &[2]), NONE);
        assert_eq!(found(chain(9, 9, 11, state(30)), &[3]), [2], "a repair explains its own links alone");
        let mut repaired = state(30);
        repaired.apply(&Control::Repaired { segment: 2, lost: 1 }).unwrap();
        assert_eq!(found(chain(9, 9, 11, repaired), &[]), NONE);
    }

    #[test]
    fn a_sealed_segment_has_the_root_that_was_recorded() {
        let with = |segment: u64, root: u8| {
            let mut chain = chain(10, 2, 10, state(30));
            chain.record(BTreeMap::from([(1, [1; 32]), (2, [9; 32]), (8, [8; 32])]));
            chain.record(BTreeMap::from([(segment, [root; 32])]));
            chain
        };
        assert_eq!(found(with(1, 1), &[]), [2]);
        assert_eq!(found(with(1, 1), &[2]), NONE, "a repair explains it");
        assert_eq!(found(with(2, 2), &[]), NONE, "the newest record counts");
        assert_eq!(found(with(1, 7), &[]), [1, 2]);
    }

    #[test]
    fn the_oldest_must_start_from_nothing() {
        let mut chain = Chain::default();
        chain.add(&header(3, 2, 20), state(20), None);
        assert_eq!(found(chain, &[]), [3]);
        let mut chain = Chain::default();
        chain.interrupt();
        chain.add(&header(3, 2, 20), state(20), None);
        let (state, suspicions) = chain.judge(&[]);
        assert_eq!((state.arrivals, suspicions), (20, Vec::new()));
    }
}
