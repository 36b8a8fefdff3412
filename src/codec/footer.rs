//! The sealed file: what stands behind its frames.
//!
//! ```text
//! header (see `header`, form sealed)
//! frames, by (host name in UTF-16 order, seq)
//! sections, in this order, each at a multiple of 8 with zeros before it:
//!   blocks      32 bytes each, see `BlockEntry`
//!   arrivals    u32 each: place of the event with this ordinal
//!   kinds       u32 each: for every type of the state after, and once more, the index where its list
//!               starts; then the lists: places in file order
//!   ids         fingerprint table (see `table`) of one column: event id to place
//!   unresolved  fingerprint table of one column: id of a cause that was not held, to the place of the
//!               event that names it
//!   directory   32 bytes each, see `HostEntry`, in the order of the frames
//!   state       control state behind the segment's last record
//! trailer of 272 bytes, at the very end:
//!      0    24  per section: offset, u64; bytes, u64; CRC-32C, u32; zero, u32     (7 sections, 168 bytes)
//!    168     8  offset of the first frame, u64
//!    176     8  end of the last frame, u64
//!    184     8  events, u64
//!    192     8  entries of the section unresolved, u64
//!    200     8  segment number, u64
//!    208    16  store identity
//!    224    32  BLAKE3 of everything before the trailer: the segment's root
//!    256     4  CRC-32C of bytes 0 to 256
//!    260     4  bytes of the trailer, u32 = 272
//!    264     8  magic "CLOGSEAL"
//! ```
//!
//! Invariants:
//! - Little-endian. A *place* is a frame's offset divided by 8, so a sealed file is at most 32 GiB.
//! - Sections follow one another and the frames without gaps, but for zeros up to a multiple of 8; the
//!   trailer follows the last one.
//! - All sections but the state are functions of the frames.
//! - Reading stays within the slice it is given and never panics, whatever the bytes say.

use thiserror::Error;

/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = 272;

/// Bytes of an entry of the host directory.
pub const HOST_ENTRY_BYTES: usize = 32;

/// Bytes of an entry of the block index.
pub const BLOCK_ENTRY_BYTES: usize = 32;

const MAGIC: [u8; 8] = *b"CLOGSEAL";

/// Turns a frame's offset into a place; `None` when it is no multiple of 8 or beyond 32 GiB.
#[must_use]
pub fn place_of(offset: u64) -> Option<u32> {
    if offset.is_multiple_of(8) { u32::try_from(offset / 8).ok() } else { None }
}

/// Turns a place into a frame's offset.
#[must_use]
pub const fn offset_of(place: u32) -> u64 {
    // `u64::from` is not const.
    place as u64 * 8
}

/// Why bytes are not a sealed file's trailer or one of its sections.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FooterError {
    /// The file does not end with the magic: it was cut, or never whole.
    #[error("the file does not end with a trailer")]
    Magic,
    /// The trailer does not match its checksum.
    #[error("the trailer does not match its checksum")]
    Checksum,
    /// The file is longer or shorter than the trailer says.
    #[error("the file has {found} bytes where its trailer says {expected}")]
    Size {
        /// Bytes there are.
        found: u64,
        /// Bytes the trailer tells.
        expected: u64,
    },
    /// A field cannot be.
    #[error("the trailer is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
}

/// The sections of a sealed file, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// Blocks of consecutive frames.
    Blocks,
    /// Places by ordinal.
    Arrivals,
    /// Places by type.
    Kinds,
    /// Places by id.
    Ids,
    /// Places of the events that name an id that was not held.
    Unresolved,
    /// Hosts of the segment.
    Directory,
    /// Control state behind the segment.
    State,
}

impl Section {
    /// All sections in the order in which they stand.
    pub const ALL: [Self; 7] = [
        Self::Blocks,
        Self::Arrivals,
        Self::Kinds,
        Self::Ids,
        Self::Unresolved,
        Self::Directory,
        Self::State,
    ];

    /// Returns the name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocks => "block index",
            Self::Arrivals => "arrival order",
            Self::Kinds => "type lists",
            Self::Ids => "id table",
            Self::Unresolved => "table of unresolved causes",
            Self::Directory => "host directory",
            Self::State => "control state",
        }
    }

    /// Returns the position in the trailer's table.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Where a section lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionPlace {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes without padding.
    pub bytes: u64,
    /// CRC-32C of those bytes.
    pub crc: u32,
}

