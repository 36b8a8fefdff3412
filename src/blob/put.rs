//! Putting content: hashed, compared with what is held, sealed, written.
//!
//! Invariants:
//! - Content that is held under the subject asked for is not written again; content that is held under another subject
//!   gets a further wrap of its key; content that is held by another address gets an alias.
//! - Hashing and sealing happen outside of the writer's lock, the comparison is made again inside.
//! - No content gives way, and no tombstone is lifted, before the new content is there; where it cannot be stored, its key
//!   goes.

use std::io::Read;

use zeroize::Zeroizing;

use super::budget::Room;
use super::cipher::{Cipher, alias_proof, sealed_trailer_bytes};
use super::erase::ledger_entry;
use super::hashing::address_of;
use super::key::Key;
use super::keys::{End, SlotState, Unwrapped};
use super::packs::Pack;
use super::stream::{Stream, Streamed, unsealable};
use super::vault::{Vault, Writing};
use crate::codec::{CHUNK_BYTES, EntryKind, FooterEntry, RecordHead, RecordId, RecordKind, TAG_BYTES};
use crate::contract::{Address, AddressKind, Error, ErrorKind, Result};

/// Content up to this size goes into the pack that all share; more gets a pack of its own.
pub(super) const SHARED_BYTES_MAX: usize = 4 << 20;

/// How content is put.
#[derive(Clone, Copy, Debug, Default)]
pub struct Put<'a> {
    /// Whom it is about; `None` for the store itself.
    pub subject: Option<&'a str>,
    /// By which algorithm the caller refers to it; `None` for the store's default.
    pub kind: Option<AddressKind>,
    /// Where the caller knows the address, it: content that hashes to another one is damaged.
    pub expected: Option<Address>,
    /// Whether content that was shredded is left out.
    pub keep_shredded: bool,
    /// Whether what is held is opened before it is called held: what turns out to be damaged is stored again.
    pub recheck: bool,
    /// Milliseconds since the epoch, for the ledger.
    pub at: u64,
}

/// What a put did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutReport {
    /// The content was stored.
    Stored(Address),
    /// It was held already; nothing was stored twice.
    Held(Address),
    /// It was shredded, and left out as asked.
    LeftOut(Address),
}

impl PutReport {
    /// Returns the address by which the content was referred to.
    #[must_use]
    pub const fn address(&self) -> Address {
        match self {
            Self::Stored(address) | Self::Held(address) | Self::LeftOut(address) => *address,
        }
    }
}

/// Where content that is held is.
pub(super) struct Held {
    pub(super) pack: Pack,
    pub(super) entry: FooterEntry,
}

impl Put<'_> {
    fn named_kind(&self, vault: &Vault) -> AddressKind {
        self.expected.map(|address| address.kind()).or(self.kind).unwrap_or_else(|| vault.default_kind())
    }

    /// The algorithms that the content is hashed by: the identity's first.
    fn kinds(&self, vault: &Vault) -> Vec<AddressKind> {
        let (identity, named) = (vault.default_kind(), self.named_kind(vault));
        if identity == named { vec![identity] } else { vec![identity, named] }
    }

    fn check(&self, addresses: &[Address]) -> Result<Address> {
        let named = addresses.last().copied();
        match (named, self.expected) {
            (Some(named), Some(expected)) if named != expected => {
                let what =
                    format!("the content is not what its address says: it is {named}, and not {expected}");
                Err(Error::corrupt(what))
            }
            (Some(named), _) => Ok(named),
            (None, _) => Err(unsealable()),
        }
    }
}

