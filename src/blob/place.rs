//! Writing records into packs: at the end of the active one, or in a pack of their own; sealing what is full.
//!
//! Invariants, for whoever holds the writer's lock:
//! - A record is counted as a change before it can be found, so that whoever finds it and syncs, syncs it.
//! - A write that failed is cut back: no part of a record stays. Where that fails too, nothing more is written.
//! - Records are durable before the footer that names them is written, and a pack before it bears its name.

use std::sync::Arc;

use super::active::Active;
use super::footing::footer;
use super::names::{Form, NUMBER_MAX, pack_file};
use super::packs::Pack;
use super::sealed::{Sealed, entries_of};
use super::stream::PartFile;
use super::trouble::{io_error, pack_error};
use super::vault::{Vault, Writing};
use crate::codec::{PACK_HEADER_BYTES, PackHeader, RecordHead, aligned};
use crate::contract::{Code, Error, Result};
use crate::io::OpenMode;

/// Most records of a pack, so that opening one that was never sealed stays quick.
const PACK_RECORDS_MAX: u64 = 1 << 16;

impl Vault {
    /// Writes a record at the end of the active pack. Not synced.
    pub(super) fn append(&self, writing: &mut Writing, head: RecordHead, body: &[u8]) -> Result<()> {
        let active = self.active_for(writing, head.record_bytes())?;
        let offset = active.end();
        let head = RecordHead { durable: active.durable(), ..head };
        let mut bytes = head.to_bytes(&self.store, active.number(), offset).map_err(pack_error)?;
        bytes.extend_from_slice(body);
        bytes.resize(usize::try_from(aligned(bytes.len() as u64)).unwrap_or(bytes.len()), 0);
        if let Err(e) = active.file().write_at(&bytes, offset) {
            if active.file().set_size(offset).is_err() {
                // What was half written stands where the next record would: only a recovery may judge it.
                self.poison();
            }
            return Err(io_error("write content", active.path(), e));
        }
        // Counted before anybody can find it: whoever does, and syncs, syncs this.
        self.changed();
        active.publish(entries_of(&head, offset), offset.saturating_add(bytes.len() as u64));
        Self::used(writing, &head);
        Ok(())
    }

    /// Returns a pack that has room for a record.
    fn active_for(&self, writing: &mut Writing, bytes: u64) -> Result<Arc<Active>> {
        if let Some(active) = &writing.active {
            let fits = active.end().saturating_add(bytes) <= self.options.pack_bytes_max
                && active.records() < PACK_RECORDS_MAX;
            if fits || active.records() == 0 {
                return Ok(Arc::clone(active));
            }
            self.seal_active(writing)?;
        }
        let number = next_number(writing)?;
        let path = self.dir.join(pack_file(number, Form::Active));
        let file = self.vfs.open(&path, OpenMode::Create).map_err(|e| io_error("create a pack", &path, e))?;
        let header = PackHeader { store: self.store, number }.to_bytes();
        let written = file
            .write_at(&header, 0)
            .and_then(|()| file.sync())
            .and_then(|()| self.vfs.sync_dir(&self.dir))
            .map_err(|e| io_error("create a pack", &path, e));
        if let Err(error) = written {
            if self.vfs.remove(&path).is_err() {
                self.poison();
            }
            return Err(error);
        }
        let active = Arc::new(Active::new(number, path, file, PACK_HEADER_BYTES as u64));
        active.confirm(PACK_HEADER_BYTES as u64);
        writing.next = number.saturating_add(1);
        writing.active = Some(Arc::clone(&active));
        self.publish(Pack::Active(Arc::clone(&active)));
        Ok(active)
    }

    /// Seals the active pack: footer, sync, name.
    fn seal_active(&self, writing: &mut Writing) -> Result<()> {
        let Some(active) = writing.active.clone() else { return Ok(()) };
        self.poisoning(self.keys.sync())?;
        let end = active.end();
        // The records first: a footer that a power cut left alone would vouch for records that are not there.
        let synced = active.file().sync().map_err(|e| io_error("sync a pack", active.path(), e));
        self.poisoning(synced)?;
        active.confirm(end);
        let bytes = footer(active.all(), active.records(), end, end, &self.store, active.number());
        let failed = |e| io_error("seal a pack", active.path(), e);
        if let Err(e) = active.file().write_at(&bytes, end) {
            if active.file().set_size(end).is_err() {
                self.poison();
            }
            return Err(failed(e));
        }
        self.poisoning(active.file().sync().map_err(failed))?;
        let path = self.dir.join(pack_file(active.number(), Form::Sealed));
        let named = self.vfs.rename(active.path(), &path).and_then(|()| self.vfs.sync_dir(&self.dir));
        self.poisoning(named.map_err(failed))?;
        writing.active = None;
        self.publish(Pack::Sealed(Arc::new(self.open_sealed(active.number())?)));
        Ok(())
    }

    fn open_sealed(&self, number: u64) -> Result<Sealed> {
        Sealed::open(&*self.vfs, &self.dir, number, Form::Sealed, &self.store)
    }

    /// Gives a file with one record its head, its footer and its name.
    pub(super) fn place(
        &self,
        writing: &mut Writing,
        file: PartFile,
        head: &RecordHead,
        end: u64,
    ) -> Result<()> {
        let number = next_number(writing)?;
        let offset = PACK_HEADER_BYTES as u64;
        let mut start = PackHeader { store: self.store, number }.to_bytes().to_vec();
        start.extend(head.to_bytes(&self.store, number, offset).map_err(pack_error)?);
        file.write(&footer(entries_of(head, offset), 1, end, end, &self.store, number), end)?;
        file.write(&start, 0)?;
        self.poisoning(self.keys.sync())?;
        file.sync()?;
        file.keep(&self.dir.join(pack_file(number, Form::Sealed)))?;
        // From here on the pack bears its name; nobody else may say so before that is durable.
        let named = self.vfs.sync_dir(&self.dir).map_err(|e| io_error("sync a directory", &self.dir, e));
        self.poisoning(named)?;
        writing.next = number.saturating_add(1);
        self.changed();
        self.publish(Pack::Sealed(Arc::new(self.open_sealed(number)?)));
        Self::used(writing, head);
        Ok(())
    }
}

fn next_number(writing: &Writing) -> Result<u64> {
    if writing.next > NUMBER_MAX {
        return Err(Error::invalid(Code::Limit, "there is no number for a further pack"));
    }
    Ok(writing.next)
}
