//! What opening makes of a store that was killed, cut, damaged, or mixed up.

use std::path::Path;
use std::sync::Arc;

use causelog::vfs::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};
use causelog::{Appended, Durability, ErrorKind, Event, EventFields, Options, Store, VerifyOutcome, verify};

use crate::support::{
    Random, active, env_number, event, frames, hashes, held, holds_exactly, ids, in_order, overwrite, read,
    resize, sealed, small, sorted,
};

fn on(vfs: &MemoryVfs) -> Options {
    small().vfs(Arc::new(vfs.clone()))
}

fn outcome(vfs: &MemoryVfs) -> VerifyOutcome {
    verify("/s", &on(vfs), &()).unwrap().outcome()
}

/// Event number `n` of a history of three hosts with causes across them.
fn nth(n: u64, before: &[Event]) -> Event {
    let host = ["ext", "gateway", "phone"][usize::try_from(n % 3).unwrap()];
    let causes: Vec<&Event> =
        before.iter().rev().skip(1).step_by(3).take(usize::try_from(n % 3).unwrap()).collect();
    event(host, n, &causes)
}

fn history(count: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for n in 0..count {
        events.push(nth(n, &events));
    }
    events
}

/// A store as a kill leaves it: every event was appended by itself, nothing was closed.
fn killed(options: impl Fn(&MemoryVfs) -> Options, events: &[Event]) -> MemoryVfs {
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", options(&vfs)).unwrap();
    for event in events {
        assert_eq!(store.append(event).unwrap(), Appended::Stored);
    }
    vfs.fork()
}

