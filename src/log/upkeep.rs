//! What a log does beside appending: checkpoints of the active segment, and sealing of rolled ones.
//!
//! Invariants:
//! - A checkpoint describes only what is durable and what a watermark before its end confirms, and replaces the one
//!   before it by rename.
//! - Segments are sealed in order, each after the one before it, so that its head can name that one's root.
//! - Fingerprint tables are merged after their segments are sealed, and nothing waits for that.
//! - The active form is removed after the sealed one is durable and readers of this process have it.

use std::path::Path;
use std::sync::Arc;

use super::active::ActiveSegment;
use super::error::LogError;
use super::files::{checkpoint_file, checkpoint_temporary};
use super::names::{Stage, segment_file};
use super::seal::{SealEntry, SealSource, SealedSummary, seal};
use super::sealed::SealedSegment;
use super::writer::Writer;
use crate::codec::{Checkpoint, Control, ControlState, Form, SegmentHeader};
use crate::contract::{Error, Result};
use crate::io::{OpenMode, ProofBudget, Vfs};

/// What a checkpoint covers.
#[derive(Clone, Debug)]
pub struct Covered {
    /// The active segment.
    pub segment: u64,
    /// Its durable end.
    pub end: u64,
    /// The state there.
    pub state: ControlState,
}

/// Syncs, and writes a checkpoint of the active segment. Cost: about 14 bytes written for each of its events.
///
/// # Errors
/// What the system calls report.
pub fn checkpoint(writer: &Writer, vfs: &dyn Vfs, dir: &Path) -> Result<Covered> {
    let checkpoint = writer.quiesce(|staging, end| {
        let index = staging.segment.index().read();
        Ok(Checkpoint {
            store: staging.segment.header().store,
            segment: staging.segment.number(),
            end,
            entries: index.entries().to_vec(),
            dangling: index.dangling(),
            state: staging.state.clone(),
        })
    })?;
    let bytes = checkpoint.to_bytes().map_err(Error::corrupt)?;
    let number = checkpoint.segment;
    let (temporary, path) = (dir.join(checkpoint_temporary(number)), dir.join(checkpoint_file(number)));
    let write = || -> std::io::Result<()> {
        if vfs.exists(&temporary)? {
            vfs.remove(&temporary)?;
        }
        let file = vfs.open(&temporary, OpenMode::Create)?;
        file.write_at(&bytes, 0)?;
        file.sync()?;
        vfs.rename(&temporary, &path)?;
        vfs.sync_dir(dir)
    };
    write().map_err(|e| LogError::io("write a checkpoint")(e).at(&path, number, 0))?;
    Ok(Covered { segment: number, end: checkpoint.end, state: checkpoint.state })
}

/// Seals the oldest rolled segment. `None` when there is none.
///
/// # Errors
/// What the system calls report; damage in the segment. The log stays as it was.
pub fn seal_next(
    writer: &Writer,
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    budget: &Arc<ProofBudget>,
) -> Result<Option<SealedSummary>> {
    let view = writer.view();
    let segments = view.segments();
    let Some(rolled) = segments.rolled.first() else { return Ok(None) };
    let Some(state_after) = segments.state_before(rolled.number() + 1)? else { return Ok(None) };
    let before = rolled.number().checked_sub(1).and_then(|number| segments.ids.segment(number));
    let header = SegmentHeader {
        form: Form::Sealed,
        prev_root: before.map_or(rolled.header().prev_root, |sealed| *sealed.root()),
        ..rolled.header().clone()
    };
    let summary = seal_segment(vfs, dir, rolled, header, state_after)?;
    let sealed = Arc::new(SealedSegment::open(vfs, &summary.path, budget)?);
    writer.replace_segments(|segments| segments.seal(sealed));
    writer.control(&Control::SegmentSealed { segment: summary.segment, root: summary.root })?;
    remove_active(&**vfs, dir, summary.segment)?;
    Ok(Some(summary))
}

fn seal_segment(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    rolled: &ActiveSegment,
    header: SegmentHeader,
    state_after: ControlState,
) -> Result<SealedSummary> {
    let entries = rolled.index().read().entries().to_vec();
    let seal_entries = (0u32..)
        .zip(&entries)
        .map(|(ordinal, entry)| SealEntry { host: entry.host, seq: entry.seq, ordinal, offset: entry.offset })
        .collect();
    let mut read = |offset: u64, buffer: &mut rkyv::util::AlignedVec<16>| {
        let found =
            entries.binary_search_by_key(&offset, |entry| entry.offset).ok().and_then(|at| entries.get(at));
        match found {
            Some(entry) => rolled.read_body(entry, buffer),
            None => Err(Error::corrupt("no event starts here").at_offset(rolled.number(), offset)),
        }
    };
    seal(vfs, dir, SealSource { header, state_after, entries: seal_entries, read: &mut read })
}

/// Removes the active form and the checkpoint of a segment that is sealed.
///
/// # Errors
/// What the system calls report, a missing file aside.
pub fn remove_active(vfs: &dyn Vfs, dir: &Path, number: u64) -> Result<()> {
    for name in [segment_file(number, Stage::Active), checkpoint_file(number)] {
        let path = dir.join(name);
        match vfs.remove(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("cannot remove a sealed segment's active form", e).at_path(path));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Merges the fingerprint tables that are due. Returns whether there were any.
///
/// # Errors
/// What the system calls report; damage in a table. Look-ups go on as before.
pub fn merge_next(writer: &Writer, vfs: &dyn Vfs) -> Result<bool> {
    let Some(plan) = writer.view().segments().ids.plan_merge() else { return Ok(false) };
    let tier = plan.merge()?;
    let mut useless = Vec::new();
    writer.replace_segments(|segments| {
        let (ids, replaced) = segments.ids.with_tier(tier);
        segments.ids = Arc::new(ids);
        useless = replaced;
    });
    for path in useless {
        // It stays useless; the next open tries again.
        let _ = vfs.remove(&path);
    }
    Ok(true)
}

/// Takes the oldest sealed segment out of the log and removes its file; readers that hold it keep it.
///
/// # Errors
/// What the system calls report.
pub fn drop_oldest(writer: &Writer, vfs: &dyn Vfs, oldest: &Arc<SealedSegment>) -> Result<()> {
    oldest.keep_readable()?;
    let ranges: Vec<_> =
        oldest.hosts().iter().map(|host| (host.host, host.first_seq..=host.last_seq)).collect();
    writer.drop_events(&ranges, |segments| {
        segments.sealed.retain(|segment| segment.number() != oldest.number());
        segments.ids = Arc::new(segments.ids.without_segment(oldest.number()));
    })?;
    vfs.remove(oldest.path()).map_err(|e| Error::io("remove a segment", e).at_path(oldest.path()))
}
