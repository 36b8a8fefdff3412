//! What every file system must do alike.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CountingVfs, FaultyVfs, LockMode, MemoryVfs, OpenMode, RealVfs, Vfs};

/// Runs a test on each file system, in an empty directory.
fn everywhere(test: impl Fn(&dyn Vfs, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    test(&RealVfs, dir.path());
    for root in ["/root", "root/with/../more/./parts"] {
        let memory = MemoryVfs::new();
        memory.create_dir_all(Path::new(root)).unwrap();
        test(&memory, Path::new(root));
    }
    let counting = CountingVfs::new(Arc::new(MemoryVfs::new()));
    test(&counting, Path::new(""));
    test(&FaultyVfs::new(Arc::new(MemoryVfs::new())), Path::new(""));
    test(&FaultyVfs::recording(Arc::new(MemoryVfs::new())), Path::new("/"));
}

fn read(vfs: &dyn Vfs, path: &Path) -> Vec<u8> {
    let file = vfs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap() + 1];
    let n = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(n);
    bytes
}

fn write(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) {
    let file = vfs.open(path, OpenMode::Create).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
}

fn kind<T: std::fmt::Debug>(result: std::io::Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn positioned_reads_and_writes() {
    everywhere(|vfs, root| {
        let file = vfs.open(&root.join("a"), OpenMode::Create).unwrap();
        file.write_at(b"world", 7).unwrap();
        file.write_at(b"hello, ", 0).unwrap();
        file.write_at(b"", 100).unwrap();
        assert_eq!(file.size().unwrap(), 12);
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(&mut buffer, 7).unwrap(), 5);
        assert_eq!(&buffer[..5], b"world");
        assert_eq!(file.read_at(&mut buffer, 12).unwrap(), 0);
        assert_eq!(file.read_at(&mut buffer, 1 << 40).unwrap(), 0);
        file.write_at(b"!", 14).unwrap();
        file.set_size(16).unwrap();
        assert_eq!(read(vfs, &root.join("a")), b"hello, world\0\0!\0");
        file.set_size(5).unwrap();
        file.set_size(7).unwrap();
        assert_eq!(read(vfs, &root.join("a")), b"hello\0\0");
    });
}

#[test]
fn open_modes() {
    everywhere(|vfs, root| {
        let path = root.join("a");
        assert_eq!(kind(vfs.open(&path, OpenMode::Read)), ErrorKind::NotFound);
        assert_eq!(kind(vfs.open(&path, OpenMode::Write)), ErrorKind::NotFound);
        assert_eq!(kind(vfs.open(&root.join("no/a"), OpenMode::Create)), ErrorKind::NotFound);
        vfs.open(&path, OpenMode::Create).unwrap();
        assert_eq!(kind(vfs.open(&path, OpenMode::Create)), ErrorKind::AlreadyExists);
        vfs.open(&path, OpenMode::Write).unwrap().write_at(b"x", 0).unwrap();
        let reader = vfs.open(&path, OpenMode::Read).unwrap();
        assert!(reader.write_at(b"y", 0).is_err());
        assert!(reader.set_size(0).is_err());
        assert_eq!(read(vfs, &path), b"x");
        assert!(vfs.open(root, OpenMode::Write).is_err());
    });
}

#[test]
fn names() {
    everywhere(|vfs, root| {
        let at = |name: &str| -> PathBuf { root.join(name) };
        assert!(vfs.exists(root).unwrap());
        assert_eq!(vfs.list(&at("sub")).unwrap(), Vec::<String>::new());
        vfs.create_dir_all(&at("sub/deep")).unwrap();
        vfs.create_dir_all(&at("sub/deep")).unwrap();
        write(vfs, &at("sub/b"), b"b");
        write(vfs, &at("sub/deep/c"), b"c");
        write(vfs, &at("sub/a"), b"a");
        write(vfs, &at("sub-not"), b"a");
        assert_eq!(vfs.list(&at("sub")).unwrap(), ["a", "b"]);
        assert_eq!(vfs.list(root).unwrap(), ["sub-not"]);

        vfs.rename(&at("sub/a"), &at("sub/b")).unwrap();
        assert_eq!(read(vfs, &at("sub/b")), b"a");
        assert!(!vfs.exists(&at("sub/a")).unwrap());
        assert_eq!(kind(vfs.rename(&at("sub/a"), &at("sub/b"))), ErrorKind::NotFound);
        assert_eq!(kind(vfs.rename(&at("sub/b"), &at("no/b"))), ErrorKind::NotFound);
        assert_eq!(kind(vfs.remove(&at("sub/a"))), ErrorKind::NotFound);
        vfs.remove(&at("sub/b")).unwrap();
        assert_eq!(vfs.list(&at("sub")).unwrap(), Vec::<String>::new());

        vfs.sync_dir(root).unwrap();
        vfs.sync_dir(&at("sub")).unwrap();
        assert_eq!(kind(vfs.sync_dir(&at("no"))), ErrorKind::NotFound);
        assert!(vfs.create_dir_all(&at("sub-not/x")).is_err());
    });
}

#[cfg(unix)]
#[test]
fn a_removed_file_stays_usable() {
    everywhere(|vfs, root| {
        let (a, b) = (root.join("a"), root.join("b"));
        let file = vfs.open(&a, OpenMode::Create).unwrap();
        write(vfs, &b, b"new");
        file.write_at(b"old", 0).unwrap();
        vfs.rename(&b, &a).unwrap();
        file.write_at(b"est", 3).unwrap();
        assert_eq!(&*file.map().unwrap(), b"oldest");
        assert_eq!(read(vfs, &a), b"new");
    });
}

#[test]
fn maps() {
    everywhere(|vfs, root| {
        let file = vfs.open(&root.join("a"), OpenMode::Create).unwrap();
        assert_eq!(&*file.map().unwrap(), b"");
        file.write_at(&[7; 10_000], 0).unwrap();
        let mapping = vfs.open(&root.join("a"), OpenMode::Read).unwrap().map().unwrap();
        drop(file);
        assert_eq!(&*mapping, [7; 10_000]);
        assert_eq!(mapping.as_ptr().align_offset(16), 0);
    });
}

#[test]
fn locks_exclude_within_one_process() {
    everywhere(|vfs, root| {
        let path = root.join("lock");
        let lock = |mode| vfs.try_lock(&path, mode, true).unwrap();
        assert_eq!(kind(vfs.try_lock(&path, LockMode::Shared, false)), ErrorKind::NotFound);
        let writer = lock(LockMode::Exclusive);
        assert!(writer.is_some());
        assert!(lock(LockMode::Exclusive).is_none());
        assert!(lock(LockMode::Shared).is_none());
        drop(writer);
        let readers = [lock(LockMode::Shared), lock(LockMode::Shared)];
        assert!(readers.iter().all(Option::is_some));
        assert!(lock(LockMode::Exclusive).is_none());
        let [first, second] = readers;
        drop(first);
        assert!(lock(LockMode::Exclusive).is_none());
        drop(second);
        assert!(lock(LockMode::Exclusive).is_some());
        assert!(vfs.try_lock(&root.join("no/lock"), LockMode::Exclusive, true).is_err());
    });
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: there is no mkfifo here");
        return;
    }
    for mode in [OpenMode::Read, OpenMode::Write] {
        RealVfs.open(&path, mode).unwrap_err();
    }
    for mode in [LockMode::Shared, LockMode::Exclusive] {
        RealVfs.try_lock(&path, mode, true).unwrap_err();
    }
}
