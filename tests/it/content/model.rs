//! Random work on content beside a plain model: a map from address to what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use causelog::vfs::{FaultyVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{AddressKind, BlobState, Options, PutOptions, Store, verify};
use proptest::prelude::*;

use super::{AT, blake3_of, content, sha256_of};
use crate::support::{env_number, event, small};

/// Contents that the work is about.
const CONTENTS: u64 = 6;

#[derive(Clone, Debug)]
enum Step {
    Put {
        which: u64,
        sha256: bool,
        subject: Option<u8>,
        revive: bool,
    },
    Shred {
        which: u64,
        sha256: bool,
    },
    Evict {
        which: u64,
    },
    Append,
    Reopen,
    /// The power goes; what is not synced may be lost.
    Crash {
        seed: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let which = || 0..CONTENTS;
    prop_oneof![
        6 => (which(), any::<bool>(), proptest::option::of(0..3u8), any::<bool>())
            .prop_map(|(which, sha256, subject, revive)| Step::Put { which, sha256, subject, revive }),
        2 => (which(), any::<bool>()).prop_map(|(which, sha256)| Step::Shred { which, sha256 }),
        2 => which().prop_map(|which| Step::Evict { which }),
        2 => Just(Step::Append),
        1 => Just(Step::Reopen),
        2 => any::<u64>().prop_map(|seed| Step::Crash { seed }),
    ]
}

/// What is known of one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    state: BlobState,
    /// It is found by its SHA-256 too.
    sha256: bool,
    tombstone: bool,
    /// It was put again since, on purpose: the ledger says so at once, the content is synced later.
    revived: bool,
    /// A power cut may have taken what was known of its further address, and left the tombstone alone.
    unsure: bool,
}

const ABSENT: Known =
    Known { state: BlobState::Absent, sha256: false, tombstone: false, revived: false, unsure: false };

#[derive(Clone, Debug, Default)]
struct Model {
    now: BTreeMap<u64, Known>,
    /// As it was when everything was last synced.
    synced: BTreeMap<u64, Known>,
    /// What each has been since.
    since: BTreeMap<u64, Vec<BlobState>>,
}

impl Model {
    fn set(&mut self, which: u64, known: Known) {
        self.now.insert(which, known);
        self.since.entry(which).or_default().push(known.state);
    }

    fn sync(&mut self) {
        self.synced = self.now.clone();
        self.since.clear();
    }
}

fn bytes_of(which: u64) -> Vec<u8> {
    content(which, [0, 10, 3000, 30_000, 66_000, (4 << 20) + 1][which as usize % 6])
}

fn options(vfs: Arc<dyn Vfs>) -> Options {
    small().pack_bytes_max(96 << 10).vfs(vfs)
}

struct Run {
    base: MemoryVfs,
    faulty: FaultyVfs,
    store: Option<Store>,
    model: Model,
    seq: u64,
}

impl Run {
    fn new() -> Self {
        let base = MemoryVfs::new();
        drop(Store::create(AT, options(Arc::new(base.clone()))).unwrap());
        let mut run = Self {
            faulty: FaultyVfs::new(Arc::new(base.clone())),
            base,
            store: None,
            model: Model::default(),
            seq: 0,
        };
        run.open();
        run
    }

    fn open(&mut self) {
        self.faulty = FaultyVfs::recording(Arc::new(self.base.clone()));
        self.base.paths().iter().for_each(|path| drop(self.faulty.open(path, OpenMode::Read).unwrap()));
        let store = Store::open(AT, options(Arc::new(self.faulty.clone()))).unwrap();
        assert!(store.opening().content_damage.is_empty(), "{:?}", store.opening().content_damage);
        self.store = Some(store);
    }

    fn known(&self, which: u64) -> Known {
        self.model.now.get(&which).copied().unwrap_or(ABSENT)
    }

