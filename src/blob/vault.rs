//! The vault: a store's content, encrypted, by address.
//!
//! Invariants:
//! - Whoever changes packs holds the writer's lock; whoever reads takes the row of packs as it is, and no lock.
//! - A record is written whole before its entry is published, and its slot before the record.
//! - What is put is durable once [`Vault::sync`] returns; the event log calls it before its own sync, so that no event
//!   that is acknowledged names content that a power cut removed.
//! - After a failed sync nothing more is written: what the kernel holds is unknown.
//! - A reading process looks anew whenever the mark moved, and takes up new tombstones before it decrypts anything.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::active::Active;
use super::budget::Usage;
use super::key::{FillRandom, Key};
use super::keys::{Access, Holding, KeyPaths, Keys};
use super::ledger::Ledger;
use super::mark::{Durable, MARK_FILE, Mark};
use super::packs::{Pack, Packs};
use super::recover::{Place, Recovered, TornPack, recover};
use super::trouble::io_error;
use crate::codec::RecordId;
use crate::contract::{AddressKind, Code, Error, ErrorKind, Result};
use crate::io::Vfs;

/// Directory of the packs within a store's.
pub const PACKS_DIR: &str = "blobs";

/// Directory of the keys within a store's.
pub const KEYS_DIR: &str = "keys";

/// It takes writes.
const SOUND: u8 = 0;
/// A sync failed.
const FAILED: u8 = 1;
/// It was closed.
const CLOSED: u8 = 2;

/// What becomes of a put that would pass the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetPolicy {
    /// It is refused.
    Refuse,
    /// The content that was put first is evicted, as much as is needed; what is pinned stays.
    DropOldest,
}

/// How a vault behaves.
#[derive(Clone)]
pub struct VaultOptions {
    /// Where the master key is, if not beside the other keys.
    pub master_file: Option<PathBuf>,
    /// Default algorithm of addresses, for a vault that is made.
    pub default_kind: AddressKind,
    /// Bytes at which a pack is sealed.
    pub pack_bytes_max: u64,
    /// Bytes of records that may be resident, and what becomes of more.
    pub budget: Option<(u64, BudgetPolicy)>,
    /// Where random bytes come from.
    pub fill: FillRandom,
}

/// A store's content.
pub struct Vault {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    pub(super) store: [u8; 16],
    pub(super) options: VaultOptions,
    pub(super) access: Access,
    pub(super) keys: Keys,
    pub(super) ledger: Ledger,
    packs: RwLock<Arc<Packs>>,
    pub(super) writer: Mutex<Writing>,
    mark: Mark,
    /// What the mark said when a reader last looked.
    seen: Mutex<Option<Durable>>,
    /// Changes written, and those among them that are synced.
    written: AtomicU64,
    synced: AtomicU64,
    syncing: Mutex<()>,
    condition: AtomicU8,
    /// Records that were found damaged, by pack and offset: putting their content again stores it again.
    pub(super) damaged: Mutex<HashSet<(u64, u64)>>,
    damage: Vec<Error>,
    torn: Option<TornPack>,
}

/// What the one writer works with.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) active: Option<Arc<Active>>,
    /// Number of the next pack.
    pub(super) next: u64,
    pub(super) usage: Option<Usage>,
}

/// Without keys.
impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({})", self.dir.display())
    }
}

/// Returns where the keys of the store in a directory are.
fn key_paths(store_dir: &Path, options: &VaultOptions) -> KeyPaths {
    KeyPaths::new(store_dir.join(KEYS_DIR), options.master_file.clone())
}

