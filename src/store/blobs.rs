//! Content by address: the half of a store that events only name.

use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::Store;
use crate::blob::{Put, Vault};
use crate::contract::{Address, AddressKind, Code, Error, ErrorKind, Ref, Result};

pub use crate::blob::{BlobState, BlobStats, BudgetPolicy, PutReport, TornPack};

/// The content of a store: put, read, forget. A handle to the store, which stays open while it lives; `Send` and `Sync`.
///
/// Content is known by what it hashes to, is stored once however often it is put, and never stands on disk in the clear.
///
/// ```
/// use causelog::{BlobState, Options, PutOptions, Store};
///
/// let store = Store::in_memory(Options::new())?;
/// let blobs = store.blobs();
/// let address = blobs.put(b"what the run was shown")?;
/// assert_eq!(blobs.get(&address)?.as_deref(), Some(&b"what the run was shown"[..]));
///
/// blobs.shred(&address)?;
/// assert_eq!((blobs.get(&address)?, blobs.state(&address)?), (None, BlobState::Shredded));
/// # Ok::<(), causelog::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blobs {
    store: Store,
}

/// How content is put; start from [`PutOptions::new`].
#[derive(Clone, Debug, Default)]
pub struct PutOptions {
    subject: Option<String>,
    kind: Option<AddressKind>,
    expected: Option<Address>,
    keep_shredded: bool,
    recheck: bool,
}

impl PutOptions {
    /// Starts from the defaults: about nobody in particular, by the store's default algorithm, whatever it hashes to.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says whom the content is about: a name of 1 to 254 bytes, which never stands on disk in the clear. Content that is
    /// put under several subjects is stored once, and can be read until it is shredded.
    #[must_use]
    pub fn subject(mut self, name: impl Into<String>) -> Self {
        self.subject = Some(name.into());
        self
    }

    /// Sets the algorithm of the address that is returned, and that the content is found by beside the default one.
    #[must_use]
    pub fn address(mut self, kind: AddressKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Says what the content must hash to.
    #[must_use]
    pub fn expect(mut self, address: Address) -> Self {
        self.expected = Some(address);
        self
    }

    /// Leaves out content that was shredded, as an import must. Without it, putting shredded content again stores it
    /// again, under a fresh key, and writes that into the erasure ledger.
    #[must_use]
    pub fn keep_shredded(mut self, keep: bool) -> Self {
        self.keep_shredded = keep;
        self
    }

    /// Opens content that is held before it is called held, so that what turns out to be damaged is stored again. Without
    /// it, content counts as held as long as nobody found it damaged since the store was opened.
    #[must_use]
    pub fn recheck(mut self, recheck: bool) -> Self {
        self.recheck = recheck;
        self
    }
}

/// Whether the content of a store can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum KeyState {
    /// The master key is there.
    Held,
    /// There is none; content is unavailable.
    Missing,
    /// The one that is there is not this store's; content is unavailable.
    Wrong,
}

