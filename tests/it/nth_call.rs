//! Every call of the file system fails once, in every way, and nothing that was promised breaks.

use std::sync::Arc;

use causelog::vfs::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{
    Appended, BatchMode, Durability, Error, ErrorKind, Event, EventId, Options, Store, VerifyOutcome, verify,
};

use crate::support::{bulky, event, held, holds_exactly, named, small, sorted};

/// The faults that the `n`-th call can meet.
fn faults(n: u64) -> Vec<(String, Fault)> {
    let mut all = Vec::new();
    for (name, failure) in [("EIO", Failure::MEDIUM), ("ENOSPC", Failure::NO_SPACE)] {
        let once = Fault::nth(Calls::Changing, n, failure);
        all.push((format!("{name} at call {n}"), once));
        all.push((format!("{name} from call {n} on"), once.for_good()));
        all.push((format!("{name} after call {n} was done"), once.after_effect()));
        for bytes in [1, 600] {
            all.push((format!("{name} after {bytes} bytes of call {n}"), once.after_bytes(bytes)));
        }
    }
    all.push((format!("EIO at look or read {n}"), Fault::nth(Calls::Any, n, Failure::MEDIUM)));
    all.push((
        format!("EIO from look or read {n} on"),
        Fault::nth(Calls::Any, n, Failure::MEDIUM).for_good(),
    ));
    all
}

/// What became of the events that were offered.
#[derive(Default)]
struct Fate {
    acked: Vec<Event>,
    /// Refused with an error that says that nothing was stored.
    failed: Vec<Event>,
    /// The outcome is unknown.
    unknown: Vec<Event>,
}

impl Fate {
    fn append(&mut self, store: &Store, event: &Event, what: &str) {
        match store.append(event) {
            Ok(_) => self.acked.push(event.clone()),
            Err(error) => self.refused(event, &error, what),
        }
        if let Some(event) = self.acked.last() {
            // Reads go on, whatever happened to writes; but a read may itself be what fails.
            match store.has(&event.id) {
                Ok(held) => assert!(held, "{what}: {} was acknowledged", event.id.as_ref()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{what}: {error:?}"),
            }
        }
        for event in self.unknown.iter().chain(&self.failed) {
            let seen = store.has(&event.id).unwrap_or(false);
            assert!(!seen, "{what}: {} is visible and was not acknowledged", event.id.as_ref());
        }
    }

    fn refused(&mut self, event: &Event, error: &Error, what: &str) {
        match error.kind() {
            ErrorKind::Io => self.failed.push(event.clone()),
            ErrorKind::Poisoned => self.unknown.push(event.clone()),
            _ => panic!("{what}: {error:?}"),
        }
    }
}

fn checked_error(error: &Error, what: &str) {
    assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Poisoned), "{what}: {error:?}");
}

/// Runs `work` on forks of `base` until no call is left to fail, and checks what each leaves on a healthy file system:
/// after a kill, and after power cuts.
fn every_call(
    name: &str,
    base: &MemoryVfs,
    known: &[Event],
    options: impl Fn() -> Options,
    work: impl Fn(Options, &mut Fate, &str) -> Option<Store>,
) {
    let mut runs = 0u64;
    let mut index = 0;
    loop {
        let mut met = false;
        let mut n = 1;
        while let Some((what, fault)) = faults(n).into_iter().nth(index) {
            let what = format!("{name}, {what}");
            let inner = base.fork();
            let faulty = FaultyVfs::recording(Arc::new(inner.clone()));
            // What was there before is durable; it has to have been seen for that.
            base.paths().iter().for_each(|path| drop(faulty.open(path, OpenMode::Read).unwrap()));
            faulty.arm(fault);
            let mut fate = Fate::default();
            let store = work(options().vfs(Arc::new(faulty.clone())), &mut fate, &what);
            let failed = faulty.failed() > 0;
            faulty.disarm();
            let durable = options().vfs(Arc::new(inner.clone()));
            let mut images = vec![inner.fork()];
            let cuts = (0..2).map(|seed| faulty.crash(n * 2 + seed).unwrap());
            images.extend(cuts);
            // On the same handle: either it takes writes again, or all are refused with the same kind.
            if let Some(store) = store {
                let again = event("again", 1, &[]);
                match store.append(&again) {
                    Ok(_) => {
                        fate.acked.push(again);
                        store.checkpoint().unwrap_or_else(|error| panic!("{what}: {error:?}"));
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Poisoned, "{what}: {error:?}");
                        let second = store.append(&again).unwrap_err();
                        assert_eq!((second.kind(), second.message()), (error.kind(), error.message()));
                        fate.unknown.push(again);
                    }
                }
                images.push(inner.fork());
                let closed = store.close();
                images.push(inner.fork());
                if let Err(error) = closed {
                    checked_error(&error, &what);
                }
            }
            for (image, vfs) in images.into_iter().enumerate() {
                let fate = if image < 3 { before_again(&fate) } else { clone(&fate) };
                after(&vfs, known, &fate, &format!("{what}, image {image}"), &durable);
            }
            runs += 1;
            if !failed {
                break;
            }
            met = true;
            n += 1;
        }
        if !met && index > 0 && index >= faults(1).len() {
            break;
        }
        index += 1;
    }
    println!("{name}: {runs} runs");
}

