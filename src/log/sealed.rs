//! A sealed segment: immutable, by `(host, seq)`, read through a memory map.
//!
//! Invariants:
//! - Opening reads header, trailer, host directory and state, no frame and no other section. The file is
//!   closed again; it is mapped when a record or a section is first asked for, and the descriptor dropped.
//! - A file whose size is not what its trailer says is never mapped.
//! - Each frame is checked when it is first read, each section when it is first used. What was checked is
//!   not checked again while the segment stays open.
//! - Damage is `Corrupt` and names the file; files, maps or memory that run out are `Io`.

mod lookups;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::codec::{
    ControlState, Form, FrameSeed, HostEntry, Section, SegmentHeader, TRAILER_BYTES, TableError, Trailer,
};
use crate::contract::{Error, ErrorKind, Result};
use crate::io::{OpenMode, ProofBudget, Validated, Vfs, VfsFile};

use super::blocks::Blocks;
use super::checked::{CheckedTable, FrameMarks};
use super::directory::Directory;
use super::record::{Source, TableSizes, bytes_from};
use super::trouble::{footer_error, header_error, io_error, read_exactly, table_error, to_u64, to_usize};

pub use lookups::Hits;

/// A sealed segment, open. Share it in an `Arc`.
pub struct SealedSegment {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    budget: Arc<ProofBudget>,
    trailer: Trailer,
    bytes: u64,
    secret: [u8; 16],
    first_arrival: u64,
    sizes: TableSizes,
    seed: FrameSeed,
    directory: Directory,
    map: OnceLock<Map>,
    sections_checked: AtomicU32,
    ids: OnceLock<CheckedTable>,
    unresolved: OnceLock<CheckedTable>,
}

impl std::fmt::Debug for SealedSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealedSegment({}, {} events)", self.number(), self.events())
    }
}

#[derive(Debug)]
struct Map {
    source: Arc<Source>,
    frames: FrameMarks,
}

impl SealedSegment {
    /// Opens a sealed segment: three reads, of header, trailer, directory and state.
    ///
    /// # Errors
    /// `Corrupt` when one of them is damaged or the file was cut, `Unsupported` when a newer build wrote it,
    /// `Io` when it cannot be read.
    pub fn open(vfs: &Arc<dyn Vfs>, path: &Path, budget: &Arc<ProofBudget>) -> Result<Self> {
        let file = vfs.open(path, OpenMode::Read).map_err(|e| io_error("open", path, e))?;
        Self::open_file(vfs, &*file, path, budget).map_err(|e| e.at_path(path))
    }

    fn open_file(
        vfs: &Arc<dyn Vfs>,
        file: &dyn VfsFile,
        path: &Path,
        budget: &Arc<ProofBudget>,
    ) -> Result<Self> {
        let bytes = file.size().map_err(|e| io_error("measure", path, e))?;
        let trailer = read_trailer(file, path, bytes)?;
        let header = read_header(file, path, &trailer)?;
        let segment = header.segment;
        let tail = trailer.section(Section::Directory).offset;
        let tail_bytes = to_usize(bytes - to_u64(TRAILER_BYTES) - tail);
        let tail_of_file = read_exactly(file, path, tail, tail_bytes)?;
        let in_tail = |section| {
            let place = trailer.section(section);
            let start = to_usize(place.offset - tail);
            let found = tail_of_file.get(start..).and_then(|rest| rest.get(..to_usize(place.bytes)));
            check_section(&trailer, section, found.unwrap_or_default())
        };
        let state = state_of(in_tail(Section::State)?).map_err(|e| e.at_offset(segment, tail))?;
        let sizes = sizes_of(&state)?;
        let directory = in_tail(Section::Directory)?;
        let directory = Directory::read(directory, &trailer, &state.hosts).map_err(|what| {
            Error::corrupt(format!("the host directory is damaged: {what}")).at_offset(segment, tail)
        })?;
        Ok(Self {
            vfs: Arc::clone(vfs),
            path: path.to_path_buf(),
            budget: Arc::clone(budget),
            bytes,
            secret: header.secret,
            first_arrival: header.state.arrivals,
            sizes,
            seed: FrameSeed::new(&header.store, segment, Form::Sealed.code()),
            directory,
            map: OnceLock::new(),
            sections_checked: AtomicU32::new(0),
            ids: OnceLock::new(),
            unresolved: OnceLock::new(),
            trailer,
        })
    }

