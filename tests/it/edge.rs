//! Events of an application's own form at the store's edge, and batches of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use causelog::vfs::{MemoryVfs, Vfs};
use causelog::{
    Appended, BatchMode, Code, Durability, Error, ErrorKind, Event, EventFields, EventId, IdRef, Options,
    Seq, Store, UnknownTypes, parse_event, write_event,
};

use crate::support::{bulky, event, held, ids, small};

/// A form of event that promises nothing: its texts are as they come.
struct Foreign {
    id: String,
    seq: u64,
    payload: String,
    extra: Option<String>,
    causes: Vec<String>,
}

impl Foreign {
    fn new(id: &str, seq: u64, payload: &str) -> Self {
        Self { id: id.into(), seq, payload: payload.into(), extra: None, causes: Vec::new() }
    }

    fn with_extra(mut self, extra: &str) -> Self {
        self.extra = Some(extra.into());
        self
    }
}

impl EventFields for Foreign {
    fn v(&self) -> u32 {
        1
    }
    fn id(&self) -> IdRef<'_> {
        IdRef::new(&self.id)
    }
    fn host(&self) -> &str {
        "foreign"
    }
    fn seq(&self) -> Seq {
        Seq::new(self.seq).unwrap()
    }
    fn at(&self) -> f64 {
        0.0
    }
    fn kind(&self) -> &str {
        "turn.started"
    }
    fn payload(&self) -> &str {
        &self.payload
    }
    fn extra(&self) -> Option<&str> {
        self.extra.as_deref()
    }
    fn causes_len(&self) -> usize {
        self.causes.len()
    }
    fn cause(&self, index: usize) -> Option<IdRef<'_>> {
        self.causes.get(index).map(|cause| IdRef::new(cause))
    }
}

fn id(text: &str) -> EventId {
    EventId::new(text).unwrap()
}

