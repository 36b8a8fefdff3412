//! Faults, and power cuts against a plain model.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::*;

fn at(name: &str) -> &Path {
    Path::new(name)
}

fn contents(vfs: &dyn Vfs, name: &Path) -> Option<Vec<u8>> {
    Some(vfs.open(name, OpenMode::Read).ok()?.map().unwrap().to_vec())
}

fn faulty() -> FaultyVfs {
    FaultyVfs::recording(Arc::new(MemoryVfs::new()))
}

#[test]
fn the_nth_call_fails_once_or_for_good() {
    let vfs = faulty();
    let file = vfs.open(at("a"), OpenMode::Create).unwrap();
    vfs.arm(Fault::nth(Calls::Only(Call::Write), 2, Failure::MEDIUM));
    let outcomes: Vec<bool> = (0..4).map(|_| file.write_at(b"x", 0).is_ok()).collect();
    assert_eq!(outcomes, [true, false, true, true]);
    vfs.disarm();
    vfs.arm(Fault::nth(Calls::Any, 2, Failure::Kind(ErrorKind::Other)).for_good());
    assert!(file.read_at(&mut [0], 0).is_ok());
    assert!(file.sync().is_err());
    assert!(vfs.rename(at("a"), at("b")).is_err());
    assert!(vfs.exists(at("a")).is_err());
    assert_eq!(vfs.failed(), 4);
    vfs.disarm();
    assert!(vfs.exists(at("a")).unwrap());
    assert_eq!(vfs.calls(Calls::Only(Call::Write)), 4);
    assert_eq!(vfs.calls(Calls::Changing), 7);
}

#[cfg(unix)]
#[test]
fn errors_carry_their_number() {
    let vfs = faulty();
    for (failure, number) in [(Failure::MEDIUM, 5), (Failure::NO_SPACE, 28)] {
        vfs.arm(Fault::nth(Calls::Any, 1, failure));
        let error = vfs.open(at("a"), OpenMode::Create).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(number));
    }
    assert_eq!(Failure::NO_SPACE.error().kind(), ErrorKind::StorageFull);
}

#[test]
fn effects_before_a_failure() {
    let vfs = faulty();
    let file = vfs.open(at("a"), OpenMode::Create).unwrap();
    vfs.arm(Fault::nth(Calls::Any, 1, Failure::MEDIUM).after_bytes(3));
    assert!(file.write_at(b"12345", 0).is_err());
    assert_eq!(contents(&vfs, at("a")).unwrap(), b"123");
    vfs.arm(Fault::nth(Calls::Any, 1, Failure::MEDIUM).after_effect());
    assert!(file.write_at(b"12345", 0).is_err());
    assert_eq!(contents(&vfs, at("a")).unwrap(), b"12345");
    vfs.arm(Fault::nth(Calls::Any, 1, Failure::MEDIUM).after_effect());
    assert!(vfs.rename(at("a"), at("b")).is_err());
    assert!(vfs.exists(at("b")).unwrap());
}

