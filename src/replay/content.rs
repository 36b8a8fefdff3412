//! The references of a run, and its turns: what each was shown, in which budget, and what is left of it.
//!
//! Invariants:
//! - Counts are of everything, lists are bounded: so many turns, so many references for each, so many in all.
//! - Each reference is resolved once, and counts once in the run and once in its turn.

use std::borrow::Cow;

use crate::contract::{EventFields, JsonText, Ref, Resolution, Result};

use super::payload::Raw;
use super::reference;
use super::report::{Drifted, Reconstruction, Reconstructions, Shown, Turn};
use super::resolve::Resolver;
use super::state::{In, Out, Wire, damaged};

/// Most references that are listed for one turn.
const SHOWN_MAX: usize = 100;

/// Most references that are listed for all turns, for each turn that may be listed.
const SHOWN_PER_LISTED: usize = 8;

/// Resolves references event by event. Keeps counts, and lists up to a bound.
#[derive(Debug)]
pub(super) struct Content {
    listed_max: usize,
    /// How many references may still be listed for turns.
    shown_left: usize,
    pub(super) exact: u64,
    pub(super) unavailable: u64,
    pub(super) drifted: Vec<Drifted>,
    pub(super) drifted_total: u64,
    pub(super) turns: Vec<Turn>,
    pub(super) reconstructions: Reconstructions,
}

/// What became of the references of one turn.
#[derive(Default)]
struct Residents {
    exact: u64,
    unavailable: u64,
    drifted: u64,
    /// Whether something was shown that is not recorded as a reference.
    unnamed: bool,
    shown: Vec<Shown>,
}

impl Residents {
    fn count(&mut self, resolution: Resolution) {
        match resolution {
            Resolution::Exact => self.exact += 1,
            Resolution::Unavailable => self.unavailable += 1,
            Resolution::Drifted => self.drifted += 1,
        }
    }

    fn reconstruction(&self) -> Reconstruction {
        if self.drifted > 0 {
            Reconstruction::No
        } else if self.unavailable > 0 || self.unnamed {
            Reconstruction::Partly
        } else {
            Reconstruction::Full
        }
    }
}

impl Content {
    pub(super) fn new(listed_max: usize) -> Self {
        Self {
            listed_max,
            shown_left: listed_max.saturating_mul(SHOWN_PER_LISTED),
            exact: 0,
            unavailable: 0,
            drifted: Vec::new(),
            drifted_total: 0,
            turns: Vec::new(),
            reconstructions: Reconstructions::default(),
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
                // What is no reference is for I7 to report.
                let Some((raw, named)) = named.and_then(|raw| Some((raw, reference::read(raw)?))) else {
                    return Ok(());
                };
                self.resolve(event, raw, &named, resolver).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn turn(&mut self, event: &dyn EventFields, payload: Raw<'_>, resolver: &dyn Resolver) -> Result<()> {
        let [turn_id, budget, used, parts, resident] =
            payload.pick(["turnId", "budget", "used", "parts", "resident"]);
        let listed = self.turns.len() < self.listed_max;
        let shown_max = if listed { self.shown_left.min(SHOWN_MAX) } else { 0 };
        let unnamed = !resident.is_some_and(|resident| resident.text().starts_with('['));
        let mut residents = Residents { unnamed, ..Residents::default() };
        for raw in resident.into_iter().flat_map(Raw::elements) {
            let Some(named) = reference::read(raw) else {
                residents.unnamed = true;
                continue;
            };
            let (resolution, held) = self.resolve(event, raw, &named, resolver)?;
            residents.count(resolution);
            if residents.shown.len() < shown_max {
                let drifted = resolution == Resolution::Drifted;
                let actual_hash = held.filter(|_| drifted).map(|held| held.into_owned().into());
                let (kind, id, hash) = (named.kind, named.id.clone(), named.hash.clone());
                residents.shown.push(Shown { kind, id, hash, resolution, actual_hash });
            }
        }
        let reconstruction = residents.reconstruction();
        self.reconstructions.count(reconstruction);
        self.shown_left = self.shown_left.saturating_sub(residents.shown.len());
        if listed {
            self.turns.push(Turn {
                event_id: event.id().to_owned(),
                turn_id: turn_id.map(keep),
                budget: budget.map(keep),
                used: used.map(keep),
                parts: parts.map(keep),
                reconstructable: residents.drifted == 0,
                reconstruction,
                exact: residents.exact,
                unavailable: residents.unavailable,
                drifted: residents.drifted,
                shown: residents.shown,
            });
        }
        Ok(())
    }

    pub(super) fn write(&self, out: &mut Out<'_>) -> Result<()> {
        u64::try_from(self.shown_left).unwrap_or(u64::MAX).write(out)?;
        [self.exact, self.unavailable, self.drifted_total].iter().try_for_each(|count| count.write(out))?;
        self.drifted.write(out)?;
        self.turns.write(out)?;
        self.reconstructions.write(out)
    }

    pub(super) fn read(listed_max: usize, from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            listed_max,
            shown_left: usize::try_from(u64::read(from)?).map_err(|_| damaged())?,
            exact: Wire::read(from)?,
            unavailable: Wire::read(from)?,
            drifted_total: Wire::read(from)?,
            drifted: Wire::read(from)?,
            turns: Wire::read(from)?,
            reconstructions: Wire::read(from)?,
        })
    }