impl Blobs {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }

    fn vault(&self) -> Result<Option<&Arc<Vault>>> {
        self.store.0.content.vault()
    }

    fn writable(&self) -> Result<&Arc<Vault>> {
        let refused = || {
            let reason = self.store.0.report.read_only.as_deref().unwrap_or("it was opened so");
            let message = format!("the store is open for reading alone: {reason}");
            Error::new(ErrorKind::ReadOnly, Code::Store, message)
        };
        self.vault()?.ok_or_else(refused)
    }

    fn now(&self) -> u64 {
        let now = self.store.0.options.clock.now_ms();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded just before; a float has no `try_from`"
        )]
        let now = if now.is_finite() { now.clamp(0.0, 9_007_199_254_740_991.0) as u64 } else { 0 };
        now
    }

    fn how<'a>(&self, options: &'a PutOptions) -> Put<'a> {
        Put {
            subject: options.subject.as_deref(),
            kind: options.kind,
            expected: options.expected,
            keep_shredded: options.keep_shredded,
            recheck: options.recheck,
            at: self.now(),
        }
    }

    /// Puts content and returns its address. When it returns, the content survives the process. It survives a power cut
    /// once an event was appended after it (at the default [`Durability`](super::Durability)), or [`Blobs::sync`] was
    /// called: so an event that is acknowledged never names content that a power cut removed.
    ///
    /// Cost: hashing; of new content also encryption, and two writes. Content of more than 4 MiB gets a file of its own,
    /// which is synced.
    ///
    /// # Errors
    /// `NoKey` without the master key; `Full` past the [budget](super::Options::content_budget); `ReadOnly`; `Poisoned`;
    /// `Io`. Nothing of the content is kept then.
    pub fn put(&self, content: &[u8]) -> Result<Address> {
        self.put_with(content, &PutOptions::new()).map(|report| report.address())
    }

    /// Puts content as told, and says whether it was there.
    ///
    /// # Errors
    /// As [`Blobs::put`]; `Corrupt` when it does not hash to the address that was expected; `Invalid` for a subject that
    /// is no name.
    pub fn put_with(&self, content: &[u8], options: &PutOptions) -> Result<PutReport> {
        self.writable()?.put(content, &self.how(options))
    }

    /// Puts content of any size from a reader, in at most 16 MiB of memory. Content that turns out to be held is read and
    /// not kept.
    ///
    /// # Errors
    /// As [`Blobs::put_with`]; `Io` when the reader fails.
    pub fn put_reader(&self, mut reader: impl Read, options: &PutOptions) -> Result<PutReport> {
        self.writable()?.put_reader(&mut reader, &self.how(options))
    }

    /// Returns content; `None` where it is not resident: [`Blobs::state`] says why.
    ///
    /// # Errors
    /// `NoKey` when it is resident and the master key is not held; `Corrupt` when it is not what was put; `Shredded` when
    /// it was shredded while it was read; `Io`.
    pub fn get(&self, address: &Address) -> Result<Option<Vec<u8>>> {
        self.vault()?.map_or(Ok(None), |vault| vault.get(address))
    }

    /// Returns the bytes from `range.start` up to and without `range.end`; reads the 64 KiB chunks they lie in.
    ///
    /// # Errors
    /// `Invalid` with `LIMIT` for a range that passes the end of the content; else as [`Blobs::get`].
    pub fn get_range(&self, address: &Address, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.vault()?.map_or(Ok(None), |vault| vault.get_range(address, range))
    }

    /// Writes content to a writer, a MiB at a time, and returns how many bytes that were. Each piece is checked before it
    /// is written; after an error, what came before stays written.
    ///
    /// # Errors
    /// As [`Blobs::get`]; `Io` when the writer fails.
    pub fn get_writer(&self, address: &Address, mut writer: impl Write) -> Result<Option<u64>> {
        self.vault()?.map_or(Ok(None), |vault| vault.get_writer(address, None, &mut writer))
    }

    /// As [`Blobs::get_writer`], of a part.
    ///
    /// # Errors
    /// As [`Blobs::get_range`] and [`Blobs::get_writer`].
    pub fn get_range_writer(
        &self,
        address: &Address,
        range: Range<u64>,
        mut writer: impl Write,
    ) -> Result<Option<u64>> {
        self.vault()?.map_or(Ok(None), |vault| vault.get_writer(address, Some(range), &mut writer))
    }

    /// Reports whether content is resident. Needs no key.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn has(&self, address: &Address) -> Result<bool> {
        self.state(address).map(|state| state == BlobState::Resident)
    }

    /// Tells what became of content. Needs no key.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn state(&self, address: &Address) -> Result<BlobState> {
        self.vault()?.map_or(Ok(BlobState::Absent), |vault| vault.state(address))
    }

    /// Returns the length of resident content in bytes. Needs no key.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn len_of(&self, address: &Address) -> Result<Option<u64>> {
        self.vault()?.map_or(Ok(None), |vault| vault.length(address))
    }

    /// Returns the content that a reference names, whole, whatever its range; `None` where it is not resident, or where
    /// its hash is no address.
    ///
    /// # Errors
    /// As [`Blobs::get`].
    pub fn lookup(&self, reference: &Ref) -> Result<Option<Vec<u8>>> {
        reference.hash.parse().map_or(Ok(None), |address| self.get(&address))
    }

    /// Opens content whole and keeps nothing of it. `None` where it is not resident, `Some(false)` where the master key is
    /// not held, `Some(true)` where it is what was put.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn check(&self, address: &Address) -> Result<Option<bool>> {
        self.vault()?.map_or(Ok(None), |vault| vault.check(address))
    }

    /// Shreds content for all who hold it: its key is overwritten, and nobody can read it again, from this store's files
    /// or from what they held. Events that name it stay. Durable when it returns. `false` when there was nothing to
    /// shred: it was never here, or it is shredded already.
    ///
    /// Its address stays in the files, so that short content can still be guessed by hashing guesses.
    ///
    /// Cost: two syncs.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Io`. An error that says "pending" means: it cannot be read any more, and its key is
    /// overwritten when the store is opened again.
    pub fn shred(&self, address: &Address) -> Result<bool> {
        self.writable()?.shred(address, self.now())
    }

    /// Reports whether content was ever shredded, also where it was put again since. Needs no key.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn is_shredded(&self, address: &Address) -> Result<bool> {
        self.vault()?.map_or(Ok(false), |vault| vault.is_shredded(address))
    }

    /// Drops content to make room, without a tombstone: it is evicted, and putting it again restores it. Pinned content
    /// goes too. `false` when it was not resident.
    ///
    /// Its key is overwritten; the bytes come free when nothing of their pack is left.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Io`.
    pub fn evict(&self, address: &Address) -> Result<bool> {
        self.writable()?.evict(address)
    }

    /// Keeps content from being dropped by the budget. `false` when it is not resident.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Io`.
    pub fn pin(&self, address: &Address) -> Result<bool> {
        self.writable()?.set_pinned(address, true)
    }

    /// Lets the budget drop content again. `false` when it is not resident.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Io`.
    pub fn unpin(&self, address: &Address) -> Result<bool> {
        self.writable()?.set_pinned(address, false)
    }

    /// Makes everything that was put durable. Cost: nothing where nothing was put since, else a few syncs.
    ///
    /// # Errors
    /// `Io`; then nothing more is written until the store is opened again. `ReadOnly`, `Poisoned`.
    pub fn sync(&self) -> Result<()> {
        self.writable()?.sync()
    }

    /// Visits the default address and the length in bytes of all resident content. Needs no key.
    ///
    /// # Errors
    /// What `visit` returns; `Corrupt`, `Io`.
    pub fn for_each(&self, mut visit: impl FnMut(Address, u64) -> Result<()>) -> Result<()> {
        self.vault()?.map_or(Ok(()), |vault| vault.for_each(&mut visit))
    }

    /// Counts what is held. Needs no key. Cost: a look at each slot of a key.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn stats(&self) -> Result<BlobStats> {
        self.vault()?.map_or(Ok(BlobStats::default()), |vault| vault.counts())
    }

    /// Returns the algorithm of addresses that was chosen when the store was made.
    ///
    /// # Errors
    /// `Corrupt` when the key files are damaged.
    pub fn default_kind(&self) -> Result<AddressKind> {
        Ok(self.vault()?.map_or(self.store.0.options.address_kind, |vault| vault.default_kind()))
    }

    /// Reports whether content can be opened.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn key_state(&self) -> Result<KeyState> {
        let Some(vault) = self.vault()? else { return Ok(KeyState::Missing) };
        Ok(match vault.holding()? {
            crate::blob::Holding::Held => KeyState::Held,
            crate::blob::Holding::Missing => KeyState::Missing,
            crate::blob::Holding::Wrong => KeyState::Wrong,
        })
    }
}
