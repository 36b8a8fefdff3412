//! Random events, a plain model of them, and their sealed form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use rkyv::util::AlignedVec;

use crate::codec::{
    CauseRecord, Control, ControlState, EventRecord, Form, RecordBuffer, SegmentHeader, UNRESOLVED,
};
use crate::contract::{EventId, IdRef, cmp_utf16};
use crate::io::{MemoryVfs, OpenMode, ProofBudget, Vfs};
use crate::log::seal::{SealEntry, SealSource, SealedSummary, seal};
use crate::log::sealed::SealedSegment;

pub(super) const HOSTS: [&str; 5] = ["gateway", "phone", "\u{ffff}", "\u{10000}", "a"];
pub(super) const TYPES: [&str; 4] = ["turn.started", "turn.ended", "note.kept", "never.used"];
pub(super) const SECRET: [u8; 16] = [3; 16];
pub(super) const STORE: [u8; 16] = [1; 16];

/// An event of the model; its ordinal is its index.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) host: u32,
    pub(super) seq: u64,
    pub(super) id: EventId,
    pub(super) kind: u32,
    /// The cause, and whether it was held.
    pub(super) causes: Vec<(EventId, bool)>,
    pub(super) payload: String,
}

fn an_id() -> impl Strategy<Value = EventId> {
    prop_oneof![
        any::<[u8; 16]>().prop_map(EventId::from_uuid_bytes),
        "[a-z\u{10000}]{1,40}".prop_map(|text| EventId::new(&text).unwrap()),
    ]
}

/// Few ids, so that several events name the same one.
fn a_cause() -> impl Strategy<Value = (EventId, bool)> {
    (prop_oneof![an_id(), (0u8..4).prop_map(|n| EventId::new(&format!("cause {n}")).unwrap())], any::<bool>())
}

fn a_payload() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => "[a-z]{0,60}",
        4 => (100usize..9000).prop_map(|bytes| "x".repeat(bytes)),
        1 => (30_000usize..120_000).prop_map(|bytes| "y".repeat(bytes)),
    ]
}

/// Events of several hosts in arrival order; `seq` with gaps; ids without repetition.
pub(super) fn events(most: usize) -> impl Strategy<Value = Vec<Plain>> {
    let one = (0..4u32, 1u64..4, an_id(), 0..3u32, proptest::collection::vec(a_cause(), 0..3), a_payload());
    proptest::collection::vec(one, 0..most).prop_map(|drawn| {
        let mut next = [0u64, 100, 1 << 40, 0, 0];
        let mut seen = std::collections::BTreeSet::new();
        let mut events = Vec::new();
        for (host, step, id, kind, causes, payload) in drawn {
            if seen.insert(id.clone()) {
                let seq = next[host as usize];
                next[host as usize] += step;
                events.push(Plain { host, seq, id, kind, causes, payload });
            }
        }
        events
    })
}

