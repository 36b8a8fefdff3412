//! Stores to be damaged, and where in their files what stands.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use causelog::vfs::{LockMode, MemoryVfs, OpenMode, Vfs, VfsFile, VfsLock};
use causelog::{BatchMode, Event, EventFields, Options, Store};

use crate::support::{event, small};

pub const HOSTS: [&str; 3] = ["a", "b", "c"];

/// A store and what was put into it.
#[derive(Debug)]
pub struct Image {
    pub vfs: MemoryVfs,
    pub events: Vec<Event>,
}

/// Forbids sealing: rolled segments stay.
#[derive(Debug)]
struct NoSealing(MemoryVfs);

impl Vfs for NoSealing {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        if mode == OpenMode::Create && path.extension().is_some_and(|end| end == "sealing") {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }

    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>> {
        self.0.try_lock(path, mode, create)
    }
}

impl Image {
    /// Five sealed segments and an active one, closed.
    pub fn sealed() -> Self {
        let mut image = Self { vfs: MemoryVfs::new(), events: Vec::new() };
        let store = Store::create("/s", image.options()).unwrap();
        image.fill_up_to(&store, 6);
        store.close().unwrap();
        assert_eq!(image.files(), numbered(5, 5));
        image
    }

    /// Two sealed segments, two rolled ones and an active one, as a crash leaves them.
    pub fn rolled() -> Self {
        let mut image = Self { vfs: MemoryVfs::new(), events: Vec::new() };
        let store = Store::create("/s", image.options()).unwrap();
        image.fill_up_to(&store, 3);
        store.close().unwrap();
        let options = image.options().vfs(Arc::new(NoSealing(image.vfs.clone()))).background(true);
        let store = Store::open("/s", options.idle_after(Duration::from_hours(1))).unwrap();
        image.fill_up_to(&store, 5);
        drop(store);
        assert_eq!(image.files(), numbered(2, 4));
        image
    }

    /// One segment, which takes appends.
    pub fn single(events: usize) -> Self {
        let mut image = Self { vfs: MemoryVfs::new(), events: Vec::new() };
        let store = Store::create("/s", image.options()).unwrap();
        image.fill(&store, events);
        store.close().unwrap();
        image
    }

    pub fn options(&self) -> Options {
        small().vfs(Arc::new(self.vfs.clone()))
    }

    /// Appends events of three hosts, with gaps in their seq, which name each other; ten at a time.
    pub fn fill(&mut self, store: &Store, count: usize) {
        let before = self.events.len();
        for n in before..before + count {
            let causes: Vec<&Event> = self.events.iter().rev().step_by(3).take(n % 3).collect();
            let seq = (n / 3 + n / 30) as u64;
            let event = event(HOSTS[n % 3], seq, &causes);
            self.events.push(event);
        }
        for batch in self.events[before..].chunks(10) {
            let report = store.append_batch(batch, BatchMode::StopAtFirst).unwrap();
            assert_eq!(report.stored(), batch.len());
        }
    }

    /// Appends until there are so many segments, and a good part of the last one.
    fn fill_up_to(&mut self, store: &Store, segments: usize) {
        while self.files().len() < segments {
            self.fill(store, 10);
        }
        self.fill(store, 150);
    }

    /// A copy that can be damaged.
    pub fn copy(&self) -> Self {
        Self { vfs: copy(&self.vfs), events: self.events.clone() }
    }

    /// Names of the segment files.
    pub fn files(&self) -> Vec<String> {
        let names = self.vfs.list(Path::new("/s/log")).unwrap();
        names.into_iter().filter(|name| name.ends_with("ed") || name.ends_with("active")).collect()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        read(&self.vfs, &log(name))
    }

    /// Replaces a file.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = log(name);
        if self.vfs.exists(&path).unwrap() {
            self.vfs.remove(&path).unwrap();
        }
        self.vfs.open(&path, OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    }

    pub fn remove(&self, name: &str) {
        self.vfs.remove(&log(name)).unwrap();
    }

    /// Turns all bits of some bytes of a file.
    pub fn flip(&self, name: &str, offset: u64, bytes: usize) {
        let file = self.vfs.open(&log(name), OpenMode::Write).unwrap();
        let mut buffer = vec![0; bytes];
        let read = file.read_at(&mut buffer, offset).unwrap();
        buffer.truncate(read);
        for byte in &mut buffer {
            *byte = !*byte;
        }
        file.write_at(&buffer, offset).unwrap();
    }

    /// Removes every checkpoint: what a repair must do without.
    pub fn forget_checkpoints(&self) {
        for name in self.vfs.list(Path::new("/s/log")).unwrap() {
            if name.ends_with(".checkpoint") {
                self.remove(&name);
            }
        }
    }

    /// Takes events out of what is expected, those of these frames.
    pub fn lose(&mut self, frames: &[Frame]) {
        let lost: Vec<(usize, u64)> = frames.iter().filter_map(|frame| frame.event).collect();
        self.events.retain(|event| {
            !lost.iter().any(|(host, seq)| HOSTS[*host] == event.host() && *seq == event.seq().get())
        });
    }
}

/// File names of segments up to `sealed` in sealed form, up to `rolled` rolled, and an active one.
pub fn numbered(sealed: u64, rolled: u64) -> Vec<String> {
    let form = |number: &u64| if *number <= sealed { "sealed" } else { "active" };
    (1..=rolled + 1).map(|number| format!("{number:010}.{}", form(&number))).collect()
}

pub fn log(name: &str) -> PathBuf {
    Path::new("/s/log").join(name)
}

pub fn read(vfs: &dyn Vfs, path: &Path) -> Vec<u8> {
    let file = vfs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

pub fn copy(vfs: &MemoryVfs) -> MemoryVfs {
    let copy = MemoryVfs::new();
    for dir in ["/s", "/s/log", "/s/ids", "/s/kept"].map(Path::new) {
        if vfs.exists(dir).unwrap() {
            copy.create_dir_all(dir).unwrap();
            for name in vfs.list(dir).unwrap() {
                let path = dir.join(name);
                copy.open(&path, OpenMode::Create).unwrap().write_at(&read(vfs, &path), 0).unwrap();
            }
        }
    }
    copy
}

/// A frame of a segment file.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub offset: u64,
    pub bytes: usize,
    pub kind: u8,
    /// Host number and seq of an event.
    pub event: Option<(usize, u64)>,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(word)
}

/// Lists the frames of a sound segment file.
pub fn frames(bytes: &[u8]) -> Vec<Frame> {
    let state_bytes = usize::try_from(number::<4>(bytes, 12)).unwrap();
    let mut at = (128 + state_bytes).next_multiple_of(64);
    let mut frames = Vec::new();
    while at + 16 <= bytes.len() && bytes[at + 10..at + 12] == [0x5E, 0xCA] {
        let body = usize::try_from(number::<4>(bytes, at)).unwrap();
        let root = at + 16 + body.saturating_sub(72);
        let event = (bytes[at + 8] == 1)
            .then(|| (usize::try_from(number::<4>(bytes, root + 36)).unwrap(), number::<8>(bytes, root)));
        let whole = (16 + body).next_multiple_of(8);
        frames.push(Frame { offset: at as u64, bytes: whole, kind: bytes[at + 8], event });
        at += whole;
    }
    assert!(!frames.is_empty());
    frames
}

/// Lists the frames of each segment file.
pub fn all_frames(image: &Image) -> BTreeMap<String, Vec<Frame>> {
    image.files().into_iter().map(|name| (name.clone(), frames(&image.read(&name)))).collect()
}
