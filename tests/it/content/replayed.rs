//! Replays of a store with its content, beside a plain count.

use causelog::vfs::MemoryVfs;
use causelog::{Event, JsonText, NoResolver, ReplayOptions, StoredContent, replay};
use proptest::prelude::*;
use serde_json::json;

use super::{blake3_of, content, sha256_of, store_on};
use crate::support::event;

/// What is done with one of eight pieces of content.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u64),
    Shred(u64),
    Evict(u64),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..8_u64).prop_map(Step::Put),
        2 => (0..8_u64).prop_map(Step::Shred),
        1 => (0..8_u64).prop_map(Step::Evict),
        1 => Just(Step::Reopen),
    ]
}

/// A context of pieces that are named by one hash or the other; only the default one leads to content that was put so.
fn shown(seq: u64, pieces: &[(u64, bool)]) -> Event {
    let resident: Vec<_> = pieces
        .iter()
        .map(|(piece, sha)| {
            let bytes = content(*piece, 100);
            let address = if *sha { sha256_of(&bytes) } else { blake3_of(&bytes) };
            json!({"kind": "note", "id": format!("n{piece}"), "hash": address.to_string()})
        })
        .collect();
    let payload = json!({"turnId": "t", "budget": 1, "used": 1, "parts": {}, "resident": resident, "reachableCount": 0});
    let payload = JsonText::parse(&payload.to_string()).unwrap();
    Event { kind: "context.assembled".into(), payload, ..event("h", seq, &[]) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn references_are_what_a_plain_count_gives(
        steps in prop::collection::vec(step(), 0..20),
        turns in prop::collection::vec(prop::collection::vec((0..8_u64, any::<bool>()), 0..6), 0..4),
    ) {
        let vfs = MemoryVfs::new();
        let mut store = store_on(&vfs);
        for (seq, pieces) in turns.iter().enumerate() {
            store.append(&shown(seq as u64, pieces)).unwrap();
        }
        let mut held = [false; 8];
        for step in steps {
            let blobs = store.blobs();
            match step {
                Step::Put(n) => {
                    blobs.put(&content(n, 100)).unwrap();
                    held[n as usize] = true;
                }
                Step::Shred(n) => {
                    blobs.shred(&blake3_of(&content(n, 100))).unwrap();
                    held[n as usize] = false;
                }
                Step::Evict(n) => {
                    blobs.evict(&blake3_of(&content(n, 100))).unwrap();
                    held[n as usize] = false;
                }
                Step::Reopen => {
                    drop(blobs);
                    store.close().unwrap();
                    store = store_on(&vfs);
                }
            }
            let named = || turns.iter().flatten();
            let exact = named().filter(|(n, sha)| !sha && held[*n as usize]).count() as u64;
            let unavailable = named().count() as u64 - exact;
            let blobs = store.blobs();
            let options = ReplayOptions::new();
            for report in [
                replay(store.ordered().unwrap(), &options, &StoredContent::new(&blobs)).unwrap(),
                replay(store.ordered().unwrap(), &options, &blobs).unwrap(),
            ] {
                prop_assert_eq!((report.refs.exact, report.refs.unavailable), (exact, unavailable));
                prop_assert!(report.ok && report.refs.drifted.is_empty());
            }
        }
        let without = replay(store.ordered().unwrap(), &ReplayOptions::new(), &NoResolver).unwrap();
        prop_assert_eq!(without.refs.exact, 0);
    }
}