/// The trailer of a sealed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Where the sections lie, in the order of [`Section::ALL`].
    pub sections: [SectionPlace; 7],
    /// Offset of the first frame.
    pub frames_start: u64,
    /// End of the last frame.
    pub frames_end: u64,
    /// Events of the segment.
    pub events: u64,
    /// Causes that were not held when their events were written.
    pub unresolved: u64,
    /// The segment's number.
    pub segment: u64,
    /// The store's identity.
    pub store: [u8; 16],
    /// BLAKE3 of everything before the trailer.
    pub root: [u8; 32],
}

impl Trailer {
    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TRAILER_BYTES);
        for section in &self.sections {
            out.extend_from_slice(&section.offset.to_le_bytes());
            out.extend_from_slice(&section.bytes.to_le_bytes());
            out.extend_from_slice(&section.crc.to_le_bytes());
            out.extend_from_slice(&[0; 4]);
        }
        for field in [self.frames_start, self.frames_end, self.events, self.unresolved, self.segment] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.store);
        out.extend_from_slice(&self.root);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out.extend_from_slice(&[16, 1, 0, 0]);
        out.extend_from_slice(&MAGIC);
        out
    }

    /// Reads the trailer from the last [`TRAILER_BYTES`] of a file of `file_bytes`.
    ///
    /// What it returns is consistent: sections lie behind the frames, one after the other, and end where the
    /// trailer starts.
    ///
    /// # Errors
    /// [`FooterError`] naming the first thing that is wrong.
    pub fn from_bytes(bytes: &[u8; TRAILER_BYTES], file_bytes: u64) -> Result<Self, FooterError> {
        let mut words = bytes.as_chunks::<8>().0.iter().copied();
        let mut next = || words.next().unwrap_or_default();
        let mut sections = [SectionPlace::default(); 7];
        let mut zeros = 0;
        for section in &mut sections {
            section.offset = u64::from_le_bytes(next());
            section.bytes = u64::from_le_bytes(next());
            let [c0, c1, c2, c3, zero @ ..] = next();
            section.crc = u32::from_le_bytes([c0, c1, c2, c3]);
            zeros |= u32::from_le_bytes(zero);
        }
        let [frames_start, frames_end, events, unresolved, segment] =
            std::array::from_fn(|_| u64::from_le_bytes(next()));
        let mut store = [0; 16];
        store.as_chunks_mut::<8>().0.fill_with(&mut next);
        let mut root = [0; 32];
        root.as_chunks_mut::<8>().0.fill_with(&mut next);
        let [c0, c1, c2, c3, length @ ..] = next();
        if next() != MAGIC {
            return Err(FooterError::Magic);
        }
        let covered = bytes.get(..TRAILER_BYTES - 16).unwrap_or_default();
        if crc32c::crc32c(covered) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(FooterError::Checksum);
        }
        if length != [16, 1, 0, 0] || zeros != 0 {
            return Err(FooterError::Damaged { what: "a field that must be constant" });
        }
        let trailer = Self { sections, frames_start, frames_end, events, unresolved, segment, store, root };
        trailer.check(file_bytes)?;
        Ok(trailer)
    }

    fn check(&self, file_bytes: u64) -> Result<(), FooterError> {
        let gap = FooterError::Damaged { what: "sections do not follow one another" };
        let mut end = self.frames_end;
        if self.frames_start > end || !self.frames_start.is_multiple_of(8) || !end.is_multiple_of(8) {
            return Err(gap);
        }
        for section in &self.sections {
            if section.offset != end {
                return Err(gap);
            }
            let next =
                section.offset.checked_add(section.bytes).and_then(|end| end.checked_next_multiple_of(8));
            end = next.ok_or_else(|| gap.clone())?;
        }
        let expected = end.saturating_add(TRAILER_BYTES as u64);
        if expected != file_bytes {
            return Err(FooterError::Size { found: file_bytes, expected });
        }
        let entry_bytes = |section: Section, bytes: usize| {
            let place = self.section(section);
            (place.bytes.is_multiple_of(bytes as u64)).then_some(place.bytes / bytes as u64)
        };
        let fits = entry_bytes(Section::Arrivals, 4) == Some(self.events)
            && entry_bytes(Section::Blocks, BLOCK_ENTRY_BYTES).is_some_and(|blocks| blocks <= self.events)
            && entry_bytes(Section::Directory, HOST_ENTRY_BYTES).is_some_and(|hosts| hosts <= self.events);
        if !fits || place_of(self.frames_end).is_none() {
            return Err(FooterError::Damaged { what: "a section's size" });
        }
        Ok(())
    }

    /// Returns where a section lies.
    #[must_use]
    pub fn section(&self, section: Section) -> SectionPlace {
        self.sections.get(section.index()).copied().unwrap_or_default()
    }
}