/// Asserts that a store is damaged at a place, is read-only, and that nothing in it was touched.
fn is_damage(vfs: &MemoryVfs, segment: u64, offset: Option<u64>) -> Store {
    let before = hashes(vfs);
    let logs = |all: &std::collections::BTreeMap<std::path::PathBuf, blake3::Hash>| {
        all.iter()
            .filter(|(path, _)| path.starts_with("/s/log"))
            .map(|(p, h)| (p.clone(), *h))
            .collect::<Vec<_>>()
    };
    assert_eq!(outcome(vfs), VerifyOutcome::Damaged);
    assert_eq!(hashes(vfs), before, "a check writes nothing");
    let store = Store::open("/s", on(vfs)).unwrap();
    let findings = &store.opening().damage;
    let found = findings.iter().any(|found| {
        found.segment == Some(segment) && offset.is_none_or(|offset| found.offset == Some(offset))
    });
    assert!(found, "segment {segment}, offset {offset:?}: {findings:?}");
    assert_eq!(store.append(&event("late", 1, &[])).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(logs(&hashes(vfs)), logs(&before), "damage is left as it is");
    store
}

#[test]
fn c001_every_cut_of_the_last_three_frames_keeps_the_whole_frames_before_it() {
    // Without and with space written ahead.
    for segment_bytes in [64 << 10, 4 << 20] {
        let options = |vfs: &MemoryVfs| on(vfs).segment_bytes_max(segment_bytes);
        let events = history(12);
        let base = killed(options, &events);
        let bytes = read(&base, &active(1));
        let frames = frames(&bytes);
        let end = frames.last().unwrap().end;
        for cut in frames[frames.len() - 3].offset..end {
            let vfs = base.fork();
            resize(&vfs, &active(1), cut);
            let whole = frames.iter().filter(|frame| frame.end <= cut);
            let (kept, held_events) =
                (whole.clone().next_back().unwrap().end, whole.filter(|frame| frame.is_event).count());
            assert_eq!(outcome(&vfs), VerifyOutcome::Torn, "cut at {cut}");
            let store = Store::open("/s", options(&vfs)).unwrap();
            assert!(store.opening().damage.is_empty(), "{:?}", store.opening());
            let torn = store.opening().torn.clone().unwrap();
            // The tail's length ends at its last byte that is not zero.
            let tail = bytes[kept..cut].iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let at = (torn.segment, torn.offset, torn.bytes, torn.missing_bytes);
            assert_eq!(at, (1, kept as u64, tail as u64, (end - kept) as u64), "cut at {cut}");
            holds_exactly(&store, &events[..held_events]);
            drop(store);
            let store = Store::open("/s", options(&vfs)).unwrap();
            assert_eq!(store.opening().torn, None);
            assert_eq!(store.append(&events[held_events]).unwrap(), Appended::Stored);
            drop(store);
            assert_eq!(outcome(&vfs), VerifyOutcome::Fine);
        }
    }
}

#[test]
fn c003_damage_in_the_middle_is_named_and_nothing_behind_it_is_touched() {
    let events = history(40);
    let base = killed(on, &events);
    let places = frames(&read(&base, &active(1)));
    let frame = places.iter().filter(|frame| frame.is_event).nth(10).unwrap();
    for at in [frame.offset, frame.offset + 16, frame.end - 8] {
        let vfs = base.fork();
        overwrite(&vfs, &active(1), at, &[0xA5; 8]);
        // The groups behind it say as well as the mark file that it was durable.
        let unmarked = vfs.fork();
        unmarked.remove(Path::new("/s/mark")).unwrap();
        is_damage(&unmarked, 1, Some(frame.offset as u64));
        let store = is_damage(&vfs, 1, Some(frame.offset as u64));
        assert_eq!(store.opening().damage[0].events_behind, Some(29));
        assert_eq!(held(&store).len(), 10);
        let reader = Store::open_read_only("/s", on(&vfs)).unwrap();
        assert_eq!(reader.opening().damage.len(), 1);
    }
}

#[test]
fn c005_what_was_not_appended_does_not_appear() {
    let events = history(30);
    let base = killed(on, &events);
    let bytes = read(&base, &active(1));
    let places = frames(&bytes);
    let end = places.last().unwrap().end;
    let copy = |n: usize| bytes[places[n].offset..places[n].end].to_vec();
    let mut random = Random(5);
    let garbage: Vec<u8> = (0..9001).map(|_| random.next().to_le_bytes()[0]).collect();
    let mut huge = copy(places.len() - 1);
    huge[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let zeros_then = |tail: Vec<u8>| [vec![0; 512], tail].concat();
    let tails = [
        ("zeros", vec![0; 64 << 10], false),
        ("random bytes", garbage, true),
        ("the last frame again", copy(places.len() - 1), true),
        ("an early group again", [copy(2), copy(3)].concat(), true),
        ("zeros, then a frame", zeros_then(copy(5)), true),
        ("a header that claims 4 GiB", huge, true),
    ];
    for (name, tail, reported) in tails {
        let vfs = base.fork();
        overwrite(&vfs, &active(1), end, &tail);
        let store = Store::open("/s", on(&vfs)).unwrap();
        assert!(store.opening().damage.is_empty(), "{name}: {:?}", store.opening());
        // Zeros are what space written ahead looks like: no tear.
        let torn = store
            .opening()
            .torn
            .as_ref()
            .map(|torn| (torn.offset, torn.bytes, torn.events, torn.missing_bytes));
        let last = tail.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        assert_eq!(torn, reported.then_some((end as u64, last, 0, 0)), "{name}");
        holds_exactly(&store, &events);
        store.append(&event("ext", 1000, &[])).unwrap();
        store.close().unwrap();
        assert_eq!(outcome(&vfs), VerifyOutcome::Fine, "{name}");
    }
}

#[test]
fn c009_a_zeroed_page_below_the_durable_end_is_never_cut_away() {
    let events = history(300);
    for checkpointed in [false, true] {
        let segment_bytes = 1 << 20;
        let vfs = MemoryVfs::new();
        let store = Store::create("/s", on(&vfs).segment_bytes_max(segment_bytes)).unwrap();
        for (n, event) in events.iter().enumerate() {
            store.append(event).unwrap();
            if checkpointed && n == 250 {
                store.checkpoint().unwrap();
            }
        }
        let vfs = vfs.fork();
        let places = frames(&read(&vfs, &active(1)));
        let first_bad = places.iter().find(|frame| frame.end > 8192).unwrap().offset as u64;
        overwrite(&vfs, &active(1), 8192, &[0; 4096]);
        if !checkpointed {
            is_damage(&vfs, 1, Some(first_bad));
            continue;
        }
        // Below a checkpoint nothing is read at opening; whoever comes there is told, and a check finds it.
        let before = read(&vfs, &active(1));
        assert_eq!(outcome(&vfs), VerifyOutcome::Damaged);
        let reader = Store::open_read_only("/s", on(&vfs)).unwrap();
        let error = reader.events().unwrap().find_map(Result::err).unwrap();
        assert_eq!((error.kind(), error.place().segment), (ErrorKind::Corrupt, Some(1)));
        assert!(
            error.place().offset.is_some_and(|offset| (first_bad..8192 + 4096).contains(&offset)),
            "{error}"
        );
        assert_eq!(read(&vfs, &active(1)), before);
        drop(reader);
        let store = Store::open("/s", on(&vfs).segment_bytes_max(segment_bytes)).unwrap();
        assert_eq!(store.stats().unwrap().events, 300);
        drop(store);
        let end = places.last().unwrap().end;
        assert_eq!(read(&vfs, &active(1))[..end], before[..end]);
    }
}

/// Appends until a segment was rolled and sealed, then a checkpoint and a close; stops at the first error.
fn work(store: &Store, events: &[Event], acked: &mut usize) -> causelog::Result<()> {
    for event in events {
        store.append(event)?;
        *acked += 1;
    }
    store.checkpoint()?;
    store.clone().close()
}

#[test]
fn c011_killed_or_cut_off_at_every_call_of_a_roll_every_event_is_there_once() {
    let all = history(500);
    let full = {
        let store = Store::in_memory(small()).unwrap();
        let rolls = |event: &Event| {
            store.append(event).unwrap();
            store.stats().unwrap().segments.len() > 1
        };
        all.iter().position(rolls).unwrap()
    };
    let (known, events) = (full - 8, &all[..full + 8]);
    let base = killed(on, &events[..known]);
    // With a checkpoint of the segment that is rolled.
    drop(Store::open("/s", on(&base)).unwrap());
    let has_sealed = |vfs: &MemoryVfs| read_names(vfs).iter().any(|name| name.ends_with(".sealed"));
    assert!(!has_sealed(&base));
    let mut states = 0u64;
    for after_effect in [false, true] {
        for n in 1.. {
            let inner = base.fork();
            let faulty = FaultyVfs::recording(Arc::new(inner.clone()));
            let mut fault = Fault::nth(Calls::Changing, n, Failure::MEDIUM).for_good();
            if after_effect {
                fault = fault.after_effect();
            }
            let options = small().vfs(Arc::new(faulty.clone()));
            faulty.arm(fault);
            let mut acked = 0;
            match Store::open("/s", options) {
                Ok(store) => {
                    let done = work(&store, &events[known..], &mut acked);
                    assert!(done.is_ok() || faulty.failed() > 0, "{done:?}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error:?}"),
            }
            let finished = faulty.failed() == 0;
            let mut images = vec![inner.fork()];
            images.extend((0..3).map(|seed| faulty.crash(n * 10 + seed).unwrap()));
            for (image, vfs) in images.into_iter().enumerate() {
                states += 1;
                is_whole(
                    &vfs,
                    events,
                    known + acked,
                    &format!("call {n}, image {image}, after effect {after_effect}"),
                );
            }
            if finished {
                assert!(has_sealed(&inner), "the work sealed a segment");
                break;
            }
        }
    }
    println!("{states} states of a roll, a seal and a checkpoint");
}

fn read_names(vfs: &MemoryVfs) -> Vec<String> {
    vfs.list(Path::new("/s/log")).unwrap()
}

/// Opens what a kill or a power cut left and checks it: all acknowledged events, each once, nothing left over.
fn is_whole(vfs: &MemoryVfs, events: &[Event], acked: usize, what: &str) {
    let store = Store::open("/s", on(vfs)).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert!(store.opening().damage.is_empty(), "{what}: {:?}", store.opening());
    let count = held(&store).len();
    assert!((acked..=events.len()).contains(&count), "{what}: {count} held, {acked} acknowledged");
    holds_exactly(&store, &events[..count]);
    for name in read_names(vfs) {
        let (number, stage) = name.split_once('.').unwrap();
        let beside = |stage: &str| read_names(vfs).contains(&format!("{number}.{stage}"));
        let is_needed = match stage {
            "active" => !beside("sealed"),
            "sealed" => true,
            "checkpoint" => beside("active"),
            _ => false,
        };
        assert!(is_needed, "{what}: {name} was left over");
    }
    for event in &events[count..] {
        assert_eq!(store.append(event).unwrap(), Appended::Stored, "{what}");
    }
    store.close().unwrap();
    let store = Store::open("/s", on(vfs)).unwrap();
    assert_eq!((&store.opening().torn, store.opening().frames_read), (&None, 0), "{what}");
    holds_exactly(&store, events);
}

#[test]
fn c013_synced_events_that_are_gone_are_reported() {
    let events = history(120);
    let vfs = killed(on, &events);
    let places: Vec<_> = frames(&read(&vfs, &active(1))).into_iter().filter(|frame| frame.is_event).collect();
    resize(&vfs, &active(1), places[109].end);
    let store = Store::open("/s", on(&vfs)).unwrap();
    let torn = store.opening().torn.clone().unwrap();
    assert_eq!(torn.missing_bytes, (places[119].end - places[109].end) as u64);
    assert!(torn.to_string().contains("acknowledged events"), "{torn}");
    holds_exactly(&store, &events[..110]);
}

#[test]
fn what_is_gone_is_counted_and_remembered() {
    let events = history(40);
    let base = killed(on, &events);
    let places = frames(&read(&base, &active(1)));
    let last: Vec<_> = places.iter().filter(|frame| frame.is_event).rev().take(3).collect();
    for (at, gone) in [(last[0].end, 0), (last[0].end - 4, 1), (last[2].offset, 3)] {
        let vfs = base.fork();
        resize(&vfs, &active(1), at);
        assert_eq!(outcome(&vfs), if gone > 0 { VerifyOutcome::Torn } else { VerifyOutcome::Fine });
        let store = Store::open("/s", on(&vfs)).unwrap();
        assert_eq!(store.opening().torn.as_ref().map_or(0, |torn| torn.missing_events), gone);
        assert_eq!((store.opening().lost, store.stats().unwrap().lost), (gone, gone));
        let held_events = &events[..events.len() - usize::try_from(gone).unwrap()];
        holds_exactly(&store, held_events);
        drop(store);
        let store = Store::open("/s", on(&vfs)).unwrap();
        assert_eq!(
            (store.opening().torn.clone(), store.opening().lost),
            (None, gone),
            "told once, remembered"
        );
        for event in &events[held_events.len()..] {
            assert_eq!(store.append(event).unwrap(), Appended::Stored);
        }
        drop(store);
        assert_eq!(outcome(&vfs), VerifyOutcome::Fine);
    }
}

#[test]
fn what_is_gone_is_counted_once_wherever_its_record_is_cut_off() {
    let events = history(40);
    let base = killed(on, &events);
    let places = frames(&read(&base, &active(1)));
    let last: Vec<_> = places.iter().filter(|frame| frame.is_event).rev().take(3).collect();
    // With checkpoint and mark, and with one of them alone to prove it.
    let checkpointed = {
        let vfs = base.fork();
        let store = Store::open("/s", on(&vfs)).unwrap();
        store.checkpoint().unwrap();
        vfs.fork()
    };
    let unmarked = checkpointed.fork();
    unmarked.remove(Path::new("/s/mark")).unwrap();
    for (base, call, (at, gone)) in [&base, &checkpointed, &unmarked].into_iter().flat_map(|base| {
        let cuts = [(last[0].end - 4, 1), (last[2].offset, 3)];
        [Call::Write, Call::Sync, Call::SyncDir, Call::Remove, Call::SetSize]
            .into_iter()
            .flat_map(move |call| cuts.into_iter().map(move |cut| (base, call, cut)))
    }) {
        for nth in 1.. {
            let vfs = base.fork();
            resize(&vfs, &active(1), at);
            // The default size of segments, with space written ahead, and a small one, without.
            for options in [Options::new().background(false), small()] {
                let vfs = vfs.fork();
                let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
                faulty.arm(Fault::nth(Calls::Only(call), nth, Failure::MEDIUM).for_good());
                drop(Store::open("/s", options.clone().vfs(Arc::new(faulty.clone()))));
                let fired = faulty.failed() > 0;
                let context = format!("{call:?} {nth} failed: {fired}, cut at {at}");
                let verified = verify("/s", &on(&vfs), &()).unwrap();
                assert_ne!(verified.outcome(), VerifyOutcome::Damaged, "{context}: {verified:?}");
                let store = Store::open("/s", options.vfs(Arc::new(vfs.clone()))).unwrap();
                assert!(store.opening().damage.is_empty(), "{context}: {:?}", store.opening());
                assert_eq!(store.opening().lost, gone, "{context}: {:?}", store.opening());
                drop(store);
                let store = Store::open("/s", on(&vfs)).unwrap();
                assert_eq!((store.opening().torn.clone(), store.opening().lost), (None, gone), "{context}");
            }
            let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
            faulty.arm(Fault::nth(Calls::Only(call), nth, Failure::MEDIUM));
            drop(Store::open("/s", small().vfs(Arc::new(faulty.clone()))));
            if faulty.failed() == 0 {
                break;
            }
        }
    }
}

#[test]
fn c063_segments_that_are_missing_or_foreign_are_found() {
    let events = history(900);
    let vfs = killed(on, &events);
    let last = (1..).find(|n| vfs.exists(&active(*n)).unwrap()).unwrap();
    assert!(last >= 4, "{:?}", vfs.paths());
    let without = |path: &Path| {
        let vfs = vfs.fork();
        vfs.remove(path).unwrap();
        vfs
    };
    is_damage(&without(&sealed(last - 1)), last - 1, None);
    is_damage(&without(&sealed(1)), 2, None);
    is_damage(&without(&sealed(2)), 2, None);
    is_damage(&without(&active(last)), last, None);
    // Without the mark file the last segment is still missed.
    let gone = without(&active(last));
    gone.remove(Path::new("/s/mark")).unwrap();
    is_damage(&gone, last, None);
    // A segment of another store.
    let other = killed(on, &events);
    for number in [1, 2, last] {
        let path = if number == last { active(last) } else { sealed(number) };
        let vfs = vfs.fork();
        resize(&vfs, &path, 0);
        overwrite(&vfs, &path, 0, &read(&other, &path));
        let store = is_damage(&vfs, number, None);
        assert!(store.opening().damage.iter().any(|found| found.what.contains("another store")));
    }
    // One of the same store in another's place.
    let swapped = vfs.fork();
    overwrite(&swapped, &sealed(1), 0, &read(&vfs, &sealed(2)));
    is_damage(&swapped, 1, None);
}

#[test]
fn c047_a_sealed_segment_that_was_shortened_is_damage() {
    let vfs = killed(on, &history(600));
    let size = read(&vfs, &sealed(1)).len();
    for cut in [0, 1, 100, size / 2, size - 1] {
        let vfs = vfs.fork();
        resize(&vfs, &sealed(1), cut);
        is_damage(&vfs, 1, None);
    }
}

#[test]
fn c051_a_resource_that_runs_out_is_never_damage() {
    let vfs = killed(on, &history(600));
    for (call, number) in
        [(Call::Open, 24), (Call::Open, 23), (Call::Map, 12), (Call::Read, 12), (Call::Look, 12)]
    {
        let mut failed = 0;
        for n in 1.. {
            let vfs = vfs.fork();
            let before = hashes(&vfs);
            let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
            faulty.arm(Fault::nth(Calls::Only(call), n, Failure::Os(number)).for_good());
            let options = small().vfs(Arc::new(faulty.clone()));
            let outcome = Store::open_read_only("/s", options).and_then(|store| {
                assert!(store.opening().damage.is_empty(), "{call:?} {n}: {:?}", store.opening());
                store.events()?.try_for_each(|event| event.map(|_| ()))?;
                store.has(&event("nobody", 1, &[]).id)?;
                store.ordered().map(|_| ())
            });
            if let Err(error) = outcome {
                failed += 1;
                assert_eq!(error.kind(), ErrorKind::Io, "{call:?} {n}: {error:?}");
            }
            assert_eq!(hashes(&vfs), before);
            let writer = Store::open("/s", small().vfs(Arc::new(faulty.clone())));
            if let Err(error) = &writer {
                assert_eq!(error.kind(), ErrorKind::Io, "{call:?} {n}: {error:?}");
            }
            drop(writer);
            faulty.disarm();
            let store = Store::open("/s", on(&vfs)).unwrap();
            assert!(store.opening().damage.is_empty(), "{call:?} {n}: {:?}", store.opening());
            assert_eq!(held(&store).len(), 600);
            if n > 40 {
                break;
            }
        }
        assert!(failed > 0 || call == Call::Look, "{call:?}");
    }
}

/// Everything a reader can see of a store, or the errors it meets.
fn everything(store: &Store, events: &[Event]) -> (Vec<Event>, bool) {
    let mut seen = Vec::new();
    let mut trouble = store.opening().torn.is_some() || !store.opening().damage.is_empty();
    let mut take = |events: causelog::Result<causelog::Events>| match events {
        Ok(events) => {
            for event in events {
                match event.and_then(|event| event.to_event()) {
                    Ok(event) => seen.push(event),
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid), "{error:?}");
                        trouble = true;
                    }
                }
            }
        }
        Err(_) => trouble = true,
    };
    take(store.events());
    take(store.by_type("turn.started"));
    take(store.ordered().map(Into::into));
    take(store.ancestry(&events[events.len() - 1].id));
    for event in events {
        match store.get(&event.id).and_then(|found| found.map(|found| found.to_event()).transpose()) {
            Ok(Some(found)) => seen.push(found),
            Ok(None) => seen.push(event.clone().with_at(-1.0)),
            Err(_) => trouble = true,
        }
    }
    trouble |= store.cursor().is_err() | store.stats().is_err();
    (seen, trouble)
}