impl Vault {
    /// Opens the vault of a store; a writer makes it where there is none. `None` for a reader of a store that has none.
    ///
    /// # Errors
    /// `Corrupt` when key files are damaged, or missing beside packs; `Unsupported`; `Io`. Damage of packs is told by
    /// [`Vault::damage`].
    pub fn open(
        vfs: &Arc<dyn Vfs>,
        store_dir: &Path,
        store: &[u8; 16],
        access: Access,
        options: VaultOptions,
    ) -> Result<Option<Self>> {
        let (dir, paths) = (store_dir.join(PACKS_DIR), key_paths(store_dir, &options));
        if !Keys::exists(vfs, &paths)? {
            let names = vfs.list(&dir).map_err(|e| io_error("list packs", &dir, e))?;
            if names.iter().any(|name| super::names::parse(name).is_some()) {
                let what = "the key files of this store's content are missing: put them back from a copy";
                return Err(Error::corrupt(what).at_path(paths.dir()));
            }
            if matches!(access, Access::Read) {
                return Ok(None);
            }
            Keys::create(vfs, &paths, store, options.default_kind, &options.fill)?;
        }
        if matches!(access, Access::Write)
            && !vfs.exists(&dir).map_err(|e| io_error("look for a directory", &dir, e))?
        {
            vfs.create_dir_all(&dir).map_err(|e| io_error("create a directory", &dir, e))?;
            vfs.sync_dir(store_dir).map_err(|e| io_error("sync a directory", store_dir, e))?;
        }
        if matches!(access, Access::Write) {
            // A process that was killed may have left names that are not durable; what follows relies on them.
            for dir in [&dir, paths.dir()] {
                vfs.sync_dir(dir).map_err(|e| io_error("sync a directory", dir, e))?;
            }
        }
        let keys = Keys::open(vfs, &paths, store, access, &options.fill)?;
        let ledger = Ledger::open(vfs, &paths, store, access)?;
        let mark = Mark::new(vfs, dir.join(MARK_FILE), store);
        let durable = mark.read()?;
        let found = recover(&Place { vfs, dir: &dir, store, keys: &keys, access, durable })?;
        let Recovered { packs, active, next, damage, torn } = found;
        let vault = Self {
            vfs: Arc::clone(vfs),
            dir,
            store: *store,
            options,
            access,
            keys,
            ledger,
            packs: RwLock::new(Arc::new(packs)),
            writer: Mutex::new(Writing { active, next, usage: None }),
            mark,
            seen: Mutex::new(durable),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            syncing: Mutex::new(()),
            condition: AtomicU8::new(SOUND),
            damaged: Mutex::default(),
            damage,
            torn,
        };
        if vault.is_writer() {
            vault.take_over(durable)?;
            vault.finish_erasures()?;
        }
        Ok(Some(vault))
    }

    /// Syncs what a process that was killed left unsynced, before anything relies on it.
    fn take_over(&self, durable: Option<Durable>) -> Result<()> {
        // Slots too: what ended by then has to be ended on the medium.
        self.poisoning(self.keys.sync())?;
        let now = {
            let writing = self.writer.lock();
            let (pack, end) =
                writing.active.as_ref().map_or((0, 0), |active| (active.number(), active.end()));
            Durable { pack, end, last: writing.next.saturating_sub(1) }
        };
        if durable.unwrap_or_default() != now {
            self.changed();
            self.sync()?;
        }
        Ok(())
    }

    pub(super) fn is_writer(&self) -> bool {
        matches!(self.access, Access::Write)
    }

    /// Returns the algorithm of addresses that is used where nobody asks for another.
    pub fn default_kind(&self) -> AddressKind {
        self.keys.default_kind()
    }

    /// Reports whether the master key is there.
    pub fn holding(&self) -> Result<Holding> {
        self.keys.holding()
    }

    /// Returns what was found damaged when the packs were opened.
    pub fn damage(&self) -> &[Error] {
        &self.damage
    }

    /// Returns the torn end of the active pack, if one was cut.
    pub fn torn(&self) -> Option<&TornPack> {
        self.torn.as_ref()
    }

    /// Returns the number of the last pack that there is or was.
    pub(super) fn last_known(&self) -> u64 {
        self.writer.lock().next.saturating_sub(1)
    }

    /// Returns the packs as they are now.
    pub(super) fn packs(&self) -> Arc<Packs> {
        Arc::clone(&self.packs.read())
    }

    /// Swaps a pack in. The caller holds the writer's lock.
    pub(super) fn publish(&self, pack: Pack) {
        let mut packs = self.packs.write();
        *packs = Arc::new(packs.with(pack));
    }

