//! Segments whose bytes are not as they were written.

use causelog::{Code, EventId, Store, VerifyOutcome, repair};
use proptest::prelude::*;

use super::image::{Frame, Image, all_frames, frames, log, read};
use super::{check, lost, names_what_is_lost, repaired};

fn event_frames(image: &Image, name: &str) -> Vec<Frame> {
    frames(&image.read(name)).into_iter().filter(|frame| frame.event.is_some()).collect()
}

/// Damages frames of a file and repairs; each survives in the copy that is kept.
fn with_frames_damaged(image: &Image, name: &str, which: impl Fn(&[Frame]) -> Vec<Frame>) {
    let mut image = image.copy();
    let all = image.events.clone();
    let damaged = which(&event_frames(&image, name));
    for frame in &damaged {
        image.flip(name, frame.offset + 20, 8);
    }
    let bytes = image.read(name);
    image.lose(&damaged);
    let report = repaired(&image);
    assert_eq!(report.outcome(), VerifyOutcome::Damaged);
    assert_eq!(report.events_lost, damaged.len() as u64, "{name}");
    let segment: u64 = name[..10].parse().unwrap();
    assert!(report.findings.iter().any(|finding| finding.segment == Some(segment)), "{:?}", report.findings);
    assert_eq!(report.kept.len(), 1);
    assert!(read(&image.vfs, &report.kept[0]) == bytes, "the copy is the file as it was");
    names_what_is_lost(&report, &all, &image.events);
    check(&image.vfs, &image.events, damaged.len() as u64);
}

#[test]
fn frames_of_any_segment_can_be_lost() {
    let (sealed, rolled) = (Image::sealed(), Image::rolled());
    for (image, name) in [
        (&sealed, "0000000001.sealed"),
        (&sealed, "0000000003.sealed"),
        (&sealed, "0000000005.sealed"),
        (&sealed, "0000000006.active"),
        (&rolled, "0000000002.sealed"),
        (&rolled, "0000000003.active"),
        (&rolled, "0000000004.active"),
    ] {
        with_frames_damaged(image, name, |frames| vec![frames[frames.len() / 2]]);
        with_frames_damaged(image, name, |frames| vec![frames[7], frames[8], frames[30], frames[31]]);
        with_frames_damaged(image, name, |frames| vec![frames[4], frames[frames.len() - 1]]);
    }
}

#[test]
fn frames_behind_damage_that_the_mark_file_alone_confirms_are_kept() {
    // C003: an active segment without a checkpoint, damaged before later, whole groups.
    let mut image = Image::rolled();
    image.forget_checkpoints();
    let name = "0000000005.active";
    let damaged = event_frames(&image, name)[3];
    image.flip(name, damaged.offset, 8);
    image.lose(&[damaged]);
    let report = repaired(&image);
    let finding = report.findings.iter().find(|finding| finding.segment == Some(5)).unwrap();
    assert_eq!(finding.offset, Some(damaged.offset));
    assert!(finding.events_behind.unwrap() > 10);
    assert_eq!(report.events_lost, 1);
    check(&image.vfs, &image.events, 1);
}

#[test]
fn a_zeroed_page_below_the_checkpoint_is_damage() {
    // C009: opening starts behind the checkpoint and does not look there; a repair does.
    let mut image = Image::sealed();
    let name = "0000000006.active";
    let (offset, end) = (4096, 8192);
    let hit = |frame: &&Frame| frame.offset < end && frame.offset + frame.bytes as u64 > offset;
    let damaged: Vec<Frame> = event_frames(&image, name).iter().filter(hit).copied().collect();
    assert!(damaged.len() > 5);
    let mut bytes = image.read(name);
    bytes[4096..8192].fill(0);
    image.write(name, &bytes);
    let all = image.events.clone();
    image.lose(&damaged);
    let report = repaired(&image);
    assert_eq!(report.events_lost, damaged.len() as u64);
    names_what_is_lost(&report, &all, &image.events);
    check(&image.vfs, &image.events, damaged.len() as u64);
}

