//! Carrying out a plan.
//!
//! Order of writes: copies; the torn tail; sealed segments by rising number, each atomically over what was there; the
//! new active segment; what stands beside sealed forms is removed; the records of the repair.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rkyv::util::AlignedVec;

use super::plan::{Plan, Reseal};
use super::salvage::Salvage;
use crate::codec::{Control, Frame, FrameSeed, SegmentHeader};
use crate::contract::{Error, Result};
use crate::io::{Keep, OpenMode, ProofBudget, Vfs, VfsFile};
use crate::log::arrangement::Arrangement;
use crate::log::error::LogError;
use crate::log::interner::Names;
use crate::log::mark::{MARK_FILE, MarkWriter};
use crate::log::names::{Stage, segment_file};
use crate::log::notify::Notifier;
use crate::log::recovery::{Recovered, recover_repaired};
use crate::log::seal::{SealSource, seal};
use crate::log::sealed::sealed_trailer;
use crate::log::staging::{Staging, WriterOptions};
use crate::log::trouble::{io_error, to_usize};
use crate::log::upkeep::remove_active;
use crate::log::writer::{Writer, create_active};

impl Plan {
    /// Reports whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cut.is_none()
            && self.reseal.is_empty()
            && self.remove.is_empty()
            && self.new_active.is_none()
            && self.records.is_empty()
    }

    /// Returns the copies of what is replaced or cut.
    pub fn kept(&self) -> impl Iterator<Item = &Path> {
        self.keep.iter().map(Keep::to)
    }

    /// Puts the files right. The caller holds the locks of a repair, and nothing changed since the plan was made.
    ///
    /// # Errors
    /// System calls. Whatever was done by then, a new plan can be made and carried out.
    pub fn put_right(&self, vfs: &Arc<dyn Vfs>, (root, dir, kept): (&Path, &Path, &Path)) -> Result<()> {
        if !self.keep.is_empty() {
            vfs.create_dir_all(kept).map_err(|e| io_error("create", kept, e))?;
            vfs.sync_dir(root).map_err(|e| io_error("sync", root, e))?;
            for keep in &self.keep {
                keep.carry_out(&**vfs)?;
            }
            vfs.sync_dir(kept).map_err(|e| io_error("sync", kept, e))?;
        }
        if let Some(torn) = &self.cut {
            let file = vfs.open(&torn.path, OpenMode::Write).map_err(|e| io_error("open", &torn.path, e))?;
            let cut = file.set_size(torn.offset).and_then(|()| file.sync());
            cut.map_err(|e| io_error("cut", &torn.path, e))?;
        }
        for path in &self.remove {
            vfs.remove(path).map_err(|e| io_error("remove", path, e))?;
        }
        for reseal in &self.reseal {
            self.seal(vfs, dir, reseal)?;
        }
        if let Some(header) = &self.new_active {
            create_active(&**vfs, dir, linked(&**vfs, dir, header)?)?;
        }
        Ok(())
    }

    fn seal(&self, vfs: &Arc<dyn Vfs>, dir: &Path, reseal: &Reseal) -> Result<()> {
        let header = linked(&**vfs, dir, &reseal.header)?;
        let mut files: Vec<(Arc<dyn VfsFile>, PathBuf, FrameSeed)> = Vec::new();
        for source in &reseal.sources {
            // From the copy, where there is one: the file itself is replaced.
            let copy = self.keep.iter().find(|keep| keep.from() == source.path);
            let path = copy.map_or(&*source.path, Keep::to).to_path_buf();
            let file = vfs.open(&path, OpenMode::Read).map_err(|e| io_error("open", &path, e))?;
            files.push((file, path, FrameSeed::new(&header.store, header.segment, source.form.code())));
        }
        let mut frame = AlignedVec::<16>::new();
        let mut read = |index: u64, body: &mut AlignedVec<16>| {
            let event = reseal.events.get(to_usize(index));
            let found = event.and_then(|event| Some((event, files.get(event.source)?)));
            let Some((event, (file, path, seed))) = found else {
                return Err(Error::corrupt("an event of the plan is not there"));
            };
            frame.clear();
            frame.resize(event.bytes, 0);
            let read = file.read_at(&mut frame, event.offset).map_err(|e| io_error("read", path, e))?;
            let decoded = Frame::decode(frame.get(..read).unwrap_or_default(), *seed, event.offset);
            let place = |e: LogError| e.at(path, header.segment, event.offset);
            body.extend_from_slice(decoded.map_err(|e| place(e.into()))?.body);
            Ok(())
        };
        let entries = Salvage::entries(&reseal.events);
        let (header, state_after) = (header.clone(), reseal.after.clone());
        seal(vfs, dir, SealSource { header, state_after, entries, read: &mut read })?;
        Ok(())
    }

    /// Opens the log that was put right and writes into it what was done. After it returns, that is durable, and
    /// the log is sound.
    ///
    /// # Errors
    /// System calls; `Corrupt` when the log is still not sound.
    pub fn record(
        &self,
        vfs: &Arc<dyn Vfs>,
        (root, dir): (&Path, &Path),
        budget: &Arc<ProofBudget>,
    ) -> Result<()> {
        let repaired: Vec<u64> = self.records.iter().map(|record| record.segment).collect();
        let Recovered { store, segments, state, damage, .. } =
            recover_repaired(vfs, root, dir, budget, &repaired)?;
        let Some(active) = segments.active.clone().filter(|_| damage.is_empty()) else {
            let what =
                damage.first().map_or_else(|| "there is no active segment".to_owned(), ToString::to_string);
            return Err(Error::corrupt(format!("the repair did not help: {what}")).at_path(dir));
        };
        for reseal in &self.reseal {
            // Recovery removed the active forms; a checkpoint can be left of a segment that is gone.
            remove_active(&**vfs, dir, reseal.header.segment)?;
        }
        // What was recovered was only read. Nothing may rely on it before it is on the medium.
        for dir in [root, dir] {
            vfs.sync_dir(dir).map_err(|e| io_error("sync", dir, e))?;
        }
        active.file().sync().map_err(|e| io_error("sync", active.path(), e))?;
        let mark = MarkWriter::open(&**vfs, root, store);
        let mark = mark.map_err(|e| io_error("open", &root.join(MARK_FILE), e))?;
        let roots: BTreeMap<u64, [u8; 32]> =
            segments.sealed.iter().map(|sealed| (sealed.number(), *sealed.root())).collect();
        let options = WriterOptions {
            segment_bytes_max: u64::MAX,
            segment_events_max: usize::MAX,
            sync_each: true,
            before_sync: None,
            on_synced: Notifier::default(),
        };
        let names = Arc::new(Names::of(&state));
        // No event is appended here, so nobody asks for the order.
        let staging = Staging::new(state, names, active, Arrangement::in_memory());
        let writer = Writer::new(Arc::clone(vfs), dir.to_path_buf(), options, segments, staging, mark, false);
        for reseal in &self.reseal {
            let segment = reseal.header.segment;
            if let Some(root) = roots.get(&segment) {
                writer.control(&Control::SegmentSealed { segment, root: *root })?;
            }
        }
        for record in &self.records {
            writer.control(&Control::Repaired { segment: record.segment, lost: record.lost })?;
        }
        writer.sync()?;
        if self.cut.is_some() {
            writer.sync_mark()?;
        }
        writer.close()
    }
}

/// Completes a head by the root of the segment before it, where that one is sealed.
fn linked(vfs: &dyn Vfs, dir: &Path, header: &SegmentHeader) -> Result<SegmentHeader> {
    let mut header = header.clone();
    if let Some(before) = header.segment.checked_sub(1) {
        let path = dir.join(segment_file(before, Stage::Sealed));
        if vfs.exists(&path).map_err(|e| io_error("look for", &path, e))?
            && let Some(trailer) = sealed_trailer(vfs, &path)?
        {
            header.prev_root = trailer.root;
        }
    }
    Ok(header)
}