    /// Refuses to write where that is not to be done.
    pub(super) fn check_writable(&self) -> Result<()> {
        if !self.is_writer() {
            return Err(Error::new(ErrorKind::ReadOnly, Code::Store, "the store is open for reading alone"));
        }
        let what = match self.condition.load(Ordering::Acquire) {
            SOUND => return Ok(()),
            CLOSED => "the store was closed",
            _ => "a sync of content failed: nothing more is written until the store is opened again",
        };
        Err(Error::new(ErrorKind::Poisoned, Code::Store, what).at_path(&self.dir))
    }

    /// Takes the writer's lock, and refuses to write where that is not to be done: also where the store was closed while
    /// the caller waited.
    pub(super) fn lock_writing(&self) -> Result<MutexGuard<'_, Writing>> {
        let writing = self.writer.lock();
        self.check_writable()?;
        Ok(writing)
    }

    /// Takes no more writes.
    pub(super) fn poison(&self) {
        self.condition.store(FAILED, Ordering::Release);
    }

    /// Runs a sync; its failure ends all writing.
    pub(super) fn poisoning<T>(&self, synced: Result<T>) -> Result<T> {
        synced.inspect_err(|_| self.poison())
    }

    /// Counts a change that is not synced yet.
    pub(super) fn changed(&self) {
        self.written.fetch_add(1, Ordering::AcqRel);
    }

    /// Makes everything that was put durable. Cost: nothing where nothing was put since; else a sync of the slots and of
    /// the active pack.
    ///
    /// # Errors
    /// `Io`; then the vault takes no more writes, and answers `Poisoned` from then on.
    pub fn sync(&self) -> Result<()> {
        if self.synced.load(Ordering::Acquire) >= self.written.load(Ordering::Acquire) {
            return Ok(());
        }
        let _one = self.syncing.lock();
        let written = self.written.load(Ordering::Acquire);
        if self.synced.load(Ordering::Acquire) >= written {
            return Ok(());
        }
        self.check_writable()?;
        // Records that are published by now are whole; later ones are the next sync's.
        let (active, last) = {
            let writing = self.writer.lock();
            (writing.active.clone(), writing.next.saturating_sub(1))
        };
        let end = active.as_ref().map_or(0, |active| active.end());
        self.poisoning(self.keys.sync())?;
        if let Some(active) = &active {
            let synced = active.file().sync().map_err(|e| io_error("sync a pack", active.path(), e));
            self.poisoning(synced)?;
            active.confirm(end);
        }
        let pack = active.map_or(0, |active| active.number());
        if last > 0 {
            self.mark.write(Durable { pack, end, last })?;
        }
        self.synced.store(written, Ordering::Release);
        Ok(())
    }

    /// For a reading process: takes up what the writer changed since.
    pub(super) fn refresh(&self) -> Result<()> {
        if self.is_writer() {
            return Ok(());
        }
        self.ledger.refresh()?;
        let mut seen = self.seen.lock();
        let now = self.mark.read()?;
        if now != *seen {
            let place = Place {
                vfs: &self.vfs,
                dir: &self.dir,
                store: &self.store,
                keys: &self.keys,
                access: self.access,
                durable: now,
            };
            let found = recover(&place)?;
            *self.packs.write() = Arc::new(found.packs);
            *seen = now;
        }
        Ok(())
    }

    /// Makes a record id and a data key.
    pub(super) fn new_record(&self) -> Result<(RecordId, Key)> {
        let mut id = [0; 16];
        (self.options.fill)(&mut id)?;
        Ok((id, Key::random(&self.options.fill)?))
    }

    /// Syncs, and clears away packs of which nothing is left.
    ///
    /// # Errors
    /// `Io`, `Poisoned`.
    pub fn close(&self) -> Result<()> {
        if !self.is_writer() {
            return Ok(());
        }
        self.sync()?;
        let cleared = self.clear_dead_packs();
        // Whoever is still at it finishes first; whoever comes later is refused.
        let _syncing = self.syncing.lock();
        let _writing = self.writer.lock();
        self.condition.fetch_max(CLOSED, Ordering::AcqRel);
        cleared
    }
}
