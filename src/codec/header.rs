//! The head of a segment file.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "CAUSELOG"
//!      8      2  format version, u16 = 1
//!     10      1  form: 1 active, 2 sealed
//!     11      1  hash algorithm of roots: 1 BLAKE3
//!     12      4  length of the control state, u32
//!     16      8  compatible feature bits, u64: unknown ones are ignored
//!     24      8  incompatible feature bits, u64: an unknown one refuses the file
//!     32     16  store identity
//!     48      8  segment number, u64, from 1
//!     56      8  length of the previous segment's active form in bytes, u64; zero for the first
//!     64     32  root of the previous segment; zeros for the first, or when not known yet
//!     96     16  secret of the store that keys id fingerprints
//!    112      8  events written before this segment, u64
//!    120      4  CRC-32C of the control state
//!    124      4  CRC-32C of bytes 0 to 124
//!    128      n  control state, archived
//!  128+n    0-63 zeros up to a multiple of 64
//! ```
//!
//! Invariants:
//! - Little-endian; written and synced before any frame behind it; never rewritten.
//! - Incompatible feature, bit 0: declared hosts, pins and evictions can be written down. Every active segment that
//!   this build creates has it, and its sealed form keeps it.
//! - A version is believed if the checksum does not say that another one was written: a head that checks once this
//!   build's version stands in it is a damaged head of this build, not one of a newer format.

use std::fmt;

use thiserror::Error;

use super::control::ControlState;

/// Bytes before the control state.
pub const HEADER_BYTES: usize = 128;

/// Headers end at multiples of this many bytes.
const HEADER_ALIGN: usize = 64;

const MAGIC: [u8; 8] = *b"CAUSELOG";
const VERSION: u16 = 1;
const HASH_BLAKE3: u8 = 1;

/// Incompatible feature: the control state and control records can tell of declared hosts, pins and evictions.
pub const FEATURE_KEEPING: u64 = 1;

/// Incompatible feature bits that this build knows.
const KNOWN_INCOMPATIBLE: u64 = FEATURE_KEEPING;

/// Whether a segment takes appends or is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Frames in arrival order.
    Active,
    /// Frames by `(host, seq)`, with a footer.
    Sealed,
}

impl Form {
    /// Returns the code in headers and seeds.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Active => 1,
            Self::Sealed => 2,
        }
    }
}

/// Why bytes are not a segment's head.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Fewer bytes than a header.
    #[error("the segment header is cut short: {found} bytes of {expected}")]
    Short {
        /// Bytes there are.
        found: usize,
        /// Bytes it needs.
        expected: usize,
    },
    /// The file does not start with the magic.
    #[error("not a segment: the file does not start with CAUSELOG")]
    Magic,
    /// A version this build does not read.
    #[error("format version {found} where this build reads {expected}")]
    Version {
        /// The version in the file.
        found: u16,
        /// The version this build reads.
        expected: u16,
    },
    /// A feature this build does not know.
    #[error("the segment needs features {bits:#x}, which this build does not know")]
    Features {
        /// The unknown bits.
        bits: u64,
    },
    /// A checksum does not match, or a field cannot be.
    #[error("the segment header is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
}

/// The head of a segment file.
#[derive(Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Active or sealed.
    pub form: Form,
    /// Compatible feature bits.
    pub compatible: u64,
    /// Incompatible feature bits.
    pub incompatible: u64,
    /// The store's identity.
    pub store: [u8; 16],
    /// The segment's number, from 1.
    pub segment: u64,
    /// Length of the previous segment's active form in bytes; zero for the first.
    pub prev_bytes: u64,
    /// Root of the previous segment; zeros for the first, or when not known yet.
    pub prev_root: [u8; 32],
    /// Keys the id fingerprints.
    pub secret: [u8; 16],
    /// State before the first frame.
    pub state: ControlState,
}

/// Without the secret.
impl fmt::Debug for SegmentHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentHeader")
            .field("form", &self.form)
            .field("segment", &self.segment)
            .field("arrivals", &self.state.arrivals)
            .finish_non_exhaustive()
    }
}

