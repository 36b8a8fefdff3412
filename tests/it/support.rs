//! What the integration tests share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use causelog::vfs::{MemoryVfs, OpenMode, Vfs};
use causelog::{Cursor, Event, EventFields, EventId, HostId, JsonText, Options, Seq, Store};

/// Makes a valid event with a payload that tells it apart.
pub(crate) fn event(host: &str, seq: u64, causes: &[&Event]) -> Event {
    let id = EventId::new(&format!("{host}-{seq}")).unwrap();
    named(id, host, seq, causes.iter().map(|cause| cause.id.clone()).collect())
}

/// Makes a valid event with this id and these causes.
pub(crate) fn named(id: EventId, host: &str, seq: u64, causes: Vec<EventId>) -> Event {
    let payload =
        format!(r#"{{"turnId":"t{seq}","note":"{}"}}"#, "x".repeat(usize::try_from(seq % 40).unwrap()));
    let host = HostId::new(host).unwrap();
    Event::new(id, host, Seq::new(seq).unwrap(), "turn.started", JsonText::parse(&payload).unwrap())
        .with_causes(causes)
        .with_at(1_700_000_000_000.0)
}

/// Options without a thread of the store's own and with small segments.
pub(crate) fn small() -> Options {
    Options::new().background(false).segment_bytes_max(64 << 10)
}

/// Reads all events of a store, by `(host, seq)`.
pub(crate) fn held(store: &Store) -> Vec<Event> {
    store.events().unwrap().map(|event| event.unwrap().to_event().unwrap()).collect()
}

/// Returns the ids of events.
pub(crate) fn ids(events: impl Iterator<Item = causelog::Result<causelog::StoredEvent>>) -> Vec<String> {
    events.map(|event| event.unwrap().id().to_string()).collect()
}

/// Sorts events by `(host, seq)`.
pub(crate) fn sorted(events: &[Event]) -> Vec<Event> {
    let mut sorted = events.to_vec();
    sorted.sort_by(|a, b| (&a.host, a.seq).cmp(&(&b.host, b.seq)));
    sorted
}

/// Returns the ids of events in the order, computed from the events alone.
pub(crate) fn in_order(events: &[Event]) -> Vec<String> {
    let order = causelog::order::linearize(events).unwrap();
    order.into_iter().map(|at| events[at].id.as_ref().to_string()).collect()
}

/// Checks that a store holds exactly these events, by every verb that lists them.
pub(crate) fn holds_exactly(store: &Store, events: &[Event]) {
    let sorted = sorted(events);
    assert_eq!(held(store), sorted);
    assert_eq!(ids(store.ordered().unwrap()), in_order(&sorted));
    assert_eq!(ids(store.since(&Cursor::default()).unwrap()).len(), events.len());
    assert_eq!(store.stats().unwrap().events, events.len() as u64);
    for event in events {
        assert_eq!(store.get(&event.id).unwrap().unwrap().to_event().unwrap(), *event);
    }
}

/// Path of a segment's active form in a store at `/s`.
pub(crate) fn active(number: u64) -> PathBuf {
    PathBuf::from(format!("/s/log/{number:010}.active"))
}

/// Path of a segment's sealed form in a store at `/s`.
pub(crate) fn sealed(number: u64) -> PathBuf {
    PathBuf::from(format!("/s/log/{number:010}.sealed"))
}

/// Reads a whole file.
pub(crate) fn read(vfs: &MemoryVfs, path: &Path) -> Vec<u8> {
    vfs.open(path, OpenMode::Read).unwrap().map().unwrap().to_vec()
}

/// Overwrites bytes of a file.
pub(crate) fn overwrite(vfs: &MemoryVfs, path: &Path, offset: usize, bytes: &[u8]) {
    vfs.open(path, OpenMode::Write).unwrap().write_at(bytes, offset as u64).unwrap();
}

/// Cuts or grows a file.
pub(crate) fn resize(vfs: &MemoryVfs, path: &Path, bytes: usize) {
    vfs.open(path, OpenMode::Write).unwrap().set_size(bytes as u64).unwrap();
}

/// Hashes every file.
pub(crate) fn hashes(vfs: &MemoryVfs) -> BTreeMap<PathBuf, blake3::Hash> {
    vfs.paths().into_iter().map(|path| (path.clone(), blake3::hash(&read(vfs, &path)))).collect()
}

/// A frame in a segment's active form, found by its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePlace {
    pub(crate) offset: usize,
    pub(crate) end: usize,
    pub(crate) is_event: bool,
}

/// Lists the frames of an active segment.
pub(crate) fn frames(bytes: &[u8]) -> Vec<FramePlace> {
    let header = |at: usize| {
        let head = bytes.get(at..at + 16)?;
        let known = (1..=4).contains(&head[8]) && head[9..12] == [0, 0x5E, 0xCA];
        known.then(|| (u32::from_le_bytes(head[..4].try_into().unwrap()) as usize, head[8] == 1))
    };
    let mut at = (0..bytes.len()).step_by(8).find(|at| header(*at).is_some()).unwrap_or(bytes.len());
    let mut found = Vec::new();
    while let Some((body, is_event)) = header(at) {
        let end = at + (16 + body).next_multiple_of(8);
        if end > bytes.len() {
            break;
        }
        found.push(FramePlace { offset: at, end, is_event });
        at = end;
    }
    found
}

/// A small random number generator; the same seed gives the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns the next number (`SplitMix64`).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

/// Reads a number from the environment.
pub(crate) fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Makes a valid event of about 3 KB, so that few fill a segment.
pub(crate) fn bulky(host: &str, seq: u64) -> Event {
    let payload = format!(r#"{{"turnId":"t{seq}","note":"{}"}}"#, "y".repeat(3000));
    Event { payload: JsonText::parse(&payload).unwrap(), ..event(host, seq, &[]) }
}