fn clone(fate: &Fate) -> Fate {
    Fate { acked: fate.acked.clone(), failed: fate.failed.clone(), unknown: fate.unknown.clone() }
}

fn before_again(fate: &Fate) -> Fate {
    let mut fate = clone(fate);
    for list in [&mut fate.acked, &mut fate.unknown] {
        list.retain(|event| event.host.as_str() != "again");
    }
    fate
}

/// Opens what is left and checks it: acked ⊆ held ⊆ acked ∪ unknown, and appending everything again is safe.
fn after(vfs: &MemoryVfs, known: &[Event], fate: &Fate, what: &str, like: &Options) {
    let options = like.clone().vfs(Arc::new(vfs.clone()));
    let store = match Store::open("/s", options.clone()) {
        Ok(store) => store,
        Err(error) => {
            // Creating it was not done.
            assert!(known.is_empty() && fate.acked.is_empty(), "{what}: {error:?}");
            assert_eq!(error.kind(), ErrorKind::NotFound, "{what}: {error:?}");
            return;
        }
    };
    assert!(store.opening().damage.is_empty(), "{what}: {:?}", store.opening());
    let all = held(&store);
    for event in known.iter().chain(&fate.acked) {
        assert!(all.contains(event), "{what}: {} was acknowledged and is gone", event.id.as_ref());
    }
    for event in &fate.failed {
        let again = fate.acked.contains(event);
        assert!(again || !all.contains(event), "{what}: {} was refused and is held", event.id.as_ref());
    }
    for event in &all {
        let offered = [known, &fate.acked, &fate.unknown].iter().any(|list| list.contains(event));
        assert!(offered, "{what}: {} is held", event.id.as_ref());
    }
    holds_exactly(&store, &all);
    let mut expected = all.clone();
    for event in &sorted(&fate.unknown) {
        let outcome = store.append(event).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(outcome == Appended::Duplicate, all.contains(event), "{what}");
        if outcome == Appended::Stored {
            expected.push(event.clone());
        }
    }
    store.sync().unwrap();
    holds_exactly(&store, &expected);
    store.close().unwrap();
    let report = verify("/s", &options, &()).unwrap();
    assert_eq!(report.outcome(), VerifyOutcome::Fine, "{what}: {report:?}");
}

fn events(host: &str, count: u64) -> Vec<Event> {
    (0..count).map(|seq| event(host, seq, &[])).collect()
}

/// A store whose first segment has room for few small events.
fn nearly_full() -> (MemoryVfs, Vec<Event>) {
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", small().durability(Durability::Os).vfs(Arc::new(vfs.clone()))).unwrap();
    let mut known: Vec<Event> = (0..20).map(|seq| bulky("known", seq)).collect();
    known.extend(events("few", 40));
    let full = known.iter().position(|event| {
        store.append(event).unwrap();
        store.stats().unwrap().segments[0].bytes > (64 << 10) - 700
    });
    known.truncate(full.unwrap() + 1);
    assert_eq!(store.stats().unwrap().segments.len(), 1);
    store.checkpoint().unwrap();
    (vfs.fork(), known)
}

#[test]
fn creating_and_appending() {
    every_call("create", &MemoryVfs::new(), &[], small, |options, fate, what| {
        let store = match Store::create("/s", options) {
            Ok(store) => store,
            Err(error) => {
                checked_error(&error, what);
                return None;
            }
        };
        for event in events("a", 3) {
            fate.append(&store, &event, what);
        }
        Some(store)
    });
}

#[test]
fn appending_with_space_written_ahead() {
    let vfs = MemoryVfs::new();
    let options = || small().segment_bytes_max(4 << 20);
    drop(Store::create("/s", options().vfs(Arc::new(vfs.clone()))).unwrap());
    every_call("space ahead", &vfs, &[], options, |options, fate, what| {
        let store = Store::open("/s", options).map_err(|error| checked_error(&error, what)).ok()?;
        for event in events("a", 2) {
            fate.append(&store, &event, what);
        }
        Some(store)
    });
}

