//! The end of the active segment: tears, and what was cut off.

use std::path::Path;

use causelog::vfs::Vfs;
use causelog::{Store, VerifyOutcome, verify};

use super::image::{Image, copy, frames, read};
use super::{check, lost, repaired};
use crate::support::event;

#[test]
fn a_torn_tail_is_kept_and_cut() {
    let image = Image::sealed();
    let name = "0000000006.active";
    let mut bytes = image.read(name);
    let end = bytes.len();
    bytes.extend_from_slice(&[0xAB; 100]);
    bytes.extend_from_slice(&[0; 900]);
    image.write(name, &bytes);
    let report = repaired(&image);
    assert_eq!(report.outcome(), VerifyOutcome::Torn);
    let torn = report.cut.as_ref().unwrap();
    assert_eq!((torn.segment, torn.offset, torn.bytes, torn.missing_bytes), (6, end as u64, 100, 0));
    assert_eq!(report.kept, [Path::new("/s/kept").join(format!("0000000006-at-{end}.cut"))]);
    assert_eq!(read(&image.vfs, &report.kept[0]), [0xAB; 100]);
    assert_eq!(report.events_lost, 0);
    check(&image.vfs, &image.events, 0);
}

#[test]
fn a_tear_beside_damage_is_cut_as_well() {
    let mut image = Image::sealed();
    let name = "0000000006.active";
    let mut bytes = image.read(name);
    bytes.extend_from_slice(&[0xAB; 100]);
    image.write(name, &bytes);
    let other = "0000000002.sealed";
    let damaged = frames(&image.read(other))[40];
    image.flip(other, damaged.offset + 30, 1);
    image.lose(&[damaged]);
    let report = repaired(&image);
    assert_eq!(report.outcome(), VerifyOutcome::Damaged);
    assert_eq!((report.cut.is_some(), report.kept.len(), report.events_lost), (true, 2, 1));
    check(&image.vfs, &image.events, 1);
}

#[test]
fn what_was_synced_and_is_cut_off_is_named() {
    // C063: cut at an exact frame boundary. Mark file and checkpoint know better.
    for forget in [false, true] {
        let mut image = Image::sealed();
        let name = "0000000006.active";
        let all = frames(&image.read(name));
        let at = all.len() - 30;
        let gone = &all[at..];
        let bytes = image.read(name);
        image.write(name, &bytes[..usize::try_from(gone[0].offset).unwrap()]);
        if forget {
            image.forget_checkpoints();
        }
        let every = image.events.clone();
        image.lose(gone);
        let verified = verify("/s", &image.options(), &()).unwrap();
        let report = repaired(&image);
        assert_eq!((verified.outcome(), report.outcome()), (VerifyOutcome::Torn, VerifyOutcome::Torn));
        assert!(report.cut.as_ref().unwrap().missing_bytes > 0);
        assert_eq!(report.events_lost, (every.len() - image.events.len()) as u64);
        assert_eq!(lost(&report).is_empty(), forget, "only the checkpoint knows which");
        if !forget {
            super::names_what_is_lost(&report, &every, &image.events);
        }
        check(&image.vfs, &image.events, report.events_lost);
    }
}

#[test]
fn a_checkpoint_of_what_was_cut_off_is_not_used_again() {
    let mut image = Image::sealed();
    let name = "0000000006.active";
    let all = frames(&image.read(name));
    let gone = &all[all.len() - 30..];
    let bytes = image.read(name);
    image.write(name, &bytes[..usize::try_from(gone[0].offset).unwrap()]);
    // Without the mark file the checkpoint alone tells that something is missing.
    image.vfs.remove(Path::new("/s/mark")).unwrap();
    image.lose(gone);
    let store = Store::open("/s", image.options()).unwrap();
    assert!(store.opening().torn.as_ref().unwrap().missing_bytes > 0);
    // As many events again, others, and then the process is killed.
    let lost = gone.iter().filter(|frame| frame.event.is_some()).count() as u64;
    for n in 0..lost + 20 {
        let event = event("d", n, &[]);
        store.append(&event).unwrap();
        image.events.push(event);
    }
    let killed = Image { vfs: copy(&image.vfs), events: image.events.clone() };
    drop(store);
    assert!(killed.read(name).len() > bytes.len());
    check(&killed.vfs, &killed.events, lost);
}

#[test]
fn a_segment_without_a_mark_ends_where_its_frames_end() {
    // The last group was never confirmed: a tear, also with whole frames of it behind the bad one.
    let mut image = Image::single(60);
    image.forget_checkpoints();
    image.vfs.remove(Path::new("/s/mark")).unwrap();
    let name = "0000000001.active";
    let all = frames(&image.read(name));
    let groups: Vec<usize> = (0..all.len()).filter(|at| all[*at].kind == 3).collect();
    // Behind the last group of events there is the watermark in a group of its own: cut it off.
    let last = groups[groups.len() - 2];
    let end = all[groups[groups.len() - 1]].offset;
    let bytes = image.read(name);
    image.write(name, &bytes[..usize::try_from(end).unwrap()]);
    image.flip(name, all[last + 3].offset, 8);
    image.lose(&all[last + 3..]);
    let report = repaired(&image);
    assert_eq!(report.outcome(), VerifyOutcome::Torn);
    assert_eq!(report.cut.as_ref().unwrap().offset, all[last + 3].offset);
    assert!(report.cut.as_ref().unwrap().events > 0);
    check(&image.vfs, &image.events, 0);
}

#[test]
fn what_a_checkpoint_covers_is_no_torn_tail() {
    let mut image = Image::single(60);
    image.vfs.remove(Path::new("/s/mark")).unwrap();
    let name = "0000000001.active";
    let all = frames(&image.read(name));
    let groups: Vec<usize> = (0..all.len()).filter(|at| all[*at].kind == 3).collect();
    // Nothing behind the bad event confirms it any more, but the checkpoint does.
    for frame in &all[groups[groups.len() - 1]..] {
        image.flip(name, frame.offset, frame.bytes);
    }
    let damaged = all[groups[groups.len() - 2] + 3];
    image.flip(name, damaged.offset, 8);
    image.lose(&[damaged]);
    let report = repaired(&image);
    assert_eq!(report.outcome(), VerifyOutcome::Damaged);
    assert_eq!((report.cut.is_none(), report.events_lost), (true, 1));
    check(&image.vfs, &image.events, 1);
}
