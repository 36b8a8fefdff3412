//! Places from an index against places from memory, on orders that are right and on wrong ones.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::contract::{Event, EventId, HostId, JsonText, Seq};
use crate::replay::{NoResolver, Replay, ReplayOptions, SeenIds};
use crate::store::{Options, Store};

/// An index that says of each event where it stands in a sequence, be it the order or not.
struct Said {
    positions: HashMap<(u32, u64), u64>,
    ids: HashMap<EventId, StoredEvent>,
}

impl Said {
    fn of(events: &[StoredEvent]) -> Self {
        let key = |event: &StoredEvent| (event.record().host.to_native(), event.seq().get());
        Self {
            positions: (0..).zip(events).map(|(position, event)| (key(event), position)).collect(),
            ids: events.iter().map(|event| (event.id().to_owned(), event.clone())).collect(),
        }
    }
}

impl Held for Said {
    fn position(&self, host: u32, seq: u64) -> Result<Option<u64>> {
        Ok(self.positions.get(&(host, seq)).copied())
    }

    fn get(&self, id: IdRef<'_>) -> Result<Option<StoredEvent>> {
        Ok(self.ids.get(&id.to_owned()).cloned())
    }

    fn missing(&self) -> u64 {
        let named =
            self.ids.values().flat_map(|event| event.causes().map(IdRef::to_owned).collect::<Vec<_>>());
        let named: std::collections::HashSet<EventId> =
            named.filter(|id| !self.ids.contains_key(id)).collect();
        u64::try_from(named.len()).unwrap()
    }
}

/// Replays a sequence and returns the report as JSON.
fn report<P: CausePlaces<StoredEvent>>(events: &[StoredEvent], places: P) -> Result<String> {
    let options = ReplayOptions::new().keep_order(true);
    let mut replay = Replay::with_places(&options, &NoResolver, places);
    events.iter().try_for_each(|event| replay.push(event))?;
    Ok(serde_json::to_string(&replay.finish()?).unwrap())
}

/// Events of a store, in the order: some causes came late, some never.
fn ordered() -> impl Strategy<Value = Vec<StoredEvent>> {
    let one = (0..3_u32, 0..4_u32, prop::collection::vec((0..24_usize, any::<bool>()), 0..3));
    prop::collection::vec(one, 1..24).prop_map(|drawn| {
        let store = Store::in_memory(Options::new().background(false)).unwrap();
        let id = |number: usize| EventId::new(&format!("e{number}")).unwrap();
        for (number, (host, kind, causes)) in drawn.into_iter().enumerate() {
            let causes = causes
                .into_iter()
                .map(|(cause, late)| if late && cause % 3 == 0 { cause } else { cause % number.max(1) });
            let (kind, payload) = match kind {
                0 => ("capability.activated", r#"{"capability":"c","classUsed":"R"}"#),
                1 => ("capability.revoked", r#"{"capability":"c","cause":"x"}"#),
                _ => ("turn.started", r#"{"turnId":"t"}"#),
            };
            let (host, seq) = (format!("h{host}"), u64::try_from(number).unwrap());
            let payload = JsonText::parse(payload).unwrap();
            let event =
                Event::new(id(number), HostId::new(&host).unwrap(), Seq::new(seq).unwrap(), kind, payload)
                    .with_causes(causes.map(id));
            // One that closes a cycle is refused.
            let _ = store.append(&event);
        }
        store.ordered().unwrap().map(Result::unwrap).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_index_answers_as_memory_does(events in ordered(), slots in 1..9_usize) {
        let held = HeldPlaces::with_recent(Said::of(&events), slots);
        let ours = report(&events, held).unwrap();
        prop_assert_eq!(&ours, &report(&events, SeenIds::new()).unwrap());
        prop_assert!(ours.contains(r#""stable":true"#));
    }

    #[test]
    fn every_wrong_neighbour_swap_is_caught(events in ordered(), slots in 1..9_usize) {
        for at in 1..events.len() {
            let mut swapped = events.clone();
            swapped.swap(at - 1, at);
            // The index is as wrong as the sequence: the proof finds it, and says what memory would.
            let ours = report(&swapped, HeldPlaces::with_recent(Said::of(&swapped), slots)).unwrap();
            prop_assert!(ours.contains(r#""stable":false"#), "swap before {}", at);
            prop_assert_eq!(ours, report(&swapped, SeenIds::new()).unwrap());
            // The index and the sequence disagree: one of them is damaged, or the proof finds the swap.
            match report(&swapped, HeldPlaces::with_recent(Said::of(&events), slots)) {
                Ok(ours) => prop_assert!(ours.contains(r#""stable":false"#), "swap before {}", at),
                Err(error) => prop_assert_eq!(error.kind(), crate::contract::ErrorKind::Corrupt),
            }
        }
    }

    #[test]
    fn another_sequence_is_judged_as_memory_judges_it(
        (events, slots) in (ordered().prop_flat_map(|events| Just(events).prop_shuffle()), 1..9_usize),
    ) {
        let ours = report(&events, HeldPlaces::with_recent(Said::of(&events), slots)).unwrap();
        prop_assert_eq!(ours, report(&events, SeenIds::new()).unwrap());
    }
}