#[test]
fn appending_through_a_roll_and_a_seal() {
    let (vfs, known) = nearly_full();
    for (name, durability) in [("durable", Durability::Durable), ("os", Durability::Os)] {
        let options = || small().durability(durability);
        every_call(&format!("seal, {name}"), &vfs, &known, options, |options, fate, what| {
            let store = Store::open("/s", options).map_err(|error| checked_error(&error, what)).ok()?;
            for event in events("a", 4) {
                fate.append(&store, &event, what);
            }
            if durability == Durability::Os {
                // A power cut may take what was not synced: judged as unknown.
                if store.sync().is_err() {
                    fate.unknown.append(&mut fate.acked);
                }
            }
            Some(store)
        });
    }
}

#[test]
fn a_batch_through_a_roll() {
    let (vfs, known) = nearly_full();
    for mode in [BatchMode::StopAtFirst, BatchMode::Each] {
        every_call(&format!("batch {mode:?}"), &vfs, &known, small, |options, fate, what| {
            let store = Store::open("/s", options).map_err(|error| checked_error(&error, what)).ok()?;
            let batch = events("a", 6);
            match store.append_batch(&batch, mode) {
                Ok(report) => {
                    assert_eq!(report.stored(), 6, "{what}");
                    fate.acked.extend(batch);
                }
                Err(error) => {
                    checked_error(&error, what);
                    // A part of it may be there, but only a first one, or a repetition would be refused.
                    fate.unknown.extend(batch);
                }
            }
            Some(store)
        });
    }
}

#[test]
fn checkpointing() {
    let (vfs, known) = nearly_full();
    every_call("checkpoint", &vfs, &known, small, |options, fate, what| {
        let store = Store::open("/s", options).map_err(|error| checked_error(&error, what)).ok()?;
        fate.append(&store, &event("a", 0, &[]), what);
        for seq in 1..3 {
            if let Err(error) = store.checkpoint() {
                checked_error(&error, what);
            }
            fate.append(&store, &event("a", seq, &[]), what);
        }
        Some(store)
    });
}

#[test]
fn closing_and_dropping() {
    let (vfs, known) = nearly_full();
    for close in [true, false] {
        every_call(&format!("close {close}"), &vfs, &known, small, |options, fate, what| {
            let store = Store::open("/s", options).map_err(|error| checked_error(&error, what)).ok()?;
            fate.append(&store, &event("a", 0, &[]), what);
            if close && let Err(error) = store.clone().close() {
                checked_error(&error, what);
            }
            drop(store);
            None
        });
    }
}