impl Vault {
    /// Puts content that is in memory. When it returns, the content survives the process, and, after the next sync, a
    /// power cut.
    ///
    /// # Errors
    /// `Corrupt` when it is not what the address expected says; `NoKey`; `Full`; `Poisoned`; `ReadOnly`; `Io`. Then
    /// nothing of it is kept.
    pub fn put(&self, content: &[u8], how: &Put<'_>) -> Result<PutReport> {
        self.check_writable()?;
        self.check_subject(how)?;
        let mut addresses: Vec<_> = how.kinds(self).iter().map(|kind| address_of(*kind, content)).collect();
        let named = how.check(&addresses)?;
        self.recheck(&addresses, how)?;
        if let Some(outcome) = self.put_known(&addresses, named, how)? {
            return Ok(outcome);
        }
        self.keys.require()?;
        if content.len() > SHARED_BYTES_MAX {
            let mut stream = self.stream(how)?;
            stream.push(content)?;
            return self.commit_stream(stream.finish()?, how);
        }
        let asked = addresses.clone();
        self.add_former(&mut addresses, content);
        let (id, key) = self.new_record()?;
        let body = seal(&key, id, content, &addresses).ok_or_else(unsealable)?;
        let head = RecordHead {
            kind: RecordKind::Content,
            id,
            slot: 0,
            body_crc: crc32c::crc32c(&body),
            content_bytes: content.len() as u64,
            body_bytes: body.len() as u64,
            durable: 0,
            addresses,
        };
        self.store(&asked, head, &key, how, |writing, head| self.append(writing, head.clone(), &body))
    }

    /// Puts content of any size from a reader, in memory that does not grow with it: 4 MiB, and a piece of 1 MiB while
    /// it is sealed.
    ///
    /// # Errors
    /// As [`Vault::put`]; `Io` when the reader fails.
    pub fn put_reader(&self, reader: &mut dyn Read, how: &Put<'_>) -> Result<PutReport> {
        self.check_writable()?;
        self.check_subject(how)?;
        // Room for all of it at once: a buffer that grows leaves copies of the content in memory.
        let mut first = Zeroizing::new(Vec::with_capacity(SHARED_BYTES_MAX + 1));
        let failed = |e| Error::io("cannot read the content", e);
        let limit = SHARED_BYTES_MAX as u64 + 1;
        (&mut *reader).take(limit).read_to_end(&mut first).map_err(failed)?;
        if first.len() <= SHARED_BYTES_MAX {
            return self.put(&first, how);
        }
        self.keys.require()?;
        let mut stream = self.stream(how)?;
        stream.push(&first)?;
        drop(first);
        let mut piece = Zeroizing::new(vec![0; 1 << 20]);
        loop {
            self.check_budget(stream.content_bytes())?;
            match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => stream.push(piece.get(..count).unwrap_or_default())?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
        }
        let streamed = stream.finish()?;
        how.check(&streamed.head.addresses)?;
        self.commit_stream(streamed, how)
    }

    fn stream(&self, how: &Put<'_>) -> Result<Stream> {
        let (id, key) = self.new_record()?;
        Stream::start(&self.vfs, &self.dir, id, key, &how.kinds(self))
    }

    /// Adds the addresses by which the content was known before it was evicted or shredded, so that every reference to it
    /// finds it again. They are computed anew, not taken over.
    fn add_former(&self, addresses: &mut Vec<Address>, content: &[u8]) {
        let Some(identity) = addresses.first() else { return };
        let former: Vec<_> = self.traces(identity).addresses.iter().map(Address::kind).collect();
        for kind in former {
            if !addresses.iter().any(|address| address.kind() == kind) {
                addresses.push(address_of(kind, content));
            }
        }
    }

    /// Refuses what is no name of a subject before anything is done for it.
    fn check_subject(&self, how: &Put<'_>) -> Result<()> {
        match self.keys.subject(how.subject) {
            // What is held already needs no key.
            Err(error) if error.kind() == ErrorKind::NoKey => Ok(()),
            named => named.map(drop),
        }
    }

