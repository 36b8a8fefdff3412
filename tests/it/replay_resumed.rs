//! Replays of a store that are saved and taken up again, against replays from the start.

use std::path::Path;

use causelog::{
    CurrentHashes, ErrorKind, Event, EventFields, EventId, HostId, JsonText, NoResolver, Options, RefKind,
    ReplayOptions, ReplayReport, Resolver, SavedPoint, Seq, StartedOver, Store, StoreReplay, StoredContent,
    TypeRegistry, UnknownTypes, Upcasts, read_events, replay,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::small;

/// A report without what it says of points.
fn plain(report: ReplayReport) -> Value {
    let mut report = serde_json::to_value(report).unwrap();
    report.as_object_mut().unwrap().remove("resumedFrom");
    report
}

/// The report of a replay that remembers all by itself.
fn fresh(store: &Store, options: &ReplayOptions, resolver: &dyn Resolver) -> Value {
    plain(replay(store.ordered().unwrap(), options, resolver).unwrap())
}

fn start<'r>(store: &Store, options: &ReplayOptions, resolver: &'r dyn Resolver) -> StoreReplay<'r> {
    StoreReplay::new(&store.snapshot().unwrap(), options, resolver).unwrap()
}

fn resume<'r>(
    store: &Store,
    options: &ReplayOptions,
    resolver: &'r dyn Resolver,
    bytes: &[u8],
) -> StoreReplay<'r> {
    let point = SavedPoint::read(bytes, options).unwrap();
    StoreReplay::resume(&store.snapshot().unwrap(), options, resolver, point).unwrap()
}

fn saved(replay: &mut StoreReplay<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    replay.save(&mut bytes).unwrap();
    bytes
}

fn finished(mut replay: StoreReplay<'_>) -> Value {
    replay.run().unwrap();
    plain(replay.finish().unwrap())
}

fn sample() -> Store {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample/run.jsonl");
    let text = std::fs::read(path).unwrap();
    let events = read_events(&*text, &Upcasts::new(), &TypeRegistry::v1(), UnknownTypes::Refuse).unwrap();
    let store = Store::in_memory(small()).unwrap();
    for event in &events {
        store.append(event).unwrap();
    }
    store
}

#[test]
fn the_sample_can_be_taken_up_at_every_position() {
    let store = sample();
    let options = ReplayOptions::new().state_max(3);
    let current = CurrentHashes::from_iter([(RefKind::Note, "none", "sha256:00")]);
    let whole = fresh(&store, &ReplayOptions::new(), &current);
    let mut first = start(&store, &options, &current);
    loop {
        let bytes = saved(&mut first);
        let next = resume(&store, &options, &current, &bytes);
        assert_eq!((next.started_over(), next.position()), (None, first.position()));
        assert_eq!(finished(next), whole, "from position {}", first.position());
        if !first.step().unwrap() {
            break;
        }
    }
    assert_eq!(first.position(), store.stats().unwrap().events);
    // Saving changed nothing.
    assert_eq!(plain(first.finish().unwrap()), whole);
}