impl SegmentHeader {
    /// Returns the bytes, padded to where the frames start.
    ///
    /// # Errors
    /// When the control state is too long to be archived.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let state = self.state.to_bytes()?;
        let state_bytes = u32::try_from(state.len()).map_err(|e| e.to_string())?;
        let mut out = Vec::with_capacity(HEADER_BYTES + state.len() + HEADER_ALIGN);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[self.form.code(), HASH_BLAKE3]);
        out.extend_from_slice(&state_bytes.to_le_bytes());
        out.extend_from_slice(&self.compatible.to_le_bytes());
        out.extend_from_slice(&self.incompatible.to_le_bytes());
        out.extend_from_slice(&self.store);
        out.extend_from_slice(&self.segment.to_le_bytes());
        out.extend_from_slice(&self.prev_bytes.to_le_bytes());
        out.extend_from_slice(&self.prev_root);
        out.extend_from_slice(&self.secret);
        out.extend_from_slice(&self.state.arrivals.to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(&state).to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out.extend_from_slice(&state);
        out.resize(out.len().next_multiple_of(HEADER_ALIGN), 0);
        Ok(out)
    }

    /// Reads how many bytes the whole head takes from its first [`HEADER_BYTES`].
    ///
    /// # Errors
    /// [`HeaderError`] when they are not the start of a head that this build reads.
    pub fn peek_bytes(bytes: &[u8]) -> Result<usize, HeaderError> {
        Fields::read(bytes)
            .map(|(_, state_bytes, _)| (HEADER_BYTES + state_bytes).next_multiple_of(HEADER_ALIGN))
    }

    /// Reads a head without its control state, from its first [`HEADER_BYTES`]: what is left of a head whose state
    /// is damaged. The state is the default one.
    ///
    /// # Errors
    /// [`HeaderError`] when they are not the start of a head that this build reads.
    pub fn without_state(bytes: &[u8]) -> Result<Self, HeaderError> {
        Fields::read(bytes).map(|(header, _, _)| header)
    }

    /// Reads a head; returns it and where the frames start.
    ///
    /// # Errors
    /// [`HeaderError`] naming the first thing that is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, usize), HeaderError> {
        let (mut header, state_bytes, fields) = Fields::read(bytes)?;
        let end = HEADER_BYTES + state_bytes;
        let whole = end.next_multiple_of(HEADER_ALIGN);
        let short = HeaderError::Short { found: bytes.len(), expected: whole };
        let state = bytes.get(HEADER_BYTES..end).ok_or_else(|| short.clone())?;
        let padding = bytes.get(end..whole).ok_or(short)?;
        if crc32c::crc32c(state) != fields.state_crc {
            return Err(damaged("the control state does not match its checksum"));
        }
        if padding.iter().any(|byte| *byte != 0) {
            return Err(damaged("the padding is not zero"));
        }
        header.state = ControlState::from_bytes(state).map_err(damaged)?;
        if header.state.arrivals != fields.arrivals {
            return Err(damaged("the event count does not match the control state"));
        }
        Ok((header, whole))
    }
}

fn damaged(what: impl Into<String>) -> HeaderError {
    HeaderError::Damaged { what: what.into() }
}

/// Does the checksum hold once this build's version stands in the head?
fn checks_as_ours(head: &[u8; HEADER_BYTES]) -> bool {
    let mut bytes = *head;
    if let Some(version) = bytes.get_mut(8..10) {
        version.copy_from_slice(&VERSION.to_le_bytes());
    }
    let Some((covered, crc)) = bytes.split_last_chunk() else { return false };
    crc32c::crc32c(covered) == u32::from_le_bytes(*crc)
}

struct Fields {
    arrivals: u64,
    state_crc: u32,
}