pub(super) struct Fixture {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    pub(super) budget: Arc<ProofBudget>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self::on(Arc::new(MemoryVfs::new()))
    }

    pub(super) fn on(vfs: Arc<dyn Vfs>) -> Self {
        let dir = PathBuf::from("/store/log");
        vfs.create_dir_all(&dir).unwrap();
        Self { vfs, dir, budget: ProofBudget::new(1 << 20) }
    }

    pub(super) fn seal(&self, number: u64, events: &[Plain]) -> SealedSummary {
        with_source(number, events, |source| seal(&self.vfs, &self.dir, source)).unwrap()
    }

    pub(super) fn open(&self, path: &Path) -> crate::contract::Result<Arc<SealedSegment>> {
        SealedSegment::open(&self.vfs, path, &self.budget).map(Arc::new)
    }

    pub(super) fn sealed(&self, number: u64, events: &[Plain]) -> Arc<SealedSegment> {
        self.open(&self.seal(number, events).path).unwrap()
    }

    pub(super) fn read(&self, path: &Path) -> Vec<u8> {
        let file = self.vfs.open(path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
        bytes
    }

    pub(super) fn write(&self, path: &Path, bytes: &[u8]) {
        if self.vfs.exists(path).unwrap() {
            self.vfs.remove(path).unwrap();
        }
        self.vfs.open(path, OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    }
}

/// Archives the events as an active segment holds them and calls `f` with the source.
pub(super) fn with_source<T>(number: u64, events: &[Plain], f: impl FnOnce(SealSource<'_>) -> T) -> T {
    let mut state = ControlState::default();
    for name in HOSTS {
        state.apply(&Control::HostDefined { name: name.to_owned() }).unwrap();
    }
    for name in TYPES {
        state.apply(&Control::TypeDefined { name: name.to_owned() }).unwrap();
    }
    let header = SegmentHeader {
        form: Form::Sealed,
        compatible: 0,
        incompatible: 0,
        store: STORE,
        segment: number,
        prev_bytes: 4096,
        prev_root: [2; 32],
        secret: SECRET,
        state: state.clone(),
    };
    let mut buffer = RecordBuffer::default();
    let mut bodies: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut entries = Vec::new();
    for (event, ordinal) in events.iter().zip(0u32..) {
        let offset = 128 + u64::from(ordinal) * 8;
        bodies.insert(offset, archived(&mut buffer, event));
        entries.push(SealEntry { host: event.host, seq: event.seq, ordinal, offset });
        state.count_event(event.host, event.seq, &event.id.to_string()).unwrap();
    }
    let mut read = |offset: u64, body: &mut AlignedVec<16>| {
        body.extend_from_slice(&bodies[&offset]);
        Ok(())
    };
    f(SealSource { header, state_after: state, entries, read: &mut read })
}

fn archived(buffer: &mut RecordBuffer, event: &Plain) -> Vec<u8> {
    let causes: Vec<CauseRecord<'_>> = event
        .causes
        .iter()
        .map(|(id, held)| CauseRecord {
            id: id.as_ref().into(),
            host: if *held { 1 } else { UNRESOLVED },
            seq: u64::from(*held),
        })
        .collect();
    let record = EventRecord {
        seq: event.seq,
        at: 1.5,
        id: event.id.as_ref().into(),
        host: event.host,
        kind: event.kind,
        v: 1,
        causes: &causes,
        payload: &event.payload,
        extra: "",
    };
    buffer.archive(&record).unwrap().to_vec()
}

/// Indexes of the events in the order in which a sealed file holds them.
pub(super) fn file_order(events: &[Plain]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&events[*a], &events[*b]);
        cmp_utf16(HOSTS[a.host as usize], HOSTS[b.host as usize]).then(a.seq.cmp(&b.seq))
    });
    order
}

/// An event that nothing is asked about but its id.
pub(super) fn plain(host: u32, seq: u64, id: &str) -> Plain {
    let payload = "{}".to_owned();
    Plain { host, seq, id: EventId::new(id).unwrap(), kind: 0, causes: Vec::new(), payload }
}

pub(super) fn fingerprint(id: IdRef<'_>) -> crate::codec::Fingerprint {
    crate::codec::Fingerprint::of(&SECRET, id)
}

/// Runs every query there is; for files that may hold anything.
pub(super) fn ask_everything(segment: &Arc<SealedSegment>, events: &[Plain]) -> usize {
    let mut errors = 0;
    let mut note = |failed: bool| errors += usize::from(failed);
    note(segment.header().is_err());
    note(segment.state_after().is_err());
    for host in 0..HOSTS.len() as u32 {
        for seq in [0, 1, 7, u64::MAX] {
            match segment.seek(host, seq) {
                Ok(cursor) => cursor.for_each(|record| note(record.is_err())),
                Err(_) => note(true),
            }
        }
    }
    let mut offsets = vec![0, 64, 1 << 20, u64::MAX, u64::MAX - 7];
    let ids = events.iter().flat_map(|event| event.causes.iter().map(|(id, _)| id).chain([&event.id]));
    for id in ids {
        let print = fingerprint(id.as_ref());
        for hits in [segment.candidates(print), segment.unresolved(print)] {
            match hits {
                Ok(hits) => offsets.extend(hits),
                Err(_) => note(true),
            }
        }
    }
    for list in (0..=TYPES.len() as u32).map(|kind| segment.of_kind(kind)).chain([segment.arrivals()]) {
        match list {
            Ok(list) => offsets.extend(list),
            Err(_) => note(true),
        }
    }
    for ordinal in [0, 3, u32::MAX] {
        note(segment.arrival(ordinal).is_err());
    }
    for offset in offsets {
        match segment.record_at(offset) {
            Ok(record) => {
                drop((record.get().id.get().to_string(), record.ordinal(), record.get().payload.len()));
            }
            Err(_) => note(true),
        }
    }
    errors
}
