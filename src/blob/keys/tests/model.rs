//! Random operations against a plain model, with reopening.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fixture::{Fixture, address, data_key, entry, record, unwrapped};
use crate::blob::keys::{Access, End, SlotState};
use crate::codec::EntryKind;

#[derive(Clone, Debug)]
enum Step {
    Allocate { subject: u8 },
    Wrap { pick: prop::sample::Index, subject: u8 },
    End { pick: prop::sample::Index, shred: bool },
    Pin { pick: prop::sample::Index, pinned: bool },
    Revive { n: u8 },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let pick = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0..4u8).prop_map(|subject| Step::Allocate { subject }),
        3 => (pick(), 0..4u8).prop_map(|(pick, subject)| Step::Wrap { pick, subject }),
        2 => (pick(), any::<bool>()).prop_map(|(pick, shred)| Step::End { pick, shred }),
        1 => (pick(), any::<bool>()).prop_map(|(pick, pinned)| Step::Pin { pick, pinned }),
        1 => (0..40u8).prop_map(|n| Step::Revive { n }),
        1 => Just(Step::Reopen),
    ]
}

/// What is known of a record; its number is its index.
struct Plain {
    slot: u32,
    state: SlotState,
    subjects: Vec<u8>,
}

/// Without a name for zero.
fn name(subject: u8) -> Option<String> {
    (subject > 0).then(|| format!("subject {subject}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn keys_and_ledger_are_what_a_plain_model_says(steps in proptest::collection::vec(step(), 1..60)) {
        let fixture = Fixture::new();
        let (mut keys, mut ledger) = (fixture.open(), fixture.ledger());
        let mut records: Vec<Plain> = Vec::new();
        let mut tombstones: BTreeMap<u8, bool> = BTreeMap::new();
        for step in steps {
            let picked = |pick: prop::sample::Index| (!records.is_empty()).then(|| pick.index(records.len()));
            match step {
                Step::Allocate { subject } => {
                    let n = records.len() as u8;
                    let number = keys.subject_or_create(name(subject).as_deref()).unwrap();
                    let slot = keys.allocate(record(n), number, &data_key(n)).unwrap();
                    let state = SlotState::Live { pinned: false };
                    records.push(Plain { slot, state, subjects: vec![subject] });
                }
                Step::Wrap { pick, subject } => {
                    let Some(n) = picked(pick) else { continue };
                    let number = keys.subject_or_create(name(subject).as_deref()).unwrap();
                    let plain = &mut records[n];
                    if plain.subjects.contains(&subject) {
                        continue;
                    }
                    let added = keys.add_wrap(plain.slot, record(n as u8), number, &data_key(n as u8));
                    prop_assert_eq!(added.is_ok(), matches!(plain.state, SlotState::Live { .. }));
                    if added.is_ok() {
                        plain.subjects.push(subject);
                    }
                }
                Step::End { pick, shred } => {
                    let Some(n) = picked(pick) else { continue };
                    let plain = &mut records[n];
                    let how = if shred { End::Shredded } else { End::Evicted };
                    if shred {
                        ledger.append(&[entry(EntryKind::Shredded, n as u8)]).unwrap();
                        tombstones.insert(n as u8, true);
                    }
                    keys.end(plain.slot, record(n as u8), how).unwrap();
                    plain.subjects.clear();
                    plain.state = match (plain.state, how) {
                        (SlotState::Shredded, _) | (_, End::Shredded) => SlotState::Shredded,
                        _ => SlotState::Evicted,
                    };
                }
                Step::Pin { pick, pinned } => {
                    let Some(n) = picked(pick) else { continue };
                    let plain = &mut records[n];
                    keys.set_pinned(plain.slot, record(n as u8), pinned).unwrap();
                    if matches!(plain.state, SlotState::Live { .. }) {
                        plain.state = SlotState::Live { pinned };
                    }
                }
                Step::Revive { n } => {
                    ledger.append(&[entry(EntryKind::Revived, n)]).unwrap();
                    tombstones.entry(n).and_modify(|blocks| *blocks = false);
                }
                Step::Reopen => (keys, ledger) = (fixture.open(), fixture.ledger()),
            }
        }
        let held: u32 = keys.slots();
        let followed = fixture.try_ledger(Access::Read).unwrap();
        for (keys, ledger) in [(keys, ledger), (fixture.reader(), followed)] {
            prop_assert_eq!(keys.slots(), held);
            keys.verify(&mut Err).unwrap();
            for (plain, n) in records.iter().zip(0u8..) {
                prop_assert_eq!(keys.state(plain.slot, record(n)).unwrap(), plain.state);
                let lives = matches!(plain.state, SlotState::Live { .. });
                prop_assert_eq!(unwrapped(&keys, plain.slot, n), lives.then_some(n));
                for subject in 0..4 {
                    let Some(number) = keys.subject(name(subject).as_deref()).unwrap() else { continue };
                    let is_held = keys.is_held_by(plain.slot, record(n), number).unwrap();
                    prop_assert_eq!(is_held, plain.subjects.contains(&subject));
                }
            }
            prop_assert_eq!(ledger.shredded(), tombstones.len() as u64);
            for n in 0..60 {
                prop_assert_eq!(ledger.is_shredded(&address(n)), tombstones.contains_key(&n));
                prop_assert_eq!(ledger.blocks(&address(n)), tombstones.get(&n) == Some(&true));
            }
        }
    }
}
