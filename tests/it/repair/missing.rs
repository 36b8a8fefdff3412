//! Segments that are gone, or that are another store's.

use std::collections::BTreeSet;
use std::path::Path;

use causelog::vfs::{OpenMode, Vfs};
use causelog::{RepairMode, Store, VerifyOutcome, repair, verify};

use super::image::{Image, frames};
use super::{check, names_what_is_lost, repaired};

/// Removes segments and repairs. Returns how many events are lost.
fn without(image: &Image, names: &[&str]) -> Image {
    let mut image = image.copy();
    let all = image.events.clone();
    for name in names {
        let gone = frames(&image.read(name));
        image.lose(&gone);
        image.remove(name);
    }
    let report = repaired(&image);
    assert_eq!(report.outcome(), VerifyOutcome::Damaged);
    assert_eq!(report.kept, [] as [&Path; 0]);
    assert_eq!(report.events_lost, (all.len() - image.events.len()) as u64, "{names:?}");
    names_what_is_lost(&report, &all, &image.events);
    check(&image.vfs, &image.events, report.events_lost);
    image
}

#[test]
fn any_segment_can_be_missing() {
    let (sealed, rolled) = (Image::sealed(), Image::rolled());
    without(&sealed, &["0000000001.sealed"]);
    without(&sealed, &["0000000001.sealed", "0000000002.sealed"]);
    without(&sealed, &["0000000003.sealed"]);
    without(&sealed, &["0000000002.sealed", "0000000003.sealed", "0000000005.sealed"]);
    without(&sealed, &["0000000005.sealed"]);
    without(&sealed, &["0000000006.active"]);
    without(&sealed, &["0000000005.sealed", "0000000006.active"]);
    without(&rolled, &["0000000003.active"]);
    without(&rolled, &["0000000004.active"]);
}

#[test]
fn a_missing_active_segment_is_counted_by_the_mark_file() {
    for names in [&["0000000005.active"][..], &["0000000004.active", "0000000005.active"]] {
        let mut image = Image::rolled();
        image.forget_checkpoints();
        let mut lost = 0;
        for name in names {
            let gone = frames(&image.read(name));
            // Nothing tells how many events were in a segment that was rolled and not sealed.
            lost = gone.iter().filter(|frame| frame.event.is_some()).count() as u64;
            image.lose(&gone);
            image.remove(name);
        }
        let report = repaired(&image);
        assert_eq!(report.events_lost, lost);
        assert!(image.files().contains(&"0000000006.active".to_owned()), "{:?}", image.files());
        check(&image.vfs, &image.events, lost);
    }
}

#[test]
fn without_a_mark_file_a_new_segment_is_started() {
    let mut image = Image::sealed();
    image.forget_checkpoints();
    let gone = frames(&image.read("0000000006.active"));
    image.lose(&gone);
    image.remove("0000000006.active");
    image.vfs.remove(Path::new("/s/mark")).unwrap();
    let report = repaired(&image);
    assert_eq!(report.actions, ["start segment 6"]);
    check(&image.vfs, &image.events, 0);
}

#[test]
fn the_only_head_can_be_lost() {
    let image = Image::single(60);
    for forget in [false, true] {
        let image = image.copy();
        if forget {
            image.forget_checkpoints();
        }
        image.flip("0000000001.active", 0, 128);
        assert!(Store::open("/s", image.options()).is_err());
        let report = repaired(&image);
        assert_eq!(report.events_lost, 0);
        check(&image.vfs, &image.events, 0);
        // Without the mark file nothing tells whose the frames are.
        let image = Image::single(60);
        image.flip("0000000001.active", 0, 128);
        image.vfs.remove(Path::new("/s/mark")).unwrap();
        let refused = causelog::repair("/s", &image.options(), causelog::RepairMode::Apply, &()).unwrap_err();
        assert_eq!(refused.kind(), causelog::ErrorKind::Corrupt);
    }
}

#[test]
fn a_segment_of_another_store_is_put_aside() {
    let (ours, theirs) = (Image::sealed(), Image::sealed());
    let own = Store::open_read_only("/s", ours.options()).unwrap().identity();
    for name in ours.files() {
        let mut image = ours.copy();
        let foreign = theirs.read(&name);
        let gone = frames(&image.read(&name));
        image.write(&name, &foreign);
        let all = image.events.clone();
        image.lose(&gone);
        let store = Store::open("/s", image.options()).unwrap();
        assert!(!store.opening().damage.is_empty());
        assert_eq!(store.identity(), own);
        drop(store);
        let report = repaired(&image);
        assert_eq!(report.kept.len(), 1);
        assert!(super::image::read(&image.vfs, &report.kept[0]) == foreign);
        names_what_is_lost(&report, &all, &image.events);
        check(&image.vfs, &image.events, (all.len() - image.events.len()) as u64);
    }
}