impl Fields {
    fn read(bytes: &[u8]) -> Result<(SegmentHeader, usize, Self), HeaderError> {
        let head: &[u8; HEADER_BYTES] =
            bytes.first_chunk().ok_or(HeaderError::Short { found: bytes.len(), expected: HEADER_BYTES })?;
        let mut reader = Reader(head);
        if reader.take::<8>()? != MAGIC {
            return Err(HeaderError::Magic);
        }
        let version = u16::from_le_bytes(reader.take()?);
        if version != VERSION {
            return Err(if checks_as_ours(head) {
                damaged(format!("version {version} where {VERSION} was written"))
            } else {
                HeaderError::Version { found: version, expected: VERSION }
            });
        }
        let [form, hash] = reader.take()?;
        let state_bytes = u32::from_le_bytes(reader.take()?);
        let compatible = u64::from_le_bytes(reader.take()?);
        let incompatible = u64::from_le_bytes(reader.take()?);
        let store = reader.take()?;
        let segment = u64::from_le_bytes(reader.take()?);
        let prev_bytes = u64::from_le_bytes(reader.take()?);
        let prev_root = reader.take()?;
        let secret = reader.take()?;
        let arrivals = u64::from_le_bytes(reader.take()?);
        let state_crc = u32::from_le_bytes(reader.take()?);
        let crc = u32::from_le_bytes(reader.take()?);
        let covered = head.get(..HEADER_BYTES - 4).unwrap_or_default();
        if crc32c::crc32c(covered) != crc {
            return Err(damaged("it does not match its checksum"));
        }
        let unknown = incompatible & !KNOWN_INCOMPATIBLE;
        if unknown != 0 {
            return Err(HeaderError::Features { bits: unknown });
        }
        let form = match form {
            1 => Form::Active,
            2 => Form::Sealed,
            other => return Err(damaged(format!("form {other}"))),
        };
        if hash != HASH_BLAKE3 {
            return Err(damaged(format!("hash algorithm {hash}")));
        }
        let state_bytes = usize::try_from(state_bytes).map_err(|e| damaged(e.to_string()))?;
        let header = SegmentHeader {
            form,
            compatible,
            incompatible,
            store,
            segment,
            prev_bytes,
            prev_root,
            secret,
            state: ControlState::default(),
        };
        Ok((header, state_bytes, Self { arrivals, state_crc }))
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let short = HeaderError::Short { found: self.0.len(), expected: N };
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(short)?;
        self.0 = rest;
        Ok(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Control;
    use proptest::prelude::*;

    fn header() -> SegmentHeader {
        let mut state = ControlState::default();
        state.apply(&Control::HostDefined { name: "gateway".to_owned() }).unwrap();
        state.count_event(0, 5, "an id").unwrap();
        SegmentHeader {
            form: Form::Sealed,
            compatible: 1,
            incompatible: 0,
            store: [1; 16],
            segment: 9,
            prev_bytes: 4096,
            prev_root: [2; 32],
            secret: [3; 16],
            state,
        }
    }

    #[test]
    fn round_trips() {
        let bytes = header().to_bytes().unwrap();
        assert_eq!(bytes.len() % 64, 0);
        assert_eq!(SegmentHeader::peek_bytes(&bytes), Ok(bytes.len()));
        assert_eq!(SegmentHeader::from_bytes(&bytes), Ok((header(), bytes.len())));
        let bare = SegmentHeader { state: ControlState::default(), ..header() };
        assert_eq!(SegmentHeader::without_state(&bytes[..HEADER_BYTES]), Ok(bare));
    }

    #[test]
    fn an_unknown_version_or_feature_is_refused_by_name() {
        let mut bytes = header().to_bytes().unwrap();
        bytes[8] = 2;
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(SegmentHeader::from_bytes(&bytes), Err(HeaderError::Version { found: 2, expected: 1 }));
        // Another layout, of which nothing is known but that the version comes first.
        bytes[100] ^= 0xFF;
        assert_eq!(SegmentHeader::from_bytes(&bytes), Err(HeaderError::Version { found: 2, expected: 1 }));
        let future = SegmentHeader { incompatible: 4, ..header() };
        let refused = SegmentHeader::from_bytes(&future.to_bytes().unwrap());
        assert_eq!(refused, Err(HeaderError::Features { bits: 4 }));
    }

    #[test]
    fn a_flipped_version_is_damage() {
        for bit in 0..16 {
            let mut bytes = header().to_bytes().unwrap();
            bytes[8 + bit / 8] ^= 1 << (bit % 8);
            for read in [SegmentHeader::from_bytes(&bytes).err(), SegmentHeader::peek_bytes(&bytes).err()] {
                assert!(matches!(read, Some(HeaderError::Damaged { .. })), "bit {bit}: {read:?}");
            }
        }
    }

    #[test]
    fn a_count_that_cannot_be_is_damage() {
        let mut most = header();
        most.state.arrivals = u64::MAX;
        assert!(SegmentHeader::from_bytes(&most.to_bytes().unwrap()).is_err());
        for seq in [crate::contract::limits::SEQ_MAX, u64::MAX] {
            let mut high = header();
            high.state.hosts[0].high = Some(seq);
            assert_eq!(SegmentHeader::from_bytes(&high.to_bytes().unwrap()).is_ok(), seq != u64::MAX);
        }
    }

    #[test]
    fn the_secret_is_not_shown() {
        let shown = format!("{:?}", SegmentHeader { secret: [0xC7; 16], ..header() });
        assert!(shown.contains("segment: 9") && !shown.contains("199"), "{shown}");
    }

    proptest! {
        #[test]
        fn every_flipped_bit_shows(bit: prop::sample::Index) {
            let mut bytes = header().to_bytes().unwrap();
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(SegmentHeader::from_bytes(&bytes).is_err());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = SegmentHeader::from_bytes(&bytes);
        }
    }
}
