//! Power can go at any call of a repair, and any call can fail.

use std::path::Path;
use std::sync::Arc;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};
use causelog::{Event, RepairMode, Store, repair};

use super::check;
use super::image::{Image, copy, frames, read};
use crate::support::small;

const SEALED: [&str; 3] = ["0000000002.sealed", "0000000005.sealed", "0000000006.active"];
const ROLLED: [&str; 3] = ["0000000002.sealed", "0000000004.active", "0000000005.active"];

fn damaged_in_many_places(rolled: bool) -> (Image, u64) {
    let mut image = if rolled { Image::rolled() } else { Image::sealed() };
    let before = image.events.len();
    let files = if rolled { ROLLED } else { SEALED };
    let missing = if rolled { "0000000001.sealed" } else { "0000000003.sealed" };
    for name in files {
        let all = frames(&image.read(name));
        let hit: Vec<_> =
            all.iter().filter(|frame| frame.event.is_some()).skip(5).step_by(9).take(3).copied().collect();
        for frame in &hit {
            image.flip(name, frame.offset + 24, 4);
        }
        image.lose(&hit);
    }
    if rolled {
        image.forget_checkpoints();
    }
    let gone = frames(&image.read(missing));
    image.lose(&gone);
    image.remove(missing);
    let lost = (before - image.events.len()) as u64;
    (image, lost)
}

/// Whoever opens the store in between sees that it is damaged, or what is lost.
fn says_so(vfs: &MemoryVfs, lost: u64) {
    let store = Store::open_read_only("/s", small().vfs(Arc::new(vfs.clone()))).unwrap();
    let opening = store.opening();
    let torn = opening.torn.as_ref().is_some_and(|torn| torn.missing_bytes + torn.missing_events > 0);
    assert!(!opening.damage.is_empty() || torn || opening.lost == lost, "{opening:?}");
}

fn come_to_the_same_end(vfs: &MemoryVfs, events: &[Event], lost: u64, thorough: bool) {
    says_so(vfs, lost);
    repair("/s", &small().vfs(Arc::new(vfs.clone())), RepairMode::Apply, &()).unwrap();
    if thorough {
        check(vfs, events, lost);
    } else {
        let store = super::open(small().vfs(Arc::new(vfs.clone())));
        super::holds(&store, events, lost);
    }
}

/// What was damaged is in some copy, as it was.
fn is_kept(image: &Image, after: &MemoryVfs, damaged: &[&str]) {
    let kept = Path::new("/s/kept");
    let copies: Vec<Vec<u8>> =
        after.list(kept).unwrap().iter().map(|name| read(after, &kept.join(name))).collect();
    for name in damaged {
        assert!(copies.contains(&image.read(name)), "{name}");
    }
}

/// Cuts power at each changing call; returns how many there are.
fn cut_each_call(image: &Image, damaged: &[&str], lost: u64) -> u64 {
    for nth in 1.. {
        let faulty = FaultyVfs::recording(Arc::new(copy(&image.vfs)));
        let options = small().vfs(Arc::new(faulty.clone()));
        faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
        let outcome = repair("/s", &options, RepairMode::Apply, &());
        if faulty.failed() == 0 {
            outcome.unwrap();
            return nth;
        }
        assert_ne!(outcome.unwrap_err().kind(), causelog::ErrorKind::Corrupt);
        for seed in 0..4 {
            let after = faulty.crash(nth * 100 + seed).unwrap();
            come_to_the_same_end(&after, &image.events, lost, seed == 0 && nth % 5 == 0);
            is_kept(image, &after, damaged);
        }
    }
    0
}

#[test]
fn power_can_go_at_any_call() {
    for rolled in [false, true] {
        let (image, lost) = damaged_in_many_places(rolled);
        assert!(cut_each_call(&image, if rolled { &ROLLED } else { &SEALED }, lost) > 30);
    }
}

#[test]
fn power_can_go_while_a_tail_is_cut() {
    let mut image = Image::sealed();
    let before = image.events.len();
    let name = "0000000006.active";
    let all = frames(&image.read(name));
    let gone = &all[all.len() - 20..];
    let mut bytes = image.read(name);
    bytes.truncate(usize::try_from(gone[0].offset).unwrap());
    bytes.extend_from_slice(&[0xCD; 50]);
    image.write(name, &bytes);
    image.lose(gone);
    let lost = (before - image.events.len()) as u64;
    assert!(cut_each_call(&image, &[], lost) > 5);
}

#[test]
fn each_call_can_fail_once() {
    let (image, lost) = damaged_in_many_places(false);
    for failure in [Failure::MEDIUM, Failure::NO_SPACE] {
        for nth in 1.. {
            let vfs = copy(&image.vfs);
            let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
            faulty.arm(Fault::nth(Calls::Changing, nth, failure));
            let outcome = repair("/s", &small().vfs(Arc::new(faulty.clone())), RepairMode::Apply, &());
            if faulty.failed() == 0 {
                outcome.unwrap();
                break;
            }
            come_to_the_same_end(&vfs, &image.events, lost, false);
        }
    }
}