#[test]
fn what_is_no_frame_can_be_made_again() {
    let (sealed, rolled) = (Image::sealed(), Image::rolled());
    for (image, name) in [
        (&sealed, "0000000001.sealed"),
        (&sealed, "0000000004.sealed"),
        (&sealed, "0000000005.sealed"),
        (&sealed, "0000000006.active"),
        (&rolled, "0000000003.active"),
        (&rolled, "0000000005.active"),
    ] {
        // The head, its state, and from the end: trailer and sections.
        let bytes = image.read(name);
        let frames = frames(&bytes);
        let mut places = vec![0, 40, 130];
        if name.ends_with("sealed") {
            let last = frames.last().unwrap();
            let sections = usize::try_from(last.offset).unwrap() + last.bytes;
            places.extend([bytes.len() - 8, bytes.len() - 100, bytes.len() - 300]);
            places.extend((sections..bytes.len()).step_by(1777));
        } else {
            // Group marks.
            places.extend(
                frames.iter().filter(|frame| frame.kind == 3).step_by(9).map(|frame| frame.offset as usize),
            );
        }
        for place in places {
            let image = image.copy();
            image.flip(name, place as u64, 4);
            let report = repaired(&image);
            assert_eq!(report.outcome(), VerifyOutcome::Damaged, "{name} at {place}");
            assert_eq!((report.events_lost, lost(&report)), (0, vec![]), "{name} at {place}");
            check(&image.vfs, &image.events, 0);
        }
        if name.ends_with("sealed") {
            // Cut behind the last frame: no trailer, no section.
            let image = image.copy();
            let last = frames.last().unwrap();
            image.write(name, &bytes[..usize::try_from(last.offset).unwrap() + last.bytes]);
            assert_eq!(repaired(&image).events_lost, 0);
            check(&image.vfs, &image.events, 0);
        }
    }
}

#[test]
fn a_name_that_is_lost_takes_its_events_with_it() {
    let mut image = Image::single(90);
    let name = "0000000001.active";
    let frames = frames(&image.read(name));
    let controls: Vec<Frame> = frames.iter().filter(|frame| frame.kind == 2).copied().collect();
    // Host a, the one type, host b, host c: each directly before the event that needs it.
    assert_eq!(controls.len(), 4);
    image.flip(name, controls[2].offset + 16, 4);
    // The checkpoint knows the name.
    let with_checkpoint = image.copy();
    assert_eq!(repaired(&with_checkpoint).events_lost, 0);
    check(&with_checkpoint.vfs, &with_checkpoint.events, 0);
    // Without it host b is lost; host c's number is told by its first event.
    image.forget_checkpoints();
    image.events.retain(|event| event.host.as_str() != "b");
    let report = repaired(&image);
    assert_eq!(report.events_lost, 30);
    assert!(report.actions[0].contains("30 of them because the name"), "{:?}", report.actions);
    check(&image.vfs, &image.events, 30);
}

#[test]
fn a_seq_that_was_given_is_not_given_again() {
    let mut image = Image::single(90);
    let name = "0000000001.active";
    image.forget_checkpoints();
    // The last event of host b, which a later one names.
    let last = image.events.iter().rfind(|event| event.host.as_str() == "b").unwrap().clone();
    let namer = image.events.last().unwrap();
    assert!(namer.causes.contains(&last.id));
    let damaged = *event_frames(&image, name).iter().rfind(|frame| frame.event.unwrap().0 == 1).unwrap();
    image.flip(name, damaged.offset + 16, 4);
    image.lose(&[damaged]);
    let report = repaired(&image);
    assert_eq!(lost(&report), [("b", last.seq.get(), last.seq.get())]);
    let store = Store::open("/s", image.options()).unwrap();
    let other = crate::support::named(EventId::new("another").unwrap(), "b", last.seq.get(), vec![]);
    assert_eq!(store.append(&other).unwrap_err().code(), Code::Seq);
    assert_eq!(store.cursor().unwrap().get(&last.host).unwrap().seq.get(), last.seq.get() - 1);
    drop(store);
    check(&image.vfs, &image.events, 1);
}

#[test]
fn that_causes_came_late_is_not_forgotten() {
    let mut image = Image::single(0);
    let name = "0000000001.active";
    let id = |text: &str| EventId::new(text).unwrap();
    let store = Store::open("/s", image.options()).unwrap();
    image.events = vec![
        crate::support::named(id("a-0"), "a", 0, vec![id("b-0")]),
        crate::support::named(id("a-1"), "a", 1, vec![id("c-0")]),
        crate::support::named(id("b-0"), "b", 0, vec![id("a-1")]),
    ];
    for event in &image.events {
        store.append(event).unwrap();
    }
    store.close().unwrap();
    image.forget_checkpoints();
    let controls: Vec<Frame> =
        frames(&image.read(name)).into_iter().filter(|frame| frame.kind == 2).collect();
    // Host a, the type, host b, and that the third event came after one that names it.
    image.flip(name, controls[3].offset + 16, 4);
    assert_eq!(repaired(&image).events_lost, 0);
    let store = Store::open("/s", image.options()).unwrap();
    let closing = crate::support::named(id("c-0"), "c", 0, vec![id("a-0")]);
    assert_eq!(store.append(&closing).unwrap_err().code(), Code::Cycle);
}