/// One host of a segment.
///
/// ```text
///      0      4  host number, u32
///      4      4  events, u32
///      8      8  first seq, u64
///     16      8  last seq, u64
///     24      4  place of the first frame, u32
///     28      4  place behind the last frame, u32
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// The host's number in the store's table.
    pub host: u32,
    /// Its events in the segment.
    pub events: u32,
    /// The lowest `seq` among them.
    pub first_seq: u64,
    /// The highest `seq` among them.
    pub last_seq: u64,
    /// Place of the first frame.
    pub start: u32,
    /// Place behind the last frame.
    pub end: u32,
}

impl HostEntry {
    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HOST_ENTRY_BYTES] {
        words([
            pair(self.host, self.events),
            self.first_seq.to_le_bytes(),
            self.last_seq.to_le_bytes(),
            pair(self.start, self.end),
        ])
    }

    /// Reads an entry; any bytes are one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; HOST_ENTRY_BYTES]) -> Self {
        let [a, first_seq, last_seq, d] = unwords(bytes);
        let ((host, events), (start, end)) = (unpair(a), unpair(d));
        Self { host, events, first_seq, last_seq, start, end }
    }
}

/// Consecutive frames of one host, about 32 KiB of them.
///
/// ```text
///      0      4  place of the first frame, u32
///      4      4  place behind the last frame, u32
///      8      8  first seq, u64
///     16      8  last seq, u64
///     24      4  host number, u32
///     28      4  frames, u32
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Place of the first frame.
    pub start: u32,
    /// Place behind the last frame.
    pub end: u32,
    /// The lowest `seq` of the block.
    pub first_seq: u64,
    /// The highest `seq` of the block.
    pub last_seq: u64,
    /// The host's number in the store's table.
    pub host: u32,
    /// Frames of the block.
    pub frames: u32,
}

impl BlockEntry {
    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; BLOCK_ENTRY_BYTES] {
        words([
            pair(self.start, self.end),
            self.first_seq.to_le_bytes(),
            self.last_seq.to_le_bytes(),
            pair(self.host, self.frames),
        ])
    }

    /// Reads an entry; any bytes are one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; BLOCK_ENTRY_BYTES]) -> Self {
        let [a, first_seq, last_seq, d] = unwords(bytes);
        let ((start, end), (host, frames)) = (unpair(a), unpair(d));
        Self { start, end, first_seq, last_seq, host, frames }
    }
}

fn words(words: [[u8; 8]; 4]) -> [u8; 32] {
    let mut out = [0; 32];
    out.as_chunks_mut::<8>().0.copy_from_slice(&words);
    out
}

fn unwords(bytes: &[u8; 32]) -> [u64; 4] {
    let mut words = bytes.as_chunks::<8>().0.iter().copied();
    std::array::from_fn(|_| u64::from_le_bytes(words.next().unwrap_or_default()))
}

fn pair(a: u32, b: u32) -> [u8; 8] {
    (u64::from(a) | u64::from(b) << 32).to_le_bytes()
}

fn unpair(word: u64) -> (u32, u32) {
    let [a0, a1, a2, a3, b0, b1, b2, b3] = word.to_le_bytes();
    (u32::from_le_bytes([a0, a1, a2, a3]), u32::from_le_bytes([b0, b1, b2, b3]))
}

#[cfg(test)]
mod tests;