    /// Returns the segment's number.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.trailer.segment
    }

    /// Returns the identity of the store that the segment belongs to.
    #[must_use]
    pub const fn store(&self) -> &[u8; 16] {
        &self.trailer.store
    }

    /// Returns the count of events.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.trailer.events
    }

    /// Returns the root: BLAKE3 of everything before the trailer.
    #[must_use]
    pub const fn root(&self) -> &[u8; 32] {
        &self.trailer.root
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the secret that keys id fingerprints.
    #[must_use]
    pub const fn secret(&self) -> &[u8; 16] {
        &self.secret
    }

    /// Returns how many events were written before this segment.
    #[must_use]
    pub const fn first_arrival(&self) -> u64 {
        self.first_arrival
    }

    /// Returns how many hosts and types are defined behind the segment.
    #[must_use]
    pub const fn sizes(&self) -> TableSizes {
        self.sizes
    }

    /// Reads the head again. It is not kept: with many hosts it is large, and each segment has one.
    ///
    /// # Errors
    /// `Io`, or `Corrupt` when the file changed since it was opened.
    pub fn header(&self) -> Result<SegmentHeader> {
        let file = self.file()?;
        read_header(&*file, &self.path, &self.trailer).map_err(|e| e.at_path(&self.path))
    }

    /// Reads the state behind the segment's last record again. It is not kept, as the head is not.
    ///
    /// # Errors
    /// `Io`, or `Corrupt` when the file changed since it was opened.
    pub fn state_after(&self) -> Result<ControlState> {
        let place = self.trailer.section(Section::State);
        let bytes = read_exactly(&*self.file()?, &self.path, place.offset, to_usize(place.bytes))?;
        let checked = check_section(&self.trailer, Section::State, &bytes).and_then(state_of);
        checked.map_err(|e| self.place(e, place.offset))
    }

    /// Returns what the segment holds of a host; `None` when it holds nothing.
    #[must_use]
    pub fn host_entry(&self, host: u32) -> Option<&HostEntry> {
        self.directory.get(host)
    }

    /// Returns what the segment holds of each host, in the order of their names.
    #[must_use]
    pub fn hosts(&self) -> &[HostEntry] {
        self.directory.entries()
    }

    pub(super) fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    pub(super) const fn seed(&self) -> FrameSeed {
        self.seed
    }

    pub(super) fn source(&self) -> Result<&Arc<Source>> {
        Ok(&self.map()?.source)
    }

    pub(super) fn blocks(&self) -> Result<Blocks<'_>> {
        // The marks of a section tell that bytes match their checksum; the block index is also checked
        // against the directory, under a mark of its own.
        const STRUCTURE_CHECKED: u32 = 1 << 31;
        let place = self.trailer.section(Section::Blocks);
        let blocks = Blocks::new(self.section(Section::Blocks)?);
        if self.sections_checked.load(Ordering::Relaxed) & STRUCTURE_CHECKED == 0 {
            blocks.check(self.directory.entries()).map_err(|what| {
                self.place(Error::corrupt(format!("the block index is damaged: {what}")), place.offset)
            })?;
            self.sections_checked.fetch_or(STRUCTURE_CHECKED, Ordering::Relaxed);
        }
        Ok(blocks)
    }

    /// Returns a section's bytes, checked when first used.
    pub(super) fn section(&self, section: Section) -> Result<&[u8]> {
        let place = self.trailer.section(section);
        let bytes = self.section_unchecked(section)?;
        let bit = 1u32 << section.index();
        if self.sections_checked.load(Ordering::Relaxed) & bit == 0 {
            check_section(&self.trailer, section, bytes).map_err(|e| self.place(e, place.offset))?;
            self.sections_checked.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(bytes)
    }

    pub(super) fn section_unchecked(&self, section: Section) -> Result<&[u8]> {
        let place = self.trailer.section(section);
        let bytes = bytes_from(self.source()?, place.offset);
        Ok(bytes.get(..to_usize(place.bytes)).unwrap_or_default())
    }

    fn table(&self, section: Section) -> Result<(&CheckedTable, &[u8])> {
        let cell = if section == Section::Ids { &self.ids } else { &self.unresolved };
        // A table has checksums by partition, so that the first look reads one of them, not the section.
        let bytes = self.section_unchecked(section)?;
        if let Some(table) = cell.get() {
            return Ok((table, bytes));
        }
        let table = CheckedTable::read(bytes).map_err(|e| self.table_trouble(e, section))?;
        Ok((cell.get_or_init(|| table), bytes))
    }

    pub(super) fn table_trouble(&self, error: TableError, section: Section) -> Error {
        self.place(table_error(error), self.trailer.section(section).offset)
    }

    /// Maps the file, so that whoever holds the segment can read it when its name is gone.
    ///
    /// # Errors
    /// System calls; a file that is not what it was.
    pub fn keep_readable(&self) -> Result<()> {
        self.map().map(drop)
    }

    fn map(&self) -> Result<&Map> {
        if let Some(map) = self.map.get() {
            return Ok(map);
        }
        let file = match self.file() {
            Ok(file) => file,
            // Whoever took its name away mapped it first.
            Err(error) => return self.map.get().ok_or(error),
        };
        let found = file.size().map_err(|e| io_error("measure", &self.path, e))?;
        let changed = || Error::corrupt("the file changed since it was opened").at_path(&self.path);
        if found != self.bytes {
            return Err(changed());
        }
        let mapping = file.map().map_err(|e| io_error("map", &self.path, e))?;
        let source = Arc::new(Validated::new(mapping, Arc::clone(&self.budget)));
        if source.bytes().len() != to_usize(self.bytes) || !source.bytes().ends_with(&self.trailer.to_bytes())
        {
            return Err(changed());
        }
        Ok(self.map.get_or_init(|| Map { source, frames: FrameMarks::new(self.bytes) }))
    }

    fn file(&self) -> Result<Arc<dyn VfsFile>> {
        self.vfs.open(&self.path, OpenMode::Read).map_err(|e| io_error("open", &self.path, e))
    }

    /// Adds the place to an error.
    pub(super) fn place(&self, error: Error, offset: u64) -> Error {
        error.at_offset(self.number(), offset).at_path(&self.path)
    }
}

