//! Sealing: rewrites a full segment by `(host, seq)`, with a footer.
//!
//! Crash states: until the rename there is at most a `.sealing` file, which means nothing and is replaced by
//! the next try; the rename comes after the file was synced, so a `.sealed` file is whole. The active form
//! must stay until this returned.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rkyv::util::AlignedVec;

use crate::codec::{
    ArchivedEventRecord, ControlState, Form, Frame, FrameKind, FrameSeed, SectionPlace, SegmentHeader,
    Trailer, check_event,
};
use crate::contract::{Error, Result, cmp_utf16};
use crate::io::{OpenMode, Vfs, VfsFile};

use super::names::{Stage, segment_file};
use super::sections::Sections;
use super::trouble::{io_error, to_u64, to_usize};

/// Bytes that are gathered before they are hashed and written.
const WRITE_BYTES: usize = 1 << 20;

/// Where one event of the segment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealEntry {
    /// Number of the event's host.
    pub host: u32,
    /// The event's `seq`.
    pub seq: u64,
    /// Arrival order within the segment: each number from 0 to the count of events, once.
    pub ordinal: u32,
    /// Where [`SealSource::read`] finds it.
    pub offset: u64,
}

/// What is to be sealed.
pub struct SealSource<'a> {
    /// The head of the sealed file: form sealed, root of the segment before filled in.
    pub header: SegmentHeader,
    /// The state behind the segment's last record.
    pub state_after: ControlState,
    /// All events of the segment, in any order.
    pub entries: Vec<SealEntry>,
    /// Fills the buffer with the body of the event's frame at an offset. The buffer is empty when it is called.
    pub read: &'a mut dyn FnMut(u64, &mut AlignedVec<16>) -> Result<()>,
}

impl std::fmt::Debug for SealSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealSource(segment {}, {} events)", self.header.segment, self.entries.len())
    }
}

/// What was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSummary {
    /// The segment's number.
    pub segment: u64,
    /// The sealed file.
    pub path: PathBuf,
    /// BLAKE3 of everything before its trailer.
    pub root: [u8; 32],
    /// Its size.
    pub bytes: u64,
    /// Its events.
    pub events: u64,
}

/// Writes the sealed form of a segment into `dir` and makes it durable.
///
/// The bytes are a function of the source. Reads each event once, in the order of the result; holds about 80
/// bytes an event and 1 MiB, never the segment.
///
/// # Errors
/// `Corrupt` when an event is not what its entry says, twice there, or its record does not check; `Io` when a
/// file operation fails; what `read` returns. A sealed file may be there then if the last step failed, to make
/// its name durable; it is whole.
pub fn seal(vfs: &Arc<dyn Vfs>, dir: &Path, mut source: SealSource<'_>) -> Result<SealedSummary> {
    let segment = source.header.segment;
    sort_entries(&mut source.entries, &source.state_after).map_err(|e| e.at_offset(segment, 0))?;
    let temporary = dir.join(segment_file(segment, Stage::Sealing));
    let path = dir.join(segment_file(segment, Stage::Sealed));
    if vfs.exists(&temporary).map_err(|e| io_error("look for", &temporary, e))? {
        vfs.remove(&temporary).map_err(|e| io_error("remove", &temporary, e))?;
    }
    let file = vfs.open(&temporary, OpenMode::Create).map_err(|e| io_error("create", &temporary, e))?;
    let written = write_file(&*file, &temporary, &path, source).and_then(|summary| {
        file.sync().map_err(|e| io_error("sync", &temporary, e))?;
        drop(file);
        vfs.rename(&temporary, &path).map_err(|e| io_error("rename", &temporary, e))?;
        vfs.sync_dir(dir).map_err(|e| io_error("sync the directory", dir, e))?;
        Ok(summary)
    });
    if written.is_err() {
        // The error that stopped the work is the one to report; a leftover is replaced by the next try.
        let _ = vfs.remove(&temporary);
    }
    written
}

/// Sorts by `(host name, seq)`.
fn sort_entries(entries: &mut [SealEntry], state: &ControlState) -> Result<()> {
    let mut by_name: Vec<usize> = (0..state.hosts.len()).collect();
    let name = |index: &usize| state.hosts.get(*index).map_or("", |host| host.name.as_str());
    by_name.sort_unstable_by(|a, b| cmp_utf16(name(a), name(b)));
    let mut ranks = vec![0usize; state.hosts.len()];
    for (rank, index) in by_name.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(index) {
            *slot = rank;
        }
    }
    let rank = |host: u32| ranks.get(to_usize(u64::from(host))).copied();
    if let Some(entry) = entries.iter().find(|entry| rank(entry.host).is_none()) {
        return Err(Error::corrupt(format!("host number {} is not defined", entry.host)));
    }
    entries.sort_unstable_by_key(|entry| (rank(entry.host), entry.seq));
    let twice = |pair: &[SealEntry]| matches!(pair, [a, b] if a.host == b.host && a.seq == b.seq);
    if let Some([entry, ..]) = entries.windows(2).find(|pair| twice(pair)) {
        return Err(Error::corrupt(format!(
            "seq {} of host number {} is there twice",
            entry.seq, entry.host
        )));
    }
    Ok(())
}

