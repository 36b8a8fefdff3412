//! How far the active pack is known to be synced: what tells damage from a torn end where no later record does.
//!
//! Invariants:
//! - Written after each sync, and not synced itself: it says less than is true, never more.
//! - Two copies, written in turn. One that does not check counts as not there.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::trouble::io_error;
use crate::codec::{Copy as TwinCopy, TWIN_BODY_BYTES, TWIN_BYTES, TwinPlace};
use crate::contract::Result;
use crate::io::{OpenMode, Vfs, VfsFile};

/// Name of the file within the directory of packs.
pub(super) const MARK_FILE: &str = "mark";

const MAGIC: [u8; 8] = *b"CLBLMARK";

/// What is known to be durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Durable {
    /// The active pack; 0 where there was none.
    pub(super) pack: u64,
    /// Up to where it is.
    pub(super) end: u64,
    /// The last pack there is.
    pub(super) last: u64,
}

/// The mark file.
#[derive(Debug)]
pub(super) struct Mark {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    place: TwinPlace,
    /// Opened when it is first written, and the generation that was written last.
    state: Mutex<(Option<Arc<dyn VfsFile>>, u64)>,
}

impl Mark {
    pub(super) fn new(vfs: &Arc<dyn Vfs>, path: PathBuf, store: &[u8; 16]) -> Self {
        let place = TwinPlace { magic: MAGIC, store: *store, offset: 0 };
        Self { vfs: Arc::clone(vfs), path, place, state: Mutex::default() }
    }

    /// Reads what it says now; `None` where there is none.
    pub(super) fn read(&self) -> Result<Option<Durable>> {
        let file = match self.vfs.open(&self.path, OpenMode::Read) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(io_error("open the mark of the packs", &self.path, e)),
        };
        let mut bytes = [0; TWIN_BYTES];
        file.read_at(&mut bytes, 0).map_err(|e| io_error("read the mark of the packs", &self.path, e))?;
        let twin = self.place.decode(&bytes);
        let held = twin.copies.iter().filter_map(|copy| match copy {
            TwinCopy::Held { generation, body } => Some((*generation, body)),
            TwinCopy::Empty | TwinCopy::Damaged => None,
        });
        let newest = held.max_by_key(|(generation, _)| *generation);
        let mut state = self.state.lock();
        state.1 = state.1.max(newest.map_or(0, |(generation, _)| generation));
        Ok(newest.and_then(|(_, body)| {
            let (fields, _) = body.as_chunks::<8>();
            let mut fields = fields.iter().map(|field| u64::from_le_bytes(*field));
            Some(Durable { pack: fields.next()?, end: fields.next()?, last: fields.next()? })
        }))
    }

    /// Says what is durable.
    pub(super) fn write(&self, durable: Durable) -> Result<()> {
        let failed = |e| io_error("write the mark of the packs", &self.path, e);
        let mut state = self.state.lock();
        let file = match &state.0 {
            Some(file) => Arc::clone(file),
            None => {
                let file = match self.vfs.open(&self.path, OpenMode::Write) {
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                        self.vfs.open(&self.path, OpenMode::Create)
                    }
                    opened => opened,
                };
                file.map_err(failed)?
            }
        };
        state.0 = Some(Arc::clone(&file));
        let mut body = [0; TWIN_BODY_BYTES];
        let fields = [durable.pack, durable.end, durable.last];
        for (to, from) in body.iter_mut().zip(fields.iter().flat_map(|field| field.to_le_bytes())) {
            *to = from;
        }
        let generation = state.1.saturating_add(1);
        let copy = u8::from(generation.is_multiple_of(2));
        let bytes = self.place.encode(copy, generation, &body);
        file.write_at(&*bytes, self.place.offset_of(copy)).map_err(failed)?;
        state.1 = generation;
        Ok(())
    }

    /// As [`Mark::write`], and synced; the name is not.
    pub(super) fn write_synced(&self, durable: Durable) -> Result<()> {
        self.write(durable)?;
        let file = self.state.lock().0.clone();
        file.map_or(Ok(()), |file| file.sync())
            .map_err(|e| io_error("sync the mark of a pack", &self.path, e))
    }
}