#[test]
fn space_runs_out() {
    let vfs = faulty();
    let file = vfs.open(at("a"), OpenMode::Create).unwrap();
    file.write_at(&[1; 100], 0).unwrap();
    vfs.limit_space(Some(50));
    file.write_at(&[2; 100], 0).unwrap();
    assert_eq!(file.write_at(&[3; 100], 80).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(contents(&vfs, at("a")).unwrap(), [[2; 80].as_slice(), &[3; 70]].concat());
    assert_eq!(file.set_size(151).unwrap_err().kind(), ErrorKind::StorageFull);
    file.set_size(140).unwrap();
    let other = vfs.open(at("b"), OpenMode::Create).unwrap();
    assert_eq!(other.write_at(&[4; 11], 0).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(other.size().unwrap(), 10);
    vfs.rename(at("a"), at("b")).unwrap();
    vfs.remove(at("b")).unwrap();
    let third = vfs.open(at("c"), OpenMode::Create).unwrap();
    assert!(third.write_at(&[5; 151], 0).is_err());
    assert_eq!(third.size().unwrap(), 150);
}

#[test]
fn what_was_there_before_is_durable() {
    let inner = MemoryVfs::new();
    inner.create_dir_all(at("/d")).unwrap();
    for name in ["/d/touched", "/d/untouched", "/d/removed"] {
        inner.open(at(name), OpenMode::Create).unwrap().write_at(name.as_bytes(), 0).unwrap();
    }
    let vfs = FaultyVfs::recording(Arc::new(inner));
    vfs.open(at("/d/touched"), OpenMode::Write).unwrap().write_at(b"!", 20).unwrap();
    vfs.remove(at("/d/removed")).unwrap();
    vfs.open(at("/d/new"), OpenMode::Create).unwrap();
    let mut removed = BTreeSet::new();
    for seed in 0..50 {
        let image = vfs.crash(seed).unwrap();
        assert_eq!(contents(&image, at("/d/untouched")).unwrap(), b"/d/untouched");
        assert!(contents(&image, at("/d/touched")).unwrap().starts_with(b"/d/touched"));
        removed.insert(contents(&image, at("/d/removed")));
    }
    assert_eq!(removed, BTreeSet::from([None, Some(b"/d/removed".to_vec())]));
    vfs.sync_dir(at("/d")).unwrap();
    assert_eq!(contents(&vfs.crash(0).unwrap(), at("/d/removed")), None);
    assert_eq!(contents(&vfs.crash(0).unwrap(), at("/d/new")), Some(Vec::new()));
}

#[test]
fn a_directory_that_was_never_synced_may_take_its_files_along() {
    let vfs = faulty();
    vfs.create_dir_all(at("/d/e")).unwrap();
    let file = vfs.open(at("/d/e/a"), OpenMode::Create).unwrap();
    file.write_at(b"x", 0).unwrap();
    file.sync().unwrap();
    vfs.sync_dir(at("/d/e")).unwrap();
    vfs.sync_dir(at("/d")).unwrap();
    let there = |vfs: &FaultyVfs, seed| contents(&vfs.crash(seed).unwrap(), at("/d/e/a"));
    assert!((0..50).any(|seed| there(&vfs, seed).is_none()));
    assert!((0..50).any(|seed| there(&vfs, seed).is_some()));
    vfs.sync_dir(at("/")).unwrap();
    assert!((0..50).all(|seed| there(&vfs, seed).as_deref() == Some(b"x")));
}

#[test]
fn a_failed_sync_leaves_doubt_that_a_later_one_does_not_lift() {
    let vfs = faulty();
    let file = vfs.open(at("a"), OpenMode::Create).unwrap();
    vfs.sync_dir(at("")).unwrap();
    file.write_at(&[1; 1024], 0).unwrap();
    vfs.arm(Fault::nth(Calls::Any, 1, Failure::MEDIUM));
    assert!(file.sync().is_err());
    file.write_at(&[2; 10], 0).unwrap();
    file.sync().unwrap();
    let expected = [[2; 10].as_slice(), &[1; 502], &[0; 512]].concat();
    assert_eq!(contents(&vfs.crash(3).unwrap(), at("a")).unwrap(), expected);
    assert_eq!(&contents(&vfs, at("a")).unwrap()[10..], [1; 1014]);
}

/// One file of the model: every content it had since its last sync, the synced one first.
struct Plain {
    versions: Vec<Vec<u8>>,
}

impl Plain {
    fn now(&self) -> &Vec<u8> {
        self.versions.last().unwrap()
    }

    /// Each sector, and the length, must be as they were at some moment.
    fn explains(&self, image: &[u8]) -> bool {
        let sector = |bytes: &[u8], start: usize, len: usize| -> Vec<u8> {
            (start..start + len).map(|i| bytes.get(i).copied().unwrap_or(0)).collect()
        };
        self.versions.iter().any(|v| v.len() == image.len())
            && image
                .chunks(512)
                .enumerate()
                .all(|(i, chunk)| self.versions.iter().any(|v| sector(v, i * 512, chunk.len()) == chunk))
    }
}

/// The model of a directory: names now, durable names, and every file that each name led to since
/// the directory's last sync.
#[derive(Default)]
struct Names {
    now: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    led_to: BTreeMap<PathBuf, BTreeSet<Option<usize>>>,
}

impl Names {
    fn set(&mut self, name: &Path, file: Option<usize>) {
        let before = self.durable.get(name).copied();
        self.led_to.entry(name.to_path_buf()).or_default().extend([before, file]);
        match file {
            Some(file) => self.now.insert(name.to_path_buf(), file),
            None => self.now.remove(name),
        };
    }
}

#[test]
fn every_image_is_explained_by_a_plain_model() {
    let (mut sizes, mut losses) = (BTreeSet::new(), 0);
    for seed in 0..300 {
        run(seed, &mut sizes, &mut losses);
    }
    // The images differ, or the test would show nothing.
    assert!(sizes.len() > 100 && losses > 100, "{} sizes, {losses} losses", sizes.len());
}

fn run(seed: u64, sizes: &mut BTreeSet<usize>, losses: &mut usize) {
    let mut random = random::SplitMix64(seed);
    let vfs = faulty();
    vfs.create_dir_all(at("/d")).unwrap();
    vfs.sync_dir(at("/")).unwrap();
    let (mut files, mut handles, mut names) = (Vec::<Plain>::new(), Vec::new(), Names::default());
    for _ in 0..random.below(60) {
        let name = PathBuf::from(format!("/d/{}", random.below(4)));
        let held = names.now.get(&name).copied();
        match (random.below(12), held) {
            (0..5, None) => {
                handles.push(vfs.open(&name, OpenMode::Create).unwrap());
                files.push(Plain { versions: vec![Vec::new()] });
                names.set(&name, Some(files.len() - 1));
            }
            (0..5, Some(file)) => {
                let (offset, len) = (random.below(2000), 1 + random.below(1500));
                let bytes = vec![u8::try_from(1 + random.below(255)).unwrap(); len];
                handles[file].write_at(&bytes, offset as u64).unwrap();
                let mut now = files[file].now().clone();
                now.resize(now.len().max(offset + len), 0);
                now[offset..offset + len].copy_from_slice(&bytes);
                files[file].versions.push(now);
            }
            (5, Some(file)) => {
                let size = random.below(3000);
                handles[file].set_size(size as u64).unwrap();
                let mut now = files[file].now().clone();
                now.resize(size, 0);
                files[file].versions.push(now);
            }
            (6 | 7, Some(file)) => {
                handles[file].sync().unwrap();
                files[file].versions = vec![files[file].now().clone()];
            }
            (8 | 9, Some(file)) => {
                let to = PathBuf::from(format!("/d/{}", random.below(4)));
                vfs.rename(&name, &to).unwrap();
                if name != to {
                    names.set(&name, None);
                    names.set(&to, Some(file));
                }
            }
            (10, Some(_)) => {
                vfs.remove(&name).unwrap();
                names.set(&name, None);
            }
            (11, _) => {
                vfs.sync_dir(at("/d")).unwrap();
                names.durable = names.now.clone();
                names.led_to.clear();
            }
            _ => {}
        }
    }
    for cut in 0..8 {
        let image = vfs.crash(cut).unwrap();
        let again = vfs.crash(cut).unwrap();
        assert_eq!(image.paths(), again.paths(), "seed {seed} cut {cut}");
        for name in image.paths() {
            let bytes = contents(&image, &name).unwrap();
            assert_eq!(contents(&again, &name).as_ref(), Some(&bytes), "seed {seed} cut {cut}");
            let durable = BTreeSet::from([names.durable.get(&name).copied()]);
            let candidates = names.led_to.get(&name).unwrap_or(&durable);
            let explained = candidates.iter().flatten().any(|file| files[*file].explains(&bytes));
            assert!(explained, "seed {seed} cut {cut}: {name:?}");
            sizes.insert(bytes.len());
        }
        for (name, file) in &names.durable {
            let there = contents(&image, name);
            let untouched = !names.led_to.contains_key(name);
            assert!(there.is_some() || !untouched, "seed {seed} cut {cut}: {name:?} is gone");
            if untouched && files[*file].versions.len() == 1 {
                assert_eq!(there.as_ref(), Some(files[*file].now()), "seed {seed} cut {cut}: {name:?}");
            }
        }
        *losses += names.now.keys().filter(|name| contents(&image, name).is_none()).count();
    }
    for (name, file) in &names.now {
        assert_eq!(contents(&vfs, name).as_ref(), Some(files[*file].now()), "seed {seed}");
    }
}