#[test]
fn both_forms_of_a_segment_can_be_damaged() {
    let mut image = Image::rolled();
    let rolled = image.read("0000000003.active");
    let rolled_frames = frames(&rolled);
    let store = Store::open("/s", image.options()).unwrap();
    store.close().unwrap();
    // The crash came before the active form was removed; then both were damaged, in other events.
    image.write("0000000003.active", &rolled);
    let sealed = event_frames(&image, "0000000003.sealed");
    let of = |frames: &[Frame], event| *frames.iter().find(|frame| frame.event == event).unwrap();
    let (both, one) = (sealed[5], sealed[9]);
    image.flip("0000000003.sealed", both.offset + 16, 1);
    image.flip("0000000003.sealed", one.offset + 16, 1);
    image.flip("0000000003.active", of(&rolled_frames, both.event).offset + 16, 1);
    image.lose(&[both]);
    let report = repaired(&image);
    assert_eq!((report.events_lost, report.kept.len()), (1, 2));
    check(&image.vfs, &image.events, 1);
}

#[test]
fn a_segment_can_be_damaged_again() {
    let mut image = Image::sealed();
    let name = "0000000002.sealed";
    for round in 1..=3u64 {
        let damaged = event_frames(&image, name)[11];
        image.flip(name, damaged.offset + 16, 8);
        image.lose(&[damaged]);
        let report = repaired(&image);
        assert_eq!(report.events_lost, 1, "round {round}");
        let kept = if round == 1 { name.to_owned() } else { format!("{name}.{round}") };
        assert_eq!(report.kept, [std::path::Path::new("/s/kept").join(kept)]);
        check(&image.copy().vfs, &image.events, round);
    }
}

#[test]
fn what_a_person_can_sort_out_is_left_alone() {
    let image = Image::sealed();
    let (two, three) = (image.read("0000000002.sealed"), image.read("0000000003.sealed"));
    image.write("0000000002.sealed", &three);
    image.write("0000000003.sealed", &two);
    let store = Store::open("/s", image.options()).unwrap();
    assert!(!store.opening().damage.is_empty());
    drop(store);
    let refused = repair("/s", &image.options(), causelog::RepairMode::Apply, &()).unwrap_err();
    assert_eq!(refused.place().path, Some(log("0000000002.sealed")));
    assert!(refused.message().contains("this is segment 3"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exactly_what_checks_is_kept(
        rolled: bool, forget: bool,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..400), 1..5),
    ) {
        thread_local! {
            static IMAGES: [Image; 2] = [Image::sealed(), Image::rolled()];
        }
        let mut image = IMAGES.with(|images| images[usize::from(rolled)].copy());
        let frames = all_frames(&image);
        if forget {
            image.forget_checkpoints();
        }
        let names = image.files();
        let mut damaged = Vec::new();
        let mut taken: Vec<(String, u64, u64)> = Vec::new();
        for (name, at, bytes) in hits {
            let name = &names[name.index(names.len())];
            // The store's first events define its names; without them there is nothing to be said.
            let size = image.read(name).len();
            let last = frames[name].last().unwrap();
            let size = if name.ends_with("active") { last.offset as usize + last.bytes } else { size };
            let (start, bytes) = (at.index(size), bytes.min(size));
            let (start, end) = (start as u64, (start + bytes).min(size) as u64);
            if taken.iter().any(|(other, from, to)| other == name && start < *to && *from < end) {
                continue;
            }
            taken.push((name.clone(), start, end));
            image.flip(name, start, (end - start) as usize);
            let hit = frames[name].iter().filter(|f| f.offset < end && f.offset + f.bytes as u64 > start);
            damaged.extend(hit.copied().filter(|frame| frame.event.is_some()));
        }
        let before = image.events.len();
        image.lose(&damaged);
        let report = repaired(&image);
        prop_assert_eq!(report.events_lost, (before - image.events.len()) as u64);
        check(&image.vfs, &image.events, report.events_lost);
    }
}