    /// Opens what is held, if that is asked for, so that damage of it is known.
    fn recheck(&self, addresses: &[Address], how: &Put<'_>) -> Result<()> {
        if !how.recheck {
            return Ok(());
        }
        for address in addresses {
            match self.check(address) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                checked => drop(checked?),
            }
        }
        Ok(())
    }

    /// Ends records that were found damaged and whose content is stored again: they are no damage any more.
    fn retire_damaged(&self, addresses: &[Address], stored: RecordId) -> Result<()> {
        if self.damaged.lock().is_empty() {
            return Ok(());
        }
        let packs = self.packs();
        for (pack, entry) in addresses.iter().flat_map(|address| packs.find(address)) {
            if entry.id != stored && !entry.alias && self.is_damaged(pack, &entry) {
                self.keys.end(entry.slot, entry.id, End::Evicted)?;
            }
        }
        Ok(())
    }

    /// Answers a put without the writer's lock where nothing is to be written.
    fn put_known(&self, addresses: &[Address], named: Address, how: &Put<'_>) -> Result<Option<PutReport>> {
        if self.is_left_out(addresses, how)? {
            return Ok(Some(PutReport::LeftOut(named)));
        }
        if !self.blocked(addresses).is_empty() {
            return Ok(None);
        }
        for address in addresses {
            let Some(held) = self.held(address)? else { return Ok(None) };
            if !self.is_held_by(&held, how.subject)? {
                return Ok(None);
            }
        }
        Ok(Some(PutReport::Held(named)))
    }

    /// Answers a put under the writer's lock where the content itself need not be written: it is held, perhaps under
    /// another subject or address, which is then added.
    fn known(
        &self,
        addresses: &[Address],
        named: Address,
        how: &Put<'_>,
        writing: &mut Writing,
    ) -> Result<Option<PutReport>> {
        if self.is_left_out(addresses, how)? {
            return Ok(Some(PutReport::LeftOut(named)));
        }
        let Some(identity) = addresses.first() else { return Ok(None) };
        if self.ledger.blocks(identity) {
            return Ok(None);
        }
        let Some(held) = self.held(identity)? else { return Ok(None) };
        let (slot, id) = (held.entry.slot, held.entry.id);
        let is_named = self.held(&named)?.is_some_and(|other| other.entry.id == id);
        let is_held_by = self.is_held_by(&held, how.subject)?;
        if is_named && is_held_by {
            return Ok(Some(PutReport::Held(named)));
        }
        let Unwrapped::Key(key) = self.keys.unwrap(slot, id)? else { return Ok(None) };
        if !is_held_by {
            let subject = self.keys.subject_or_create(how.subject)?;
            self.changed();
            self.keys.add_wrap(slot, id, subject, &key)?;
        }
        if !is_named {
            let body = alias_proof(&key, id, &named, identity);
            let head = RecordHead {
                kind: RecordKind::Alias,
                id,
                slot,
                body_crc: crc32c::crc32c(&body),
                content_bytes: 0,
                body_bytes: body.len() as u64,
                durable: 0,
                addresses: vec![named, *identity],
            };
            self.append(writing, head, &body)?;
        }
        Ok(Some(PutReport::Held(named)))
    }

    /// Reports whether content is to be left out because it was shredded. Content that was put again since is held, by
    /// whatever address it is named now.
    fn is_left_out(&self, addresses: &[Address], how: &Put<'_>) -> Result<bool> {
        let Some(identity) = addresses.first() else { return Ok(false) };
        if !how.keep_shredded || self.blocked(addresses).is_empty() {
            return Ok(false);
        }
        Ok(self.ledger.blocks(identity) || self.held(identity)?.is_none())
    }

    fn is_held_by(&self, held: &Held, subject: Option<&str>) -> Result<bool> {
        match self.keys.subject(subject) {
            Ok(Some(subject)) => self.keys.is_held_by(held.entry.slot, held.entry.id, subject),
            Ok(None) => Ok(false),
            // Without the key it cannot be known whom a named subject is; what is held stays held.
            Err(error) if error.kind() == ErrorKind::NoKey => Ok(subject.is_none()),
            Err(error) => Err(error),
        }
    }

    /// Finds the live content of an address that is not known to be damaged.
    pub(super) fn held(&self, address: &Address) -> Result<Option<Held>> {
        for (pack, entry) in self.packs().find(address) {
            // One whose slot is damaged is not held either: putting it again makes it whole.
            let is_live = || {
                self.keys
                    .state_or_damage(entry.slot, entry.id)
                    .map(|state| state.is_ok_and(SlotState::is_live))
            };
            if pack.has_records() && !self.is_damaged(pack, &entry) && is_live()? {
                return Ok(Some(Held { pack: pack.clone(), entry }));
            }
        }
        Ok(None)
    }

    /// Returns those addresses that a tombstone blocks.
    fn blocked(&self, addresses: &[Address]) -> Vec<Address> {
        addresses.iter().filter(|address| self.ledger.blocks(address)).copied().collect()
    }

    /// Says that content which was shredded was put again, on purpose. The caller holds the writer's lock, so that no later
    /// shred is undone.
    fn revive(&self, addresses: &[Address], how: &Put<'_>) -> Result<()> {
        if addresses.is_empty() {
            return Ok(());
        }
        let mut erasure = [0; 16];
        (self.options.fill)(&mut erasure)?;
        let entries: Vec<_> = addresses
            .iter()
            .map(|address| ledger_entry(EntryKind::Revived, *address, erasure, how.at))
            .collect();
        self.ledger.append(&entries)
    }

    /// Gives content that was streamed its place, unless it turns out to be held.
    fn commit_stream(&self, streamed: Streamed, how: &Put<'_>) -> Result<PutReport> {
        let Streamed { file, key, head, end } = streamed;
        self.recheck(&head.addresses, how)?;
        let asked = head.addresses.clone();
        self.store(&asked, head, &key, how, |writing, head| self.place(writing, file, head, end))
    }

    /// Stores sealed content under the writer's lock, unless it turns out to be held by the addresses `asked` for.
    fn store(
        &self,
        asked: &[Address],
        head: RecordHead,
        key: &Key,
        how: &Put<'_>,
        write: impl FnOnce(&mut Writing, &RecordHead) -> Result<()>,
    ) -> Result<PutReport> {
        let named = how.check(asked)?;
        let mut writing = self.lock_writing()?;
        if let Some(outcome) = self.known(asked, named, how, &mut writing)? {
            if matches!(outcome, PutReport::Held(_)) {
                self.revive(&self.blocked(&head.addresses), how)?;
            }
            return Ok(outcome);
        }
        let room = self.plan_room(&mut writing, head.record_bytes())?;
        let subject = self.keys.subject_or_create(how.subject)?;
        let slot = self.keys.allocate(head.id, subject, key)?;
        let head = RecordHead { slot, ..head };
        let stored =
            write(&mut writing, &head).and_then(|()| self.revive(&self.blocked(&head.addresses), how));
        self.settle(&mut writing, stored, &head, room)?;
        Ok(PutReport::Stored(named))
    }

    /// Ends a put under the writer's lock: what gives way to the content goes once it is there, and where it could not be
    /// stored, its key goes.
    fn settle(&self, writing: &mut Writing, stored: Result<()>, head: &RecordHead, room: Room) -> Result<()> {
        if let Err(error) = stored {
            // Blocks of what was half written may stay on the medium: without its key they are nothing.
            let _ = self.keys.end(head.slot, head.id, End::Evicted);
            writing.usage = None;
            return Err(error);
        }
        self.retire_damaged(&head.addresses, head.id)?;
        self.give_way(writing, room)
    }
}

/// Seals content that is in memory; returns the record's body.
fn seal(key: &Key, id: RecordId, content: &[u8], addresses: &[Address]) -> Option<Vec<u8>> {
    let cipher = Cipher::new(key, id);
    let chunks = content.len().div_ceil(CHUNK_BYTES).max(1);
    let bytes = content.len() + chunks * TAG_BYTES + sealed_trailer_bytes(addresses.len());
    let mut body = Vec::with_capacity(bytes);
    let mut rest = content;
    for index in 0..chunks {
        let (chunk, behind) = rest.split_at(rest.len().min(CHUNK_BYTES));
        rest = behind;
        let start = body.len();
        body.extend_from_slice(chunk);
        let tag = cipher.seal_chunk(index as u64, index + 1 == chunks, body.get_mut(start..)?)?;
        body.extend_from_slice(&tag);
    }
    body.extend_from_slice(&cipher.seal_trailer(content.len() as u64, chunks as u64, addresses)?);
    Some(body)
}
