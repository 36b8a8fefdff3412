//! Frames: how records stand in a segment.
//!
//! ```text
//! offset  bytes  field
//!      0      4  length of the body, u32, without padding
//!      4      4  CRC-32C, u32
//!      8      1  kind: 1 event, 2 control, 3 group mark, 4 watermark
//!      9      1  zero
//!     10      2  magic, u16 = 0xCA5E
//!     12      4  ordinal, u32: arrival order of an event within its segment; else zero
//!     16      n  body
//!   16+n    0-7  zeros up to a multiple of 8
//! ```
//!
//! A body takes at most [`FRAME_BODY_MAX`] bytes.
//!
//! Invariants:
//! - All numbers are little-endian. A frame starts at a multiple of [`FRAME_ALIGN`].
//! - The checksum covers the store, the segment, its form (active or sealed), the frame's offset, the
//!   header's other fields and the body: a frame that was copied to another place, left over from a
//!   recycled file or taken from another store never checks.
//! - Padding is zero and is checked.
//! - Decoding reads within the slice it is given, allocates nothing and never panics.

use std::fmt;

use thiserror::Error;

use super::archive::CAUSE_BYTES;
use crate::contract::limits::{CAUSES_MAX, LINE_BYTES_MAX};

/// Frames start at multiples of this many bytes.
pub const FRAME_ALIGN: usize = 8;

/// Bytes before a frame's body.
pub const FRAME_HEADER_BYTES: usize = 16;

/// Longest body. What a header claims beyond it is no frame, so nobody reads far, or asks for memory, on its word.
pub const FRAME_BODY_MAX: usize = 32 << 20;

// All text of an event stands in its line, each cause takes an entry, and the rest has a fixed size.
const _: () = assert!(LINE_BYTES_MAX + CAUSES_MAX * CAUSE_BYTES + 4096 <= FRAME_BODY_MAX);

const MAGIC: u16 = 0xCA5E;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An event's record.
    Event,
    /// A control record.
    Control,
    /// The start of a group commit: see [`GroupMark`].
    Group,
    /// A durable end, written on close and when idle: see [`GroupMark`].
    Watermark,
}

impl FrameKind {
    const fn code(self) -> u8 {
        match self {
            Self::Event => 1,
            Self::Control => 2,
            Self::Group => 3,
            Self::Watermark => 4,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Event),
            2 => Some(Self::Control),
            3 => Some(Self::Group),
            4 => Some(Self::Watermark),
            _ => None,
        }
    }
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Fewer bytes are left than a header, or than the header claims.
    #[error("the frame is cut short: {found} bytes of {expected}")]
    Short {
        /// Bytes there are.
        found: usize,
        /// Bytes the frame needs.
        expected: usize,
    },
    /// The header is all zeros: free space.
    #[error("free space")]
    Free,
    /// The header is not one of a frame.
    #[error("not a frame header")]
    Header,
    /// The checksum does not match.
    #[error("checksum {found:#010x} where {expected:#010x} is right")]
    Checksum {
        /// The checksum in the header.
        found: u32,
        /// The checksum of the bytes.
        expected: u32,
    },
    /// The padding is not zero.
    #[error("the padding is not zero")]
    Padding,
}

/// What a frame's checksum starts from: the store, the segment and its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSeed(u32);

impl FrameSeed {
    /// Creates the seed of one segment file.
    #[must_use]
    pub fn new(store: &[u8; 16], segment: u64, form: u8) -> Self {
        let crc = crc32c::crc32c_append(crc32c::crc32c(store), &segment.to_le_bytes());
        Self(crc32c::crc32c_append(crc, &[form]))
    }

    fn checksum(self, offset: u64, header: &[u8; FRAME_HEADER_BYTES], body: &[u8]) -> u32 {
        // One buffer instead of three calls: the checksum of short pieces is mostly call overhead.
        let mut prefix = [0u8; 20];
        let [l0, l1, l2, l3, _, _, _, _, rest @ ..] = header;
        let (a, b) = prefix.split_at_mut(8);
        a.copy_from_slice(&offset.to_le_bytes());
        let (b, c) = b.split_at_mut(4);
        b.copy_from_slice(&[*l0, *l1, *l2, *l3]);
        c.copy_from_slice(rest);
        crc32c::crc32c_append(crc32c::crc32c_append(self.0, &prefix), body)
    }
}

/// A frame that checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it holds.
    pub kind: FrameKind,
    /// Arrival order of an event within its segment.
    pub ordinal: u32,
    /// The record.
    pub body: &'a [u8],
    /// Bytes from this frame's start to the next one's.
    pub bytes: usize,
}

/// Bodies can hold what users typed: their length alone is shown.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, ordinal, body, .. } = self;
        write!(f, "Frame({kind:?}, ordinal {ordinal}, {} bytes)", body.len())
    }
}