    fn take(&mut self, step: &Step) {
        let store = self.store.clone().unwrap();
        let blobs = store.blobs();
        match *step {
            Step::Put { which, sha256, subject, revive } => {
                let mut how = PutOptions::new().keep_shredded(!revive);
                if sha256 {
                    how = how.address(AddressKind::Sha256);
                }
                if let Some(subject) = subject {
                    how = how.subject(format!("subject {subject}"));
                }
                blobs.put_with(&bytes_of(which), &how).unwrap();
                let before = self.known(which);
                if before.state == BlobState::Shredded && !revive && !before.revived {
                    return;
                }
                let was_held = before.state == BlobState::Resident;
                // What was known by a further address is again, unless it is so large that it was streamed.
                let restored = blobs.has(&sha256_of(&bytes_of(which))).unwrap();
                let found = if before.unsure && !sha256 {
                    restored
                } else if was_held || which != 5 {
                    before.sha256 || sha256
                } else {
                    sha256
                };
                self.model.set(
                    which,
                    Known {
                        state: BlobState::Resident,
                        sha256: found,
                        revived: before.tombstone,
                        unsure: false,
                        ..before
                    },
                );
            }
            Step::Shred { which, sha256 } => {
                let before = self.known(which);
                let by_sha = sha256 && before.sha256;
                let bytes = bytes_of(which);
                let address = if by_sha { sha256_of(&bytes) } else { blake3_of(&bytes) };
                let shredded = blobs.shred(&address).unwrap();
                let is_held = matches!(before.state, BlobState::Resident | BlobState::Evicted);
                assert_eq!(shredded, is_held, "{before:?}");
                if is_held {
                    let after =
                        Known { state: BlobState::Shredded, tombstone: true, revived: false, ..before };
                    self.model.set(which, after);
                    self.model.synced.insert(which, after);
                }
            }
            Step::Evict { which } => {
                let before = self.known(which);
                assert_eq!(
                    blobs.evict(&blake3_of(&bytes_of(which))).unwrap(),
                    before.state == BlobState::Resident
                );
                if before.state == BlobState::Resident {
                    self.model.set(which, Known { state: BlobState::Evicted, ..before });
                }
            }
            Step::Append => {
                self.seq += 1;
                store.append(&event("a", self.seq, &[])).unwrap();
                self.model.sync();
            }
            Step::Reopen => {
                drop(blobs);
                self.store = None;
                store.close().unwrap();
                self.model.sync();
                self.open();
            }
            Step::Crash { seed } => {
                let image = self.faulty.crash(seed).unwrap();
                std::mem::forget((blobs, store, self.store.take()));
                self.base = image;
                self.open();
                self.settle();
            }
        }
    }

    /// After a crash, what was not synced is as it was, or as it became.
    fn settle(&mut self) {
        let blobs = self.store.as_ref().unwrap().blobs();
        for which in 0..CONTENTS {
            let bytes = bytes_of(which);
            let synced = self.model.synced.get(&which).copied().unwrap_or(ABSENT);
            let state = blobs.state(&blake3_of(&bytes)).unwrap();
            let now = self.known(which);
            let since = self.model.since.get(&which).is_some_and(|since| since.contains(&state));
            let may = since
                || state == synced.state
                || state == now.state
                || (state, now.state) == (BlobState::Resident, BlobState::Evicted);
            assert!(may, "content {which} is {state:?} and was {synced:?}, then {now:?}");
            let sha256 = blobs.state(&sha256_of(&bytes)).unwrap() == state && state != BlobState::Absent;
            let tombstone = synced.tombstone || now.tombstone;
            let unsure = state == BlobState::Shredded && sha256;
            let after = Known { state, sha256, tombstone, revived: now.revived, unsure };
            self.model.set(which, after);
        }
        self.model.sync();
    }

    fn check(&self) {
        let blobs = self.store.as_ref().unwrap().blobs();
        let mut resident = 0;
        for which in 0..CONTENTS {
            let bytes = bytes_of(which);
            let known = self.known(which);
            assert_eq!(blobs.state(&blake3_of(&bytes)).unwrap(), known.state, "content {which}");
            assert_eq!(blobs.is_shredded(&blake3_of(&bytes)).unwrap(), known.tombstone, "content {which}");
            let held = blobs.get(&blake3_of(&bytes)).unwrap();
            let is_resident = known.state == BlobState::Resident;
            assert_eq!(held.is_some(), is_resident);
            assert!(held.is_none_or(|held| held == bytes));
            if is_resident {
                resident += 1;
                assert_eq!(blobs.get(&sha256_of(&bytes)).unwrap().is_some(), known.sha256, "content {which}");
            }
        }
        assert_eq!(blobs.stats().unwrap().resident, resident);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(env_number("CAUSELOG_MODEL_CASES", 40)).unwrap(),
        ..ProptestConfig::default()
    })]

    #[test]
    fn content_is_what_the_model_says(steps in proptest::collection::vec(step(), 1..24)) {
        let mut run = Run::new();
        for step in &steps {
            run.take(step);
            run.check();
        }
        let store = run.store.take().unwrap();
        store.close().unwrap();
        let report = verify(AT, &options(Arc::new(run.base.clone())), &()).unwrap();
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}
