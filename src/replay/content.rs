//! The references of a run, and its turns: what each was shown, in which budget, and what is left of it.

use crate::contract::{EventFields, JsonText, Resolution, Result};

use super::payload::Raw;
use super::reference;
use super::report::{Drifted, Turn};
use super::resolve::Resolver;

/// Resolves references event by event. Keeps counts, and lists up to a bound.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) listed_max: usize,
    pub(super) exact: u64,
    pub(super) unavailable: u64,
    pub(super) drifted: Vec<Drifted>,
    pub(super) drifted_total: u64,
    pub(super) turns: Vec<Turn>,
    pub(super) turns_total: u64,
}

/// What became of the references of one event.
#[derive(Clone, Copy, Default)]
struct Tally {
    exact: u64,
    unavailable: u64,
    drifted: u64,
}

impl Content {
    pub(super) fn new(listed_max: usize) -> Self {
        Self {
            listed_max,
            exact: 0,
            unavailable: 0,
            drifted: Vec::new(),
            drifted_total: 0,
            turns: Vec::new(),
            turns_total: 0,
        }
    }

    /// Resolves what the event names, if it is one that shows or says content.
    pub(super) fn step(
        &mut self,
        event: &dyn EventFields,
        payload: Raw<'_>,
        resolver: &dyn Resolver,
    ) -> Result<()> {
        match event.kind() {
            "context.assembled" => self.turn(event, payload, resolver),
            "assistant.prompted" | "assistant.message" => {
                let [named] = payload.pick(["ref"]);
                self.resolve(event, named.into_iter(), resolver).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn turn(&mut self, event: &dyn EventFields, payload: Raw<'_>, resolver: &dyn Resolver) -> Result<()> {
        let [turn_id, budget, used, parts, resident] =
            payload.pick(["turnId", "budget", "used", "parts", "resident"]);
        let tally = self.resolve(event, resident.into_iter().flat_map(Raw::elements), resolver)?;
        self.turns_total += 1;
        if self.turns.len() < self.listed_max {
            self.turns.push(Turn {
                event_id: event.id().to_owned(),
                turn_id: turn_id.map(keep),
                budget: budget.map(keep),
                used: used.map(keep),
                parts: parts.map(keep),
                reconstructable: tally.drifted == 0,
                exact: tally.exact,
                unavailable: tally.unavailable,
                drifted: tally.drifted,
            });
        }
        Ok(())
    }

    fn resolve<'p>(
        &mut self,
        event: &dyn EventFields,
        named: impl Iterator<Item = Raw<'p>>,
        resolver: &dyn Resolver,
    ) -> Result<Tally> {
        let mut tally = Tally::default();
        // What is no reference is for I1 and I7 to report.
        for (raw, named) in named.filter_map(|raw| Some((raw, reference::read(raw)?))) {
            let held = resolver.held_hash(&named)?;
            match named.resolve(held.as_deref()) {
                Resolution::Exact => tally.exact += 1,
                Resolution::Unavailable => tally.unavailable += 1,
                Resolution::Drifted => {
                    tally.drifted += 1;
                    if self.drifted.len() < self.listed_max {
                        self.drifted.push(Drifted {
                            event_id: event.id().to_owned(),
                            reference: keep(raw),
                            actual_hash: held.unwrap_or_default().into_owned(),
                        });
                    }
                }
            }
        }
        self.exact += tally.exact;
        self.unavailable += tally.unavailable;
        self.drifted_total += tally.drifted;
        Ok(tally)
    }
}

fn keep(value: Raw<'_>) -> JsonText {
    JsonText::from_checked(value.text().to_owned())
}