#[test]
fn texts_are_kept_without_white_space_between_tokens() {
    let store = Store::in_memory(Options::new()).unwrap();
    let spaced = Foreign::new("x", 0, "{\n \"turnId\" : \"a \\\" b\",\t\"n\": [1.0, 2] }\r\n")
        .with_extra(" {\"sig\": \"s t\"} ");
    assert_eq!(store.append(&spaced).unwrap(), Appended::Stored);
    let stored = store.get(&id("x")).unwrap().unwrap();
    assert_eq!(stored.payload(), r#"{"turnId":"a \" b","n":[1.0,2]}"#);
    assert_eq!(stored.extra(), Some(r#"{"sig":"s t"}"#));
    let mut line = Vec::new();
    write_event(&stored, &mut line);
    assert_eq!(parse_event(&line).unwrap(), stored.to_event().unwrap());
    assert_eq!(store.append(&spaced).unwrap(), Appended::Duplicate);

    let empty = Foreign::new("y", 1, r#"{"turnId":"t"}"#).with_extra("{ }");
    store.append(&empty).unwrap();
    assert_eq!(store.get(&id("y")).unwrap().unwrap().extra(), None);
    assert_eq!(store.append(&Foreign { extra: None, ..empty }).unwrap(), Appended::Duplicate);
}

#[test]
fn an_id_has_one_form_however_it_comes() {
    let uuid = "0198b2a4-0000-7000-8000-000000000001";
    let store = Store::in_memory(Options::new()).unwrap();
    store.append(&Foreign::new(uuid, 0, r#"{"turnId":"t"}"#)).unwrap();
    assert!(store.has(&id(uuid)).unwrap());
    let again = store.append(&Event { id: id(uuid), ..event("h", 0, &[]) }).unwrap_err();
    assert_eq!((again.kind(), again.code()), (ErrorKind::Equivocation, Code::Id));
    let mut next = Foreign::new("next", 1, r#"{"turnId":"t"}"#);
    next.causes.push(uuid.into());
    store.append(&next).unwrap();
    assert_eq!(ids(store.ancestry(&id("next")).unwrap()), ["next", uuid]);
}

#[test]
fn text_that_is_no_payload_is_refused() {
    let options = Options::new().unknown_types(UnknownTypes::Accept);
    let store = Store::in_memory(options).unwrap();
    let good = r#"{"turnId":"t"}"#;
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    for (payload, extra, code) in [
        ("", None, Code::Json),
        (r#"{"turnId":"t"}}"#, None, Code::Json),
        (r#"{"turnId":"t","turnId":"t"}"#, None, Code::Json),
        ("\"text\"", None, Code::Shape),
        (deep.as_str(), None, Code::Limit),
        (good, Some("sig"), Code::Json),
        (good, Some("[]"), Code::Shape),
        (good, Some(r#"{"seq":1}"#), Code::Shape),
    ] {
        let mut foreign = Foreign::new("x", 0, payload);
        foreign.extra = extra.map(Into::into);
        let error = store.append(&foreign).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, code), "{payload} {extra:?}");
        assert!(error.is_refusal());
    }
    assert!(held(&store).is_empty());
}

#[test]
fn a_batch_goes_on_behind_every_kind_of_refusal() {
    let store = Store::in_memory(Options::new()).unwrap();
    let first = event("a", 0, &[]);
    let newer = Event { v: 2, ..event("a", 1, &[]) };
    let unknown = Event { kind: "no.such".into(), ..event("a", 2, &[]) };
    let other = Event { at: 1.0, ..first.clone() };
    let last = event("a", 3, &[]);
    let batch = [first, newer, unknown, other, last];
    let report = store.append_batch(&batch, BatchMode::Each).unwrap();
    assert_eq!(report.stored(), 2);
    let refused: Vec<_> = report.refused().map(|(at, error)| (at, error.kind(), error.code())).collect();
    assert_eq!(
        refused,
        [
            (1, ErrorKind::Unsupported, Code::Version),
            (2, ErrorKind::Invalid, Code::Type),
            (3, ErrorKind::Equivocation, Code::Id)
        ]
    );
    assert!(report.refused().all(|(_, error)| error.is_refusal()));
    assert_eq!(held(&store).len(), 2);
    let report = store.append_batch(&batch, BatchMode::StopAtFirst).unwrap();
    assert_eq!((report.duplicates(), report.outcomes.len()), (1, 2));
}

#[test]
fn what_fails_the_store_is_no_refusal() {
    let full = std::io::Error::other("no space");
    let errors = [
        Error::io("cannot write", full),
        Store::open("/none", small().vfs(Arc::new(MemoryVfs::new()))).unwrap_err(),
        {
            let vfs: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
            Store::create("/s", small().vfs(vfs.clone())).unwrap();
            Store::create("/s", small().vfs(vfs)).unwrap_err()
        },
    ];
    for error in errors {
        assert!(!error.is_refusal(), "{error:?}");
    }
}

/// An event that looks around whenever it is asked for its version, as an append begins with.
struct Watching<'a> {
    event: Event,
    look: &'a (dyn Fn() + Sync),
}

impl EventFields for Watching<'_> {
    fn v(&self) -> u32 {
        (self.look)();
        self.event.v()
    }
    fn id(&self) -> IdRef<'_> {
        EventFields::id(&self.event)
    }
    fn host(&self) -> &str {
        self.event.host()
    }
    fn seq(&self) -> Seq {
        EventFields::seq(&self.event)
    }
    fn at(&self) -> f64 {
        EventFields::at(&self.event)
    }
    fn kind(&self) -> &str {
        self.event.kind()
    }
    fn payload(&self) -> &str {
        self.event.payload()
    }
    fn extra(&self) -> Option<&str> {
        self.event.extra()
    }
    fn causes_len(&self) -> usize {
        self.event.causes_len()
    }
    fn cause(&self, index: usize) -> Option<IdRef<'_>> {
        self.event.cause(index)
    }
}

/// Appends one batch and returns the highest of what `measure` gave on the way.
fn highest(store: &Store, events: u64, measure: impl Fn() -> usize + Sync) -> usize {
    let most = AtomicUsize::new(0);
    let look = || {
        most.fetch_max(measure(), Ordering::Relaxed);
    };
    let batch: Vec<_> = (0..events).map(|n| Watching { event: bulky("a", n), look: &look }).collect();
    assert_eq!(store.append_batch(&batch, BatchMode::Each).unwrap().stored() as u64, events);
    most.into_inner()
}

#[test]
fn a_batch_stays_within_the_cap_of_a_store_in_memory() {
    let store = Store::in_memory(Options::new().events_max(80).durability(Durability::Os)).unwrap();
    let most = highest(&store, 600, || usize::try_from(store.snapshot().unwrap().len()).unwrap());
    assert!((60..=80).contains(&most), "{most} events at once");
    let by_bytes = Store::in_memory(Options::new().bytes_max(1 << 20)).unwrap();
    let most = highest(&by_bytes, 1000, || usize::try_from(by_bytes.snapshot().unwrap().len()).unwrap());
    assert!((200..=340).contains(&most), "{most} events of 3 KB in 1 MiB");
}

#[test]
fn a_batch_leaves_few_segments_unsealed() {
    for (background, allowed) in [(false, 2), (true, 6)] {
        let vfs = MemoryVfs::new();
        let options = small().background(background).vfs(Arc::new(vfs.clone()));
        let store = Store::create("/s", options).unwrap();
        let unsealed = || {
            let names = vfs.list("/s/log".as_ref()).unwrap();
            names.iter().filter(|name| name.ends_with(".active")).count()
        };
        let most = highest(&store, 600, unsealed);
        assert!(most <= allowed, "{most} segments wait, background {background}");
        assert!(store.stats().unwrap().segments.len() > 20);
    }
}
