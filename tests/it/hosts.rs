//! Declared hosts: what is refused, what is listed, and that declarations are part of the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};
use causelog::{Code, ErrorKind, Event, HostId, HostInfo, HostPromise, Store};
use proptest::prelude::*;

use crate::support::{event, small};

const OPEN: HostPromise = HostPromise { chained: false, closed: false };
const CHAINED: HostPromise = HostPromise { chained: true, closed: false };
const CLOSED: HostPromise = HostPromise { chained: false, closed: true };

fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

fn refused(store: &Store, event: &Event) -> String {
    let error = store.append(event).unwrap_err();
    assert_eq!((error.kind(), error.code(), error.is_refusal()), (ErrorKind::Invalid, Code::Seq, true));
    assert!(!store.has(&event.id).unwrap());
    error.message().to_owned()
}

#[test]
fn a_promise_is_held_to() {
    let store = Store::in_memory(small()).unwrap();
    let (a0, a1, a2) = (event("a", 0, &[]), event("a", 1, &[]), event("a", 2, &[]));
    store.append(&a0).unwrap();
    store.declare_host(&host("a"), CHAINED).unwrap();
    let b0 = event("b", 0, &[]);
    assert_eq!(refused(&store, &b0), "host b is not declared; declare it first");
    assert!(refused(&store, &a1).contains("does not name the host's last event, a-0, as a cause"));
    // What is held is a duplicate, whatever was promised since.
    assert_eq!(store.append(&a0).unwrap(), causelog::Appended::Duplicate);
    let a1 = event("a", 1, &[&a0]);
    store.append(&a1).unwrap();
    assert!(refused(&store, &event("a", 2, &[&a0])).contains("a-1"));
    store.declare_host(&host("b"), CHAINED).unwrap();
    store.append(&b0).unwrap();
    store.declare_host(&host("a"), CLOSED).unwrap();
    let closed = refused(&store, &event("a", 2, &[&a1]));
    assert_eq!(closed, "event a-2 comes behind the end of host a, which was declared closed");
    assert_eq!(store.append(&a1).unwrap(), causelog::Appended::Duplicate);
    store.declare_host(&host("a"), OPEN).unwrap();
    store.append(&a2).unwrap();
}