impl<'a> Frame<'a> {
    /// Bytes that a frame with a body of `body_bytes` takes.
    #[must_use]
    pub const fn bytes_for(body_bytes: usize) -> usize {
        (FRAME_HEADER_BYTES + body_bytes).next_multiple_of(FRAME_ALIGN)
    }

    /// Reads the size of the frame that starts here from its header, without checking the body.
    ///
    /// # Errors
    /// [`FrameError`] when no header stands here.
    pub fn peek(bytes: &[u8]) -> Result<(FrameKind, usize), FrameError> {
        let header = header_of(bytes)?;
        let (kind, _, body_bytes) = fields_of(header)?;
        Ok((kind, Self::bytes_for(body_bytes)))
    }

    /// Reads and checks the frame at the start of `bytes`, which stands at `offset` of its file.
    ///
    /// # Errors
    /// [`FrameError`] naming the first thing that is wrong.
    pub fn decode(bytes: &'a [u8], seed: FrameSeed, offset: u64) -> Result<Self, FrameError> {
        let header = header_of(bytes)?;
        let (kind, ordinal, body_bytes) = fields_of(header)?;
        let whole = Self::bytes_for(body_bytes);
        let short = FrameError::Short { found: bytes.len(), expected: whole };
        let (body, padding) = bytes
            .get(FRAME_HEADER_BYTES..whole)
            .and_then(|rest| rest.split_at_checked(body_bytes))
            .ok_or(short)?;
        let [_, _, _, _, c0, c1, c2, c3, ..] = *header;
        let found = u32::from_le_bytes([c0, c1, c2, c3]);
        let expected = seed.checksum(offset, header, body);
        if found != expected {
            return Err(FrameError::Checksum { found, expected });
        }
        if padding.iter().any(|byte| *byte != 0) {
            return Err(FrameError::Padding);
        }
        Ok(Self { kind, ordinal, body, bytes: whole })
    }

    /// Reads the frame at the start of `bytes` without its checksum: for frames that were checked before.
    ///
    /// # Errors
    /// [`FrameError`] when no header stands here or the frame is cut short.
    pub fn read_again(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let (kind, ordinal, body_bytes) = fields_of(header_of(bytes)?)?;
        let whole = Self::bytes_for(body_bytes);
        let short = FrameError::Short { found: bytes.len(), expected: whole };
        let frame = bytes.get(..whole).ok_or(short)?;
        let body = frame.get(FRAME_HEADER_BYTES..).and_then(|rest| rest.get(..body_bytes)).ok_or(short)?;
        Ok(Self { kind, ordinal, body, bytes: whole })
    }

    /// Appends a frame to `out`; it will stand at `offset` of its file.
    ///
    /// # Errors
    /// [`FrameError::Short`] when the body is longer than [`FRAME_BODY_MAX`].
    pub fn encode(
        out: &mut Vec<u8>,
        seed: FrameSeed,
        offset: u64,
        kind: FrameKind,
        ordinal: u32,
        body: &[u8],
    ) -> Result<usize, FrameError> {
        let too_long = FrameError::Short { found: FRAME_BODY_MAX, expected: body.len() };
        let length = u32::try_from(body.len()).map_err(|_| too_long)?;
        if body.len() > FRAME_BODY_MAX {
            return Err(too_long);
        }
        let mut header = [0u8; FRAME_HEADER_BYTES];
        let (l, rest) = header.split_at_mut(4);
        l.copy_from_slice(&length.to_le_bytes());
        let (_, rest) = rest.split_at_mut(4);
        let (k, rest) = rest.split_at_mut(2);
        k.copy_from_slice(&[kind.code(), 0]);
        let (m, o) = rest.split_at_mut(2);
        m.copy_from_slice(&MAGIC.to_le_bytes());
        o.copy_from_slice(&ordinal.to_le_bytes());
        let crc = seed.checksum(offset, &header, body);
        if let Some(slot) = header.get_mut(4..8) {
            slot.copy_from_slice(&crc.to_le_bytes());
        }
        let whole = Self::bytes_for(body.len());
        let end = out.len() + whole;
        out.reserve(whole);
        out.extend_from_slice(&header);
        out.extend_from_slice(body);
        out.resize(end, 0);
        Ok(whole)
    }
}

fn header_of(bytes: &[u8]) -> Result<&[u8; FRAME_HEADER_BYTES], FrameError> {
    bytes.first_chunk().ok_or(FrameError::Short { found: bytes.len(), expected: FRAME_HEADER_BYTES })
}

fn fields_of(header: &[u8; FRAME_HEADER_BYTES]) -> Result<(FrameKind, u32, usize), FrameError> {
    if header.iter().all(|byte| *byte == 0) {
        return Err(FrameError::Free);
    }
    let [l0, l1, l2, l3, _, _, _, _, kind, zero, m0, m1, o0, o1, o2, o3] = *header;
    if zero != 0 || u16::from_le_bytes([m0, m1]) != MAGIC {
        return Err(FrameError::Header);
    }
    let kind = FrameKind::from_code(kind).ok_or(FrameError::Header)?;
    let length = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).map_err(|_| FrameError::Header)?;
    if length > FRAME_BODY_MAX {
        return Err(FrameError::Header);
    }
    Ok((kind, u32::from_le_bytes([o0, o1, o2, o3]), length))
}