#[test]
fn c041_every_caller_of_a_failed_sync_is_told_and_repeating_is_safe() {
    for failure in [Failure::MEDIUM, Failure::NO_SPACE, Failure::Os(122)] {
        for n in (1..30).step_by(2) {
            let inner = MemoryVfs::new();
            let faulty = FaultyVfs::recording(Arc::new(inner.clone()));
            let store = Store::create("/s", small().vfs(Arc::new(faulty.clone()))).unwrap();
            faulty.arm(Fault::nth(Calls::Only(Call::Sync), n, failure));
            let outcomes: Vec<(Event, Result<Appended, Error>)> = std::thread::scope(|scope| {
                let threads: Vec<_> = ["a", "b", "c", "d"]
                    .map(|host| {
                        let store = &store;
                        scope.spawn(move || {
                            events(host, 20)
                                .into_iter()
                                .map(|event| (event.clone(), store.append(&event)))
                                .collect::<Vec<_>>()
                        })
                    })
                    .into_iter()
                    .collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(faulty.failed(), 1, "the sync is not tried again");
            let (acked, unknown): (Vec<_>, Vec<_>) =
                outcomes.into_iter().partition(|(_, outcome)| outcome.is_ok());
            assert!(!unknown.is_empty());
            let mut messages: Vec<String> = unknown
                .iter()
                .map(|(_, outcome)| outcome.as_ref().unwrap_err().message().to_owned())
                .collect();
            messages.sort_unstable();
            messages.dedup();
            // The leader's error names the file; the others' carry its text.
            assert!(
                messages
                    .iter()
                    .all(|message| message.contains("outcome of the appends it covered is unknown")),
                "{messages:?}"
            );
            for (event, outcome) in &unknown {
                assert_eq!(outcome.as_ref().unwrap_err().kind(), ErrorKind::Poisoned);
                assert!(!store.has(&event.id).unwrap(), "an uncertain event is not shown");
            }
            let acked: Vec<Event> = acked.into_iter().map(|(event, _)| event).collect();
            holds_exactly(&store, &acked);
            assert_eq!(store.sync().unwrap_err().kind(), ErrorKind::Poisoned);
            assert_eq!(store.checkpoint().unwrap_err().kind(), ErrorKind::Poisoned);
            let fate = Fate {
                acked,
                failed: Vec::new(),
                unknown: unknown.into_iter().map(|(event, _)| event).collect(),
            };
            for vfs in [inner.fork(), faulty.crash(n).unwrap()] {
                after(&vfs, &[], &fate, &format!("sync {n} fails"), &small());
            }
        }
    }
}

#[test]
fn c039_appends_go_on_once_space_is_freed() {
    for (segment_bytes, background) in [(64 << 10, false), (4 << 20, false), (64 << 10, true)] {
        for free in (0..40_000).step_by(2_731) {
            let inner = MemoryVfs::new();
            let faulty = FaultyVfs::new(Arc::new(inner.clone()));
            let options = small().segment_bytes_max(segment_bytes).background(background);
            let store = Store::create("/s", options.clone().vfs(Arc::new(faulty.clone()))).unwrap();
            let mut kept: Vec<Event> = (0..15).map(|seq| bulky("before", seq)).collect();
            assert_eq!(store.append_batch(&kept, BatchMode::Each).unwrap().stored(), 15);
            faulty.limit_space(Some(free));
            let mut failed = Vec::new();
            for event in (0..500).map(|seq| bulky("full", seq)) {
                match store.append(&event) {
                    Ok(_) => kept.push(event),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
                        failed.push(event);
                    }
                }
                if failed.len() > 3 {
                    break;
                }
            }
            assert!(!failed.is_empty());
            if let Err(error) = store.checkpoint() {
                checked_error(&error, "a checkpoint on a full disk");
            }
            holds_exactly(&store, &kept);
            faulty.limit_space(None);
            for event in events("after", 10) {
                store.append(&event).unwrap();
                kept.push(event);
            }
            store.close().unwrap();
            let options = options.vfs(Arc::new(inner.clone()));
            assert_eq!(verify("/s", &options, &()).unwrap().outcome(), VerifyOutcome::Fine);
            holds_exactly(&Store::open("/s", options).unwrap(), &kept);
        }
    }
}

#[test]
fn what_was_refused_does_not_come_back_with_a_power_cut() {
    for seed in 0..60 {
        let faulty = FaultyVfs::recording(Arc::new(MemoryVfs::new()));
        let store = Store::create("/s", small().vfs(Arc::new(faulty.clone()))).unwrap();
        store.append(&event("a", 0, &[])).unwrap();
        faulty.arm(Fault::nth(Calls::Only(Call::Write), 1, Failure::NO_SPACE).after_effect());
        assert_eq!(store.append(&event("a", 1, &[])).unwrap_err().kind(), ErrorKind::Io);
        let cut = Store::open("/s", small().vfs(Arc::new(faulty.crash(seed).unwrap()))).unwrap();
        holds_exactly(&cut, &[event("a", 0, &[])]);
    }
}

#[test]
fn a_segment_takes_nothing_once_the_next_one_may_exist() {
    let (vfs, known) = nearly_full();
    let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
    let store = Store::open("/s", small().vfs(Arc::new(faulty.clone()))).unwrap();
    let mut stored = known.clone();
    // Fills the segment with events that need much room, until one does not fit. The next segment's name is there by
    // then, but is not known to be durable.
    let large = |seq: u64| {
        let causes = (0..20).map(|n| EventId::new(&format!("nobody-{n}")).unwrap()).collect();
        named(EventId::new(&format!("large-{seq}")).unwrap(), "large", seq, causes)
    };
    faulty.arm(Fault::nth(Calls::Only(Call::SyncDir), 1, Failure::MEDIUM).for_good());
    let refused = (0..).map(large).find(|event| match store.append(event) {
        Ok(_) => {
            stored.push(event.clone());
            false
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Io);
            true
        }
    });
    // One that needs less room would still fit, but would be lost.
    let small_event = event("small", 0, &[]);
    if store.append(&small_event).is_ok() {
        stored.push(small_event);
    }
    let killed = vfs.fork();
    let reopened = Store::open("/s", small().vfs(Arc::new(killed))).unwrap();
    holds_exactly(&reopened, &stored);
    faulty.disarm();
    let large = refused.unwrap();
    store.append(&large).unwrap();
    stored.push(large);
    store.close().unwrap();
    holds_exactly(&Store::open("/s", small().vfs(Arc::new(vfs))).unwrap(), &stored);
}