fn write_file(
    file: &dyn VfsFile,
    temporary: &Path,
    path: &Path,
    source: SealSource<'_>,
) -> Result<SealedSummary> {
    let SealSource { header, state_after, entries, read } = source;
    let (store, segment) = (header.store, header.segment);
    let seed = FrameSeed::new(&store, segment, Form::Sealed.code());
    let mut out = Output::new(file, temporary);
    out.buffer.extend_from_slice(&header.to_bytes().map_err(Error::corrupt)?);
    let frames_start = out.position();
    let mut sections = Sections::new(header.secret, &state_after, entries.len());
    let mut body = AlignedVec::<16>::new();
    for entry in &entries {
        body.clear();
        read(entry.offset, &mut body)?;
        let offset = out.position();
        let corrupt = |what: String| Error::corrupt(what).at_offset(segment, entry.offset);
        let record = checked(&body, entry).map_err(corrupt)?;
        let bytes = Frame::encode(&mut out.buffer, seed, offset, FrameKind::Event, entry.ordinal, &body)
            .map_err(|e| corrupt(e.to_string()))?;
        sections.push(record, entry.ordinal, offset, bytes).map_err(corrupt)?;
        out.write_if_full()?;
    }
    let frames_end = out.position();
    let mut places = [SectionPlace::default(); 7];
    let unresolved = sections.finish(&state_after, |section, bytes| {
        if let Some(place) = places.get_mut(section.index()) {
            *place = SectionPlace {
                offset: out.position(),
                bytes: to_u64(bytes.len()),
                crc: crc32c::crc32c(bytes),
            };
        }
        out.buffer.extend_from_slice(bytes);
        out.align();
        out.write_if_full()
    })?;
    let root = out.root()?;
    let events = to_u64(entries.len());
    let trailer =
        Trailer { sections: places, frames_start, frames_end, events, unresolved, segment, store, root };
    out.buffer.extend_from_slice(&trailer.to_bytes());
    out.write()?;
    Ok(SealedSummary { segment, path: path.to_path_buf(), root, bytes: out.position(), events })
}

fn checked<'a>(body: &'a [u8], entry: &SealEntry) -> Result<&'a ArchivedEventRecord<'a>, String> {
    let record = check_event(body)?;
    let found = (record.host.to_native(), record.seq.to_native());
    if found != (entry.host, entry.seq) {
        return Err(format!("{found:?} where host and seq {:?} are expected", (entry.host, entry.seq)));
    }
    Ok(record)
}

/// The file as it is written: a buffer, and the hash of what passed.
struct Output<'a> {
    file: &'a dyn VfsFile,
    path: &'a Path,
    buffer: Vec<u8>,
    written: u64,
    hasher: blake3::Hasher,
}

impl<'a> Output<'a> {
    fn new(file: &'a dyn VfsFile, path: &'a Path) -> Self {
        let buffer = Vec::with_capacity(WRITE_BYTES + WRITE_BYTES / 4);
        Self { file, path, buffer, written: 0, hasher: blake3::Hasher::new() }
    }

    fn position(&self) -> u64 {
        self.written + to_u64(self.buffer.len())
    }

    /// Adds zeros up to a multiple of 8.
    fn align(&mut self) {
        // What is written ends at a multiple of 8 only if the buffer did, so count from the file's start.
        let missing = to_usize(self.position().next_multiple_of(8) - self.position());
        self.buffer.resize(self.buffer.len() + missing, 0);
    }

    fn write_if_full(&mut self) -> Result<()> {
        if self.buffer.len() < WRITE_BYTES { Ok(()) } else { self.hash_and_write() }
    }

    fn hash_and_write(&mut self) -> Result<()> {
        self.hasher.update(&self.buffer);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.file.write_at(&self.buffer, self.written).map_err(|e| io_error("write", self.path, e))?;
        self.written += to_u64(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left and returns the hash of everything so far.
    fn root(&mut self) -> Result<[u8; 32]> {
        self.hash_and_write()?;
        Ok(*self.hasher.finalize().as_bytes())
    }
}