#[test]
fn a_sealed_form_of_another_store_does_not_cost_the_active_one() {
    let (image, theirs) = (Image::rolled(), Image::sealed());
    for number in [3, 5] {
        let image = image.copy();
        image.write(&format!("{number:010}.sealed"), &theirs.read(&format!("{number:010}.sealed")));
        drop(Store::open("/s", image.options()));
        let held: BTreeSet<String> = image.files().into_iter().collect();
        let report = repaired(&image);
        assert_eq!(report.events_lost, 0, "{held:?}");
        check(&image.vfs, &image.events, 0);
    }
}

#[test]
fn a_mark_of_another_store_outvotes_no_segment() {
    let theirs = Image::sealed();
    for image in [Image::sealed(), Image::single(40)] {
        let mark = super::image::read(&theirs.vfs, Path::new("/s/mark"));
        image.vfs.remove(Path::new("/s/mark")).unwrap();
        image.vfs.open(Path::new("/s/mark"), OpenMode::Create).unwrap().write_at(&mark, 0).unwrap();
        let plan = repair("/s", &image.options(), RepairMode::DryRun, &()).unwrap();
        assert_eq!((plan.outcome(), plan.actions.clone()), (VerifyOutcome::Fine, vec![]), "{plan:?}");
        check(&image.vfs, &image.events, 0);
        // With damage beside it, a repair keeps what it would keep without.
        if image.files().len() > 1 {
            let name = image.files()[1].clone();
            let all = frames(&image.read(&name));
            let event = *all.iter().find(|frame| frame.event.is_some()).unwrap();
            let mut bytes = image.read(&name);
            bytes[usize::try_from(event.offset).unwrap() + 20] ^= 1;
            image.write(&name, &bytes);
            let report = repair("/s", &image.options(), RepairMode::Apply, &()).unwrap();
            assert_eq!(report.events_lost, 1, "{report:?}");
        }
    }
}

#[test]
fn a_store_whose_segments_are_all_gone_is_no_empty_place() {
    for left in ["/s/mark", "/s/index.redb"] {
        let image = Image::single(20);
        for name in image.files() {
            image.vfs.remove(&Path::new("/s/log").join(name)).unwrap();
        }
        let other = if left == "/s/mark" { "/s/index.redb" } else { "/s/mark" };
        image.vfs.remove(Path::new(other)).unwrap();
        let kinds = [
            Store::create("/s", image.options()).unwrap_err(),
            Store::open("/s", image.options()).unwrap_err(),
            Store::open_or_create("/s", image.options()).unwrap_err(),
            Store::open_read_only("/s", image.options()).unwrap_err(),
            verify("/s", &image.options(), &()).unwrap_err(),
            repair("/s", &image.options(), RepairMode::DryRun, &()).unwrap_err(),
        ];
        for error in kinds {
            assert_eq!(error.kind(), causelog::ErrorKind::Corrupt, "{error}");
        }
    }
}

#[test]
fn high_marks_tell_of_what_a_repair_lost() {
    let mut image = Image::sealed();
    let name = image.files().last().unwrap().clone();
    let gone = frames(&image.read(&name));
    let before =
        Store::open_read_only("/s", image.options()).unwrap().snapshot().unwrap().high_marks().unwrap();
    image.lose(&gone);
    image.remove(&name);
    repaired(&image);
    let store = Store::open("/s", image.options()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let marks = snapshot.high_marks().unwrap();
    let held = snapshot.cursor().unwrap();
    // What is lost and named by what is left is not taken again, and the marks say so.
    for (host, mark) in &marks {
        assert!(*mark <= before[host] && held.get(host).is_none_or(|held| held.seq <= *mark));
        let id = causelog::EventId::new("new").unwrap();
        let next = crate::support::named(id, host.as_str(), mark.get(), Vec::new());
        assert!(store.append(&next).is_err(), "{host:?} {mark:?}");
    }
    let lost = |host: &causelog::HostId| held.get(host).is_none_or(|held| held.seq < marks[host]);
    assert!(marks.keys().any(lost), "{marks:?} {held:?}");
}