#[test]
fn every_flipped_bit_is_harmless_or_reported() {
    let small = history(12);
    let large = history(260);
    let closed = |events: &[Event]| {
        let vfs = killed(on, events);
        Store::open("/s", on(&vfs)).unwrap().close().unwrap();
        vfs
    };
    let full = std::env::var_os("CAUSELOG_FULL").is_some();
    let first = usize::try_from(env_number("CAUSELOG_BIT", 0)).unwrap();
    let mut flipped = 0u64;
    for (base, events) in [(killed(on, &small), &small), (closed(&small), &small), (closed(&large), &large)] {
        for path in base.paths() {
            let bytes = read(&base, &path);
            // Odd numbers, so that each bit of a byte has its turn. The index is rebuilt whatever is wrong with it.
            let step = match path.extension().and_then(|extension| extension.to_str()) {
                _ if full => 1,
                Some("redb") => 40_009,
                _ if events.len() > 100 => 2_003,
                _ => 19,
            };
            for bit in (first % step..bytes.len() * 8).step_by(step) {
                flipped += 1;
                let vfs = base.fork();
                overwrite(&vfs, &path, bit / 8, &[bytes[bit / 8] ^ 1 << (bit % 8)]);
                let place = format!("bit {bit} of {}", path.display());
                for write in [false, true] {
                    let opened = if write {
                        Store::open("/s", on(&vfs))
                    } else {
                        Store::open_read_only("/s", on(&vfs))
                    };
                    let store = match opened {
                        Ok(store) => store,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error:?}");
                            continue;
                        }
                    };
                    let (seen, trouble) = everything(&store, events);
                    let missing = seen.iter().filter(|event| event.at() < 0.0).count();
                    for event in seen.iter().filter(|event| event.at() >= 0.0) {
                        assert!(events.contains(event), "{place}: {event:?} is none of ours");
                    }
                    assert!(trouble || missing == 0, "{place}: {missing} events are missing in silence");
                    assert!(trouble || held(&store) == sorted(events), "{place}");
                    assert!(trouble || ids(store.ordered().unwrap()) == in_order(&held(&store)), "{place}");
                }
            }
        }
    }
    println!("{flipped} bits flipped, from number {first}");
}

#[test]
fn os_level_events_survive_a_kill() {
    let events = history(200);
    let vfs = killed(|vfs| on(vfs).durability(Durability::Os), &events);
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert_eq!((&store.opening().torn, store.opening().damage.len()), (&None, 0));
    holds_exactly(&store, &events);
}