    /// Resolves one reference and counts it; returns what is held beside.
    fn resolve<'a>(
        &mut self,
        event: &dyn EventFields,
        raw: Raw<'_>,
        named: &'a Ref,
        resolver: &'a dyn Resolver,
    ) -> Result<(Resolution, Option<Cow<'a, str>>)> {
        let held = resolver.held_hash(named)?;
        let resolution = named.resolve(held.as_deref());
        match resolution {
            Resolution::Exact => self.exact += 1,
            Resolution::Unavailable => self.unavailable += 1,
            Resolution::Drifted => {
                self.drifted_total += 1;
                if self.drifted.len() < self.listed_max {
                    self.drifted.push(Drifted {
                        event_id: event.id().to_owned(),
                        reference: keep(raw),
                        actual_hash: held.as_deref().unwrap_or_default().to_owned(),
                    });
                }
            }
        }
        Ok((resolution, held))
    }
}

fn keep(value: Raw<'_>) -> JsonText {
    JsonText::from_checked(value.text().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::contract::{Event, EventId, HostId, RefKind, Seq};

    /// Answers as the hash says.
    struct AsNamed;

    impl Resolver for AsNamed {
        fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
            Ok(match &*reference.hash {
                "exact" => Some("exact".into()),
                "gone" => None,
                _ => Some("other".into()),
            })
        }
    }

    fn content(listed_max: usize, payloads: &[Value]) -> Content {
        let mut content = Content::new(listed_max);
        for payload in payloads {
            let text = JsonText::parse(&payload.to_string()).unwrap();
            let (id, host) = (EventId::new("e").unwrap(), HostId::new("h").unwrap());
            let event = Event::new(id, host, Seq::ZERO, "context.assembled", text);
            content.step(&event, Raw::new(event.payload.as_str()), &AsNamed).unwrap();
        }
        content
    }

    fn resident() -> impl Strategy<Value = Value> {
        let reference = |hash: &'static str| json!({"kind": "note", "id": "n", "hash": hash, "range": 7});
        let one = prop_oneof![
            4 => Just(reference("exact")),
            2 => Just(reference("gone")),
            1 => Just(reference("drifted")),
            1 => Just(json!({"kind": "none", "id": "n", "hash": "exact"})),
        ];
        prop_oneof![
            8 => prop::collection::vec(one, 0..6).prop_map(Value::from),
            1 => Just(json!({"kind": "note", "id": "n", "hash": "exact"})),
            1 => Just(Value::Null),
        ]
    }

    proptest! {
        #[test]
        fn turns_are_what_a_plain_count_gives(
            residents in prop::collection::vec(resident(), 0..8),
            listed_max in 0..8_usize,
        ) {
            let payloads: Vec<Value> =
                residents.iter().map(|resident| json!({"turnId": "t", "resident": resident})).collect();
            let ours = content(listed_max, &payloads);
            let mut totals = (0, 0, 0, Reconstructions::default());
            for (n, resident) in residents.iter().enumerate() {
                let of = |hash: &str| {
                    let named = |one: &&Value| one["kind"] == "note" && one["hash"] == hash;
                    u64::try_from(resident.as_array().into_iter().flatten().filter(named).count()).unwrap()
                };
                let (exact, gone, drifted) = (of("exact"), of("gone"), of("drifted"));
                let whole = resident.as_array().is_some_and(|all| all.iter().all(|one| one["kind"] == "note"));
                let reconstruction = match (drifted, gone, whole) {
                    (0, 0, true) => Reconstruction::Full,
                    (0, ..) => Reconstruction::Partly,
                    _ => Reconstruction::No,
                };
                totals.0 += exact;
                totals.1 += gone;
                totals.2 += drifted;
                totals.3.count(reconstruction);
                prop_assert_eq!(n < listed_max, n < ours.turns.len());
                if let Some(turn) = ours.turns.get(n) {
                    prop_assert_eq!((turn.exact, turn.unavailable, turn.drifted), (exact, gone, drifted));
                    prop_assert_eq!(turn.reconstruction, reconstruction);
                    prop_assert_eq!(turn.reconstructable, drifted == 0);
                    let listed: Vec<&str> = turn.shown.iter().map(|shown| &*shown.hash).collect();
                    let named: Vec<&str> = resident.as_array().into_iter().flatten()
                        .filter(|one| one["kind"] == "note")
                        .map(|one| one["hash"].as_str().unwrap())
                        .collect();
                    prop_assert_eq!(listed, named);
                }
            }
            prop_assert_eq!((ours.exact, ours.unavailable, ours.drifted_total, ours.reconstructions), totals);
        }
    }

    #[test]
    fn lists_are_bounded_for_a_turn_and_in_all() {
        let one = |hash| json!({"kind": "page", "id": "p", "hash": hash});
        let payload = json!({"resident": vec![one("drifted"); SHOWN_MAX + 20]});
        let ours = content(15, &vec![payload; 20]);
        let listed: Vec<usize> = ours.turns.iter().map(|turn| turn.shown.len()).collect();
        // 8 for each of 15 that may be listed: all of one turn, the rest of the next.
        assert_eq!(listed, [&[SHOWN_MAX, 20][..], &[0; 13]].concat());
        assert!(ours.turns.iter().all(|turn| turn.drifted == 120));
        assert_eq!((ours.drifted.len(), ours.drifted_total, ours.reconstructions.no), (15, 2400, 20));
        let shown = ours.turns.first().and_then(|turn| turn.shown.first()).unwrap();
        assert_eq!((shown.kind, shown.actual_hash.as_deref()), (RefKind::Page, Some("other")));
    }
}
