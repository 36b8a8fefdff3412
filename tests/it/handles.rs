//! Handles of a store: what may go to other threads, closing beside live ones, opening beside another opener.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use causelog::vfs::{LockMode, MemoryVfs, OpenMode, Vfs, VfsFile, VfsLock};
use causelog::{
    Appender, Cursor, Error, ErrorKind, Event, Events, HostId, JsonText, NewEvent, Options, Replay, Resolver,
    Snapshot, Store, StoredEvent,
};

use crate::support::{event, held, small};

const fn shared<T: Send + Sync + ?Sized>() {}
const fn sent<T: Send>() {}

/// What goes to other threads, checked by the compiler.
const _: () = {
    shared::<Store>();
    shared::<Snapshot>();
    shared::<StoredEvent>();
    shared::<Event>();
    shared::<Cursor>();
    shared::<Error>();
    shared::<Options>();
    shared::<dyn Resolver>();
    sent::<Events>();
    sent::<Appender>();
    sent::<Replay<'static>>();
};

fn new() -> NewEvent {
    NewEvent::new("turn.started", JsonText::parse(r#"{"turnId":"t"}"#).unwrap())
}

#[test]
fn closing_gives_the_store_back_beside_live_handles() {
    for background in [false, true] {
        let vfs = Arc::new(MemoryVfs::new());
        let options = || small().background(background).vfs(vfs.clone());
        let store = Store::create("/s", options()).unwrap();
        let mut appender = store.appender(HostId::new("a").unwrap()).unwrap();
        appender.append(new()).unwrap();
        let (snapshot, other) = (store.snapshot().unwrap(), store.clone());
        let locked = Store::open("/s", options()).unwrap_err();
        assert_eq!(locked.kind(), ErrorKind::Locked);
        assert!(locked.message().contains("in this one"));
        store.close().unwrap();
        let again = Store::open("/s", options()).unwrap();
        assert_eq!(again.opening().frames_read, 0);
        again.append(&event("b", 0, &[])).unwrap();
        assert_eq!(appender.append(new()).unwrap_err().kind(), ErrorKind::Poisoned);
        assert_eq!(other.append(&event("c", 0, &[])).unwrap_err().kind(), ErrorKind::Poisoned);
        assert_eq!((snapshot.len(), held(&other).len(), held(&again).len()), (1, 1, 2));
        drop((appender, other));
        again.append(&event("b", 1, &[])).unwrap();
        again.close().unwrap();
    }
}

/// Claims once that a directory is empty.
#[derive(Debug)]
struct Stale {
    inner: MemoryVfs,
    fresh: AtomicBool,
}

impl Vfs for Stale {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        self.inner.open(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        if self.fresh.load(Ordering::Relaxed) { self.inner.list(path) } else { Ok(Vec::new()) }
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.fresh.load(Ordering::Relaxed) && self.inner.exists(path)?)
    }
    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>> {
        self.fresh.store(true, Ordering::Relaxed);
        self.inner.try_lock(path, mode, create)
    }
}

#[test]
fn a_store_that_somebody_created_meanwhile_is_opened() {
    let inner = MemoryVfs::new();
    let store = Store::create("/s", small().vfs(Arc::new(inner.clone()))).unwrap();
    store.append(&event("a", 0, &[])).unwrap();
    store.close().unwrap();
    let vfs = Stale { inner, fresh: AtomicBool::new(false) };
    let store = Store::open_or_create("/s", small().vfs(Arc::new(vfs))).unwrap();
    assert_eq!(held(&store).len(), 1);
}