#[test]
fn a_point_is_good_for_what_it_was_taken_of_alone() {
    let store = sample();
    let options = ReplayOptions::new();
    let mut first = start(&store, &options, &NoResolver);
    first.run().unwrap();
    let bytes = saved(&mut first);
    let over = |store: &Store, options: &ReplayOptions, resolver: &dyn Resolver| {
        let mut replay = resume(store, options, resolver, &bytes);
        replay.run().unwrap();
        let over = replay.started_over();
        let report = replay.finish().unwrap();
        assert_eq!(report.resumed_from, Some(if over.is_some() { 0 } else { 599 }));
        assert_eq!(plain(report), fresh(store, options, resolver));
        over
    };
    assert_eq!(over(&store, &options, &NoResolver), None);
    assert_eq!(over(&store, &options.clone().state_max(2), &NoResolver), None);
    for other in [
        options.clone().ephemeral_budget(3),
        options.clone().listed_max(1),
        options.clone().check_content(false),
        options.clone().keep_order(true),
    ] {
        assert_eq!(over(&store, &other, &NoResolver), Some(StartedOver::OtherOptions));
    }
    assert_eq!(over(&store, &options, &CurrentHashes::new()), Some(StartedOver::ContentChanged));
    let empty = Store::in_memory(Options::new()).unwrap();
    assert_eq!(over(&empty, &options, &NoResolver), Some(StartedOver::OtherStore));
    let mut listing = start(&store, &options.keep_order(true), &NoResolver);
    assert_eq!(listing.save(Vec::new()).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn content_that_changed_is_looked_at_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_or_create(dir.path(), small()).unwrap();
    let blobs = store.blobs();
    let address = blobs.put(b"what was shown").unwrap();
    let payload = json!({"turnId": "t", "ref": {"kind": "blob", "id": "b", "hash": address.to_string()}});
    let payload = JsonText::parse(&payload.to_string()).unwrap();
    let (id, host) = (EventId::new("e").unwrap(), HostId::new("h").unwrap());
    store.append(&Event::new(id, host, Seq::ZERO, "assistant.message", payload)).unwrap();
    let options = ReplayOptions::new();
    let content = StoredContent::new(&blobs);
    let mut first = start(&store, &options, &content);
    first.run().unwrap();
    let bytes = saved(&mut first);
    let look = |over| {
        let content = StoredContent::new(&blobs);
        let next = resume(&store, &options, &content, &bytes);
        assert_eq!(next.started_over(), over);
        let whole = fresh(&store, &options, &StoredContent::new(&blobs));
        assert_eq!(finished(next), whole);
        whole["refs"]["exact"].as_u64().unwrap()
    };
    assert_eq!(look(None), 1);
    // Further content, and a further address of the same.
    let other = blobs.put(b"something else").unwrap();
    assert_eq!(look(Some(StartedOver::ContentChanged)), 1);
    blobs.shred(&other).unwrap();
    assert_eq!(look(Some(StartedOver::ContentChanged)), 1);
    blobs.shred(&address).unwrap();
    assert_eq!(look(Some(StartedOver::ContentChanged)), 0);

    // Content that changes while a replay goes on is of no point.
    let content = StoredContent::new(&blobs);
    let mut during = start(&store, &options, &content);
    blobs.put(b"and more").unwrap();
    during.run().unwrap();
    let bytes = saved(&mut during);
    let next = resume(&store, &options, &content, &bytes);
    assert_eq!(next.started_over(), Some(StartedOver::ContentChanged));
}

#[test]
fn damaged_points_are_refused() {
    let store = sample();
    let options = ReplayOptions::new();
    let mut replay = start(&store, &options, &NoResolver);
    for _ in 0..50 {
        replay.step().unwrap();
    }
    let bytes = saved(&mut replay);
    let read = |bytes: &[u8]| SavedPoint::read(bytes, &options).map(|point| point.position());
    assert_eq!(read(&bytes).unwrap(), 50);
    for end in 0..bytes.len() {
        assert_eq!(read(&bytes[..end]).unwrap_err().kind(), ErrorKind::Invalid, "cut to {end}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let kind = read(&changed).unwrap_err().kind();
        let version = (16..20).contains(&at);
        assert_eq!(kind, if version { ErrorKind::Unsupported } else { ErrorKind::Invalid }, "byte {at}");
    }
    assert!(read(&[bytes.as_slice(), b"x"].concat()).is_err());
    assert!(read(b"").is_err());
}

/// Events of a few hosts, in the order in which they arrive: host, type and payload, causes by number. A number beyond
/// those before it is a late cause.
type Drawn = (usize, usize, Vec<usize>);

fn event(number: usize, (host, sort, causes): &Drawn) -> Event {
    let id = |number: usize| EventId::new(&format!("e{number}")).unwrap();
    let turn = format!("t{}", number % 4);
    let (kind, payload) = match sort {
        0 => ("turn.ended", json!({"turnId": turn})),
        1 => (
            "context.assembled",
            json!({"turnId": turn, "budget": 1, "used": 1, "parts": [], "resident": [
            {"kind": "note", "id": turn, "hash": "sha256:00"}], "reachableCount": 0}),
        ),
        2 | 3 => (
            "capability.invoked",
            json!({"capability": "c", "actor": {"kind": "user", "id": "u"},
            "scope": {"kind": "s", "id": "i"}, "effects": "idempotent", "egress": "redacted"}),
        ),
        4 | 5 => ("privacy.egress", json!({"host": "h", "redacted": true, "controlled": true})),
        6 => ("capability.activated", json!({"capability": "c", "classUsed": "R"})),
        7 | 8 => ("capability.revoked", json!({"capability": "c", "cause": "x"})),
        _ => ("turn.started", json!({"turnId": turn, "streamId": format!("s{}", number % 3)})),
    };
    let payload = JsonText::parse(&payload.to_string()).unwrap();
    let host = HostId::new(["a", "gateway", "\u{fffd}", "\u{1f600}"][*host]).unwrap();
    let seq = Seq::new(number as u64).unwrap();
    Event::new(id(number), host, seq, kind, payload).with_causes(causes.iter().map(|cause| id(*cause)))
}

fn arrivals() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..4_usize, 0..10_usize, prop::collection::vec(0..30_usize, 0..3)), 1..30)
        .prop_map(|drawn| {
            let late = |number: usize, cause: usize| {
                if cause.is_multiple_of(4) { cause } else { cause % number.max(1) }
            };
            let drawn = drawn.into_iter().enumerate().map(|(number, (host, sort, causes))| {
                let causes = causes.into_iter().map(|cause| late(number, cause)).collect();
                event(number, &(host, sort, causes))
            });
            drawn.collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn points_are_used_where_nothing_before_them_changed(
        events in arrivals(),
        cuts in prop::collection::vec((0..30_usize, 0..31_u64), 1..4),
        state_max in 0..4_usize,
    ) {
        let options = ReplayOptions::new().ephemeral_budget(1).listed_max(3).state_max(state_max);
        let current = CurrentHashes::from_iter([(RefKind::Note, "t1", "sha256:00"), (RefKind::Note, "t2", "sha256:01")]);
        let store = Store::in_memory(small()).unwrap();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let mut arriving = events.iter();
        let mut kept: Option<(Vec<u8>, Vec<String>, usize)> = None;
        for (arrived, position) in cuts {
            while store.stats().unwrap().events < arrived as u64 {
                let Some(event) = arriving.next() else { break };
                // One that closes a cycle is refused.
                let _ = store.append(event);
            }
            let order: Vec<String> =
                store.ordered().unwrap().map(|event| event.unwrap().id().to_string()).collect();
            let mut replay = match &kept {
                None => start(&store, &options, &current),
                Some((bytes, before, len)) => {
                    let same = order.starts_with(before);
                    let replay = resume(&store, &options, &current, bytes);
                    // What moved away and came back counts as changed; it must not go on where something is not as it was.
                    prop_assert!(same || replay.started_over().is_some());
                    prop_assert!(replay.started_over().is_none() || order.len() > *len);
                    replay
                }
            };
            while replay.position() < position && replay.step().unwrap() {}
            let bytes = saved(&mut replay);
            let point = SavedPoint::read(&*bytes, &options).unwrap();
            let before = order[..usize::try_from(point.position()).unwrap()].to_vec();
            let mut other = start(&store, &options, &current);
            while other.position() < point.position() && other.step().unwrap() {}
            prop_assert_eq!(SavedPoint::read(&*saved(&mut other), &options).unwrap().digest(), point.digest());
            kept = Some((bytes, before, order.len()));
            prop_assert_eq!(finished(replay), fresh(&store, &options.clone().state_max(1000), &current));
        }
    }
}