/// The body of a group mark or a watermark.
///
/// A group mark opens each group commit. It confirms that everything before `durable_end` was synced
/// before this group was written. A watermark says the same on close and when idle.
///
/// ```text
///      0      8  durable end, u64: offset in the segment
///      8      8  events held in the segment before this mark, u64
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMark {
    /// Everything before this offset of the segment was durable when the mark was written.
    pub durable_end: u64,
    /// Events of the segment before the mark.
    pub events: u64,
}

impl GroupMark {
    /// Bytes of the body.
    pub const BODY_BYTES: usize = 16;

    /// Returns the body.
    #[must_use]
    pub fn to_body(self) -> [u8; Self::BODY_BYTES] {
        let mut body = [0u8; Self::BODY_BYTES];
        let (a, b) = body.split_at_mut(8);
        a.copy_from_slice(&self.durable_end.to_le_bytes());
        b.copy_from_slice(&self.events.to_le_bytes());
        body
    }

    /// Reads a body; `None` when its length is wrong.
    #[must_use]
    pub fn from_body(body: &[u8]) -> Option<Self> {
        let (a, b) = body.split_first_chunk::<8>()?;
        let b: &[u8; 8] = b.try_into().ok()?;
        Some(Self { durable_end: u64::from_le_bytes(*a), events: u64::from_le_bytes(*b) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STORE: [u8; 16] = [7; 16];

    fn seed() -> FrameSeed {
        FrameSeed::new(&STORE, 3, 1)
    }

    proptest! {
        #[test]
        fn round_trips(body in proptest::collection::vec(any::<u8>(), 0..200), ordinal: u32, place in 0u64..1 << 40) {
            let offset = place * 8;
            let mut out = Vec::new();
            let bytes = Frame::encode(&mut out, seed(), offset, FrameKind::Event, ordinal, &body).unwrap();
            prop_assert_eq!(bytes, out.len());
            prop_assert_eq!(bytes % FRAME_ALIGN, 0);
            let frame = Frame::decode(&out, seed(), offset).unwrap();
            prop_assert_eq!(frame, Frame { kind: FrameKind::Event, ordinal, body: &body, bytes });
            prop_assert_eq!(Frame::peek(&out), Ok((FrameKind::Event, bytes)));
            prop_assert_eq!(Frame::read_again(&out), Ok(frame));
            prop_assert!(Frame::read_again(&out[..bytes - 1]).is_err());
        }

        #[test]
        fn every_flipped_bit_shows(body in proptest::collection::vec(any::<u8>(), 0..40), bit: prop::sample::Index) {
            let mut out = Vec::new();
            Frame::encode(&mut out, seed(), 64, FrameKind::Control, 0, &body).unwrap();
            let bit = bit.index(out.len() * 8);
            out[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Frame::decode(&out, seed(), 64).is_err());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Frame::decode(&bytes, seed(), 0);
            let _ = Frame::peek(&bytes);
            let _ = Frame::read_again(&bytes);
        }
    }

    #[test]
    fn a_copy_at_another_place_does_not_check() {
        let mut out = Vec::new();
        Frame::encode(&mut out, seed(), 64, FrameKind::Event, 0, b"body").unwrap();
        assert!(Frame::decode(&out, seed(), 64).is_ok());
        for (other, offset) in [
            (seed(), 128),
            (FrameSeed::new(&STORE, 4, 1), 64),
            (FrameSeed::new(&STORE, 3, 2), 64),
            (FrameSeed::new(&[8; 16], 3, 1), 64),
        ] {
            assert!(matches!(Frame::decode(&out, other, offset), Err(FrameError::Checksum { .. })));
        }
    }

    #[test]
    fn a_body_has_a_greatest_length() {
        let mut out = Vec::new();
        let body = vec![1; FRAME_BODY_MAX + 1];
        let encode = |out: &mut Vec<u8>, body| Frame::encode(out, seed(), 0, FrameKind::Event, 0, body);
        assert!(matches!(encode(&mut out, &body), Err(FrameError::Short { .. })));
        assert!(out.is_empty());
        encode(&mut out, &body[1..]).unwrap();
        assert!(Frame::decode(&out, seed(), 0).is_ok());
        for (length, known) in
            [(FRAME_BODY_MAX, true), (FRAME_BODY_MAX + 1, false), (u32::MAX as usize, false)]
        {
            out[..4].copy_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
            assert_eq!(Frame::peek(&out).is_ok(), known, "{length}");
        }
    }

    #[test]
    fn zeros_are_free_space() {
        assert_eq!(Frame::decode(&[0; 64], seed(), 0), Err(FrameError::Free));
    }
}