fn read_trailer(file: &dyn VfsFile, path: &Path, bytes: u64) -> Result<Trailer> {
    let start = bytes.checked_sub(to_u64(TRAILER_BYTES));
    let start = start.ok_or_else(|| Error::corrupt("the file is too short for a sealed segment"))?;
    let trailer = read_exactly(file, path, start, TRAILER_BYTES)?;
    let trailer = trailer.first_chunk().ok_or_else(|| Error::corrupt("the trailer is cut short"))?;
    Trailer::from_bytes(trailer, bytes).map_err(footer_error)
}

/// Reads the trailer of a file; `None` when it is damaged.
///
/// # Errors
/// `Io`.
pub(super) fn sealed_trailer(vfs: &dyn Vfs, path: &Path) -> Result<Option<Trailer>> {
    let file = vfs.open(path, OpenMode::Read).map_err(|e| io_error("open", path, e))?;
    let bytes = file.size().map_err(|e| io_error("measure", path, e))?;
    whole(read_trailer(&*file, path, bytes))
}

/// Reads the state behind a file's last record, whatever else of the file is damaged; `None` when it is itself.
///
/// # Errors
/// `Io`.
pub(super) fn sealed_state(vfs: &dyn Vfs, path: &Path) -> Result<Option<ControlState>> {
    let Some(trailer) = sealed_trailer(vfs, path)? else { return Ok(None) };
    let file = vfs.open(path, OpenMode::Read).map_err(|e| io_error("open", path, e))?;
    let place = trailer.section(Section::State);
    let bytes = read_exactly(&*file, path, place.offset, to_usize(place.bytes));
    whole(bytes.and_then(|bytes| check_section(&trailer, Section::State, &bytes).and_then(state_of)))
}

/// Turns damage into nothing.
fn whole<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_header(file: &dyn VfsFile, path: &Path, trailer: &Trailer) -> Result<SegmentHeader> {
    let bytes = read_exactly(file, path, 0, to_usize(trailer.frames_start))?;
    header_of(&bytes, trailer)
}

/// Reads a head that must fill `bytes` and agree with the trailer.
pub(super) fn header_of(bytes: &[u8], trailer: &Trailer) -> Result<SegmentHeader> {
    let (header, end) = SegmentHeader::from_bytes(bytes).map_err(header_error)?;
    let agrees = header.form == Form::Sealed
        && (header.segment, header.store) == (trailer.segment, trailer.store)
        && to_u64(end) == trailer.frames_start;
    if agrees { Ok(header) } else { Err(Error::corrupt("header and trailer do not belong together")) }
}

fn state_of(bytes: &[u8]) -> Result<ControlState> {
    ControlState::from_bytes(bytes)
        .map_err(|what| Error::corrupt(format!("the control state is damaged: {what}")))
}

pub(super) fn sizes_of(state: &ControlState) -> Result<TableSizes> {
    let size = |length: usize| {
        u32::try_from(length).map_err(|e| Error::corrupt("the control state is too large").with_source(e))
    };
    Ok(TableSizes { hosts: size(state.hosts.len())?, types: size(state.types.len())? })
}

pub(super) fn check_section<'a>(trailer: &Trailer, section: Section, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let place = trailer.section(section);
    if to_u64(bytes.len()) == place.bytes && crc32c::crc32c(bytes) == place.crc {
        return Ok(bytes);
    }
    let message = format!("the {} does not match its checksum", section.name());
    Err(Error::corrupt(message).at_offset(trailer.segment, place.offset))
}