/// A chained host's batch, and an appender that chains, meet the promise by themselves.
#[test]
fn an_appender_that_chains_keeps_the_promise() {
    let store = Store::in_memory(small()).unwrap();
    store.declare_host(&host("a"), CHAINED).unwrap();
    let new =
        || causelog::NewEvent::new("turn.started", causelog::JsonText::parse(r#"{"turnId":"t"}"#).unwrap());
    let mut appender = store.appender(host("a")).unwrap().chained(true);
    appender.append(new()).unwrap();
    assert!(appender.append_batch([new(), new(), new()]).unwrap().iter().all(Result::is_ok));
    let mut appender = appender.chained(false);
    assert_eq!(appender.append(new()).unwrap_err().code(), Code::Seq);
}

/// Hosts are listed in UTF-16 order, also those without an event, by a writer, beside it and after it.
#[test]
fn hosts_are_listed_wherever_the_store_is_read() {
    let vfs = Arc::new(MemoryVfs::new());
    let options = || small().vfs(vfs.clone());
    let store = Store::create("/s", options()).unwrap();
    store.append(&event("z", 3, &[])).unwrap();
    store.declare_host(&host("z"), CHAINED).unwrap();
    store.declare_host(&host("\u{FF5E}"), OPEN).unwrap();
    store.declare_host(&host("\u{1F600}"), CLOSED).unwrap();
    let listed = store.snapshot().unwrap().hosts().unwrap();
    let of = |host: &HostInfo| (host.host.clone(), host.declared, host.chained, host.closed, host.high);
    let expected = [
        ("z".to_owned(), true, true, false, Some(3)),
        ("\u{1F600}".to_owned(), true, false, true, None),
        ("\u{FF5E}".to_owned(), true, false, false, None),
    ];
    assert_eq!(listed.iter().map(of).collect::<Vec<_>>(), expected);
    let beside = Store::open_read_only("/s", options()).unwrap();
    assert_eq!(beside.snapshot().unwrap().hosts().unwrap(), listed);
    store.declare_host(&host("z"), OPEN).unwrap();
    assert!(!beside.snapshot().unwrap().hosts().unwrap()[0].chained, "a reader beside the writer follows");
    store.close().unwrap();
    vfs.remove("/s/index.redb".as_ref()).unwrap();
    let store = Store::open("/s", options()).unwrap();
    assert!(store.snapshot().unwrap().hosts().unwrap()[1].closed);
    assert!(refused(&store, &event("\u{1F600}", 0, &[])).contains("closed"));
}

/// A declaration whose group could not be written leaves no trace, and what was written before it stays.
#[test]
fn a_declaration_that_failed_is_taken_back() {
    let mut failed = 0;
    for nth in 1..8 {
        let memory = Arc::new(MemoryVfs::new());
        let vfs = Arc::new(FaultyVfs::new(memory.clone()));
        let store = Store::create("/s", small().vfs(vfs.clone())).unwrap();
        store.declare_host(&host("a"), OPEN).unwrap();
        store.append(&event("a", 0, &[])).unwrap();
        vfs.arm(Fault::nth(Calls::Changing, nth, Failure::NO_SPACE));
        let declared = store.declare_host(&host("b"), CHAINED);
        vfs.disarm();
        let hosts = store.snapshot().unwrap().hosts().unwrap();
        assert_eq!((hosts[0].declared, hosts[0].events), (true, 1));
        match declared {
            Ok(()) => assert_eq!(hosts.len(), 2),
            Err(error) if error.kind() == ErrorKind::Poisoned => {}
            Err(_) => {
                failed += 1;
                assert_eq!(hosts.len(), 1, "call {nth}");
                assert!(refused(&store, &event("b", 0, &[])).contains("not declared"));
                store.declare_host(&host("b"), OPEN).unwrap();
                store.append(&event("b", 0, &[])).unwrap();
                store.close().unwrap();
                let store = Store::open("/s", small().vfs(memory.clone())).unwrap();
                assert!(store.opening().damage.is_empty());
                assert_eq!(store.snapshot().unwrap().hosts().unwrap().len(), 2);
            }
        }
    }
    assert!(failed > 0);
}

#[derive(Clone, Debug)]
enum Op {
    Declare(usize, bool, bool),
    Append(usize, bool),
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0usize..4, any::<bool>(), any::<bool>()).prop_map(|(h, chained, closed)| Op::Declare(h, chained, closed)),
        6 => (0usize..4, any::<bool>()).prop_map(|(h, names_last)| Op::Append(h, names_last)),
        1 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random declarations and appends, with segments of a few events, against a map.
    #[test]
    fn declarations_are_a_map(ops in proptest::collection::vec(op(), 1..60)) {
        let vfs = Arc::new(MemoryVfs::new());
        let options = || small().segment_bytes_max(2 << 10).vfs(vfs.clone());
        let mut store = Store::create("/s", options()).unwrap();
        let mut declared: BTreeMap<usize, HostPromise> = BTreeMap::new();
        let mut last: BTreeMap<usize, Event> = BTreeMap::new();
        for op in ops {
            match op {
                Op::Declare(h, chained, closed) => {
                    let promise = HostPromise { chained, closed };
                    store.declare_host(&host(&format!("h{h}")), promise).unwrap();
                    declared.insert(h, promise);
                }
                Op::Append(h, names_last) => {
                    let seq = last.get(&h).map_or(0, |event| event.seq.get() + 1);
                    let causes: Vec<&Event> = last.get(&h).filter(|_| names_last).into_iter().collect();
                    let new = event(&format!("h{h}"), seq, &causes);
                    let promise = declared.get(&h);
                    let may = (declared.is_empty() || promise.is_some())
                        && promise.is_none_or(|promise| {
                            !promise.closed && (!promise.chained || names_last || !last.contains_key(&h))
                        });
                    prop_assert_eq!(store.append(&new).is_ok(), may);
                    if may {
                        last.insert(h, new);
                    }
                }
                Op::Reopen => {
                    store.close().unwrap();
                    store = Store::open("/s", options()).unwrap();
                    prop_assert!(store.opening().damage.is_empty());
                }
            }
            let mut expected: BTreeMap<String, Option<HostPromise>> =
                last.keys().map(|h| (format!("h{h}"), None)).collect();
            expected.extend(declared.iter().map(|(h, promise)| (format!("h{h}"), Some(*promise))));
            let listed: BTreeMap<String, Option<HostPromise>> = store.snapshot().unwrap().hosts().unwrap().into_iter()
                .map(|host| (host.host, host.declared.then_some(HostPromise { chained: host.chained, closed: host.closed })))
                .collect();
            prop_assert_eq!(listed, expected);
        }
    }
}
