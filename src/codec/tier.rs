//! The head of a tier file: which segments its fingerprint table stands for.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "CLOGTIER"
//!      8      2  format version, u16 = 1
//!     10      2  tier, u16, from 1
//!     12      4  segments, u32
//!     16     16  store identity
//!     32      8  first segment, u64
//!     40      8  last segment, u64
//!     48      8  entries of the table, u64
//!     56      8  bytes of the table, u64
//!     64      4  CRC-32C of the list of segments
//!     68      4  CRC-32C of bytes 0 to 68
//!     72   40*n  per segment, rising: number, u64; root, 32 bytes
//!  72+40n        fingerprint table (see `table`) of two columns: segment number, and place in its sealed file
//! ```
//!
//! Invariants: little-endian; the list names each segment once, rising, from first to last; the table ends
//! the file.

use thiserror::Error;

/// Bytes before the list of segments.
pub const TIER_HEADER_BYTES: usize = 72;

/// Bytes of one entry of the list.
const COVERED_BYTES: usize = 40;

const MAGIC: [u8; 8] = *b"CLOGTIER";
const VERSION: u16 = 1;

/// Why bytes are not the head of a tier file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a tier file of this store: {0}")]
pub struct TierError(&'static str);

/// A sealed segment that a tier file stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The segment's number.
    pub segment: u64,
    /// Its root; another one means that the tier file knows other places.
    pub root: [u8; 32],
}

/// The head of a tier file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierHeader {
    /// The tier: each stands for eight times as many segments as the one below.
    pub tier: u16,
    /// The store's identity.
    pub store: [u8; 16],
    /// Entries of the table.
    pub entries: u64,
    /// Bytes of the table.
    pub table_bytes: u64,
    /// The segments, rising.
    pub covered: Vec<Covered>,
}

impl TierHeader {
    /// Returns where the table starts.
    #[must_use]
    pub fn table_start(&self) -> u64 {
        start_of_table(self.covered.len() as u64)
    }

    /// Returns the first and the last segment; zeros when there are none.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let number = |covered: Option<&Covered>| covered.map_or(0, |covered| covered.segment);
        (number(self.covered.first()), number(self.covered.last()))
    }

    /// Returns the bytes before the table.
    ///
    /// # Errors
    /// When there are more segments than a head can say.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TierError> {
        let count = u32::try_from(self.covered.len()).map_err(|_| TierError("too many segments"))?;
        let (first, last) = self.range();
        let mut list = Vec::with_capacity(self.covered.len() * COVERED_BYTES);
        for covered in &self.covered {
            list.extend_from_slice(&covered.segment.to_le_bytes());
            list.extend_from_slice(&covered.root);
        }
        let mut out = Vec::with_capacity(TIER_HEADER_BYTES + list.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.tier.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&self.store);
        for field in [first, last, self.entries, self.table_bytes] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&crc32c::crc32c(&list).to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out.extend_from_slice(&list);
        Ok(out)
    }

    /// Reads from the first [`TIER_HEADER_BYTES`] of a file of `file_bytes` how many bytes stand before the
    /// table; fewer than the file has.
    ///
    /// # Errors
    /// [`TierError`] naming the first thing that is wrong.
    pub fn peek_bytes(bytes: &[u8; TIER_HEADER_BYTES], file_bytes: u64) -> Result<u64, TierError> {
        Fields::read(bytes, file_bytes).map(|fields| start_of_table(u64::from(fields.count)))
    }

    /// Reads a head from exactly the bytes before the table of a file of `file_bytes`.
    ///
    /// # Errors
    /// [`TierError`] naming the first thing that is wrong.
    pub fn from_bytes(bytes: &[u8], file_bytes: u64) -> Result<Self, TierError> {
        let (head, list) = bytes.split_first_chunk().ok_or(TierError("it is cut short"))?;
        let fields = Fields::read(head, file_bytes)?;
        if u64::try_from(bytes.len()) != Ok(start_of_table(u64::from(fields.count))) {
            return Err(TierError("it is cut short"));
        }
        if crc32c::crc32c(list) != fields.list_crc {
            return Err(TierError("its list does not match its checksum"));
        }
        let covered: Vec<Covered> = list
            .as_chunks::<COVERED_BYTES>()
            .0
            .iter()
            .filter_map(|bytes| {
                let (segment, root) = bytes.split_first_chunk::<8>()?;
                Some(Covered { segment: u64::from_le_bytes(*segment), root: root.try_into().ok()? })
            })
            .collect();
        let Fields { tier, store, entries, table_bytes, range, .. } = fields;
        let header = Self { tier, store, entries, table_bytes, covered };
        if header.covered.is_empty() || header.range() != range {
            return Err(TierError("its list is not its range"));
        }
        if !header.covered.is_sorted_by(|a, b| a.segment < b.segment) {
            return Err(TierError("its list does not rise"));
        }
        Ok(header)
    }
}

const fn start_of_table(segments: u64) -> u64 {
    TIER_HEADER_BYTES as u64 + segments * COVERED_BYTES as u64
}

struct Fields {
    tier: u16,
    count: u32,
    store: [u8; 16],
    range: (u64, u64),
    entries: u64,
    table_bytes: u64,
    list_crc: u32,
}

impl Fields {
    fn read(bytes: &[u8; TIER_HEADER_BYTES], file_bytes: u64) -> Result<Self, TierError> {
        let mut words = bytes.as_chunks::<8>().0.iter().copied();
        let mut next = || words.next().unwrap_or_default();
        let magic = next();
        let [v0, v1, t0, t1, n0, n1, n2, n3] = next();
        let mut store = [0; 16];
        store.as_chunks_mut::<8>().0.fill_with(&mut next);
        let [first, last, entries, table_bytes] = std::array::from_fn(|_| u64::from_le_bytes(next()));
        let [l0, l1, l2, l3, c0, c1, c2, c3] = next();
        if magic != MAGIC {
            return Err(TierError("the magic is another"));
        }
        let covered = bytes.get(..TIER_HEADER_BYTES - 4).unwrap_or_default();
        if crc32c::crc32c(covered) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(TierError("it does not match its checksum"));
        }
        if u16::from_le_bytes([v0, v1]) != VERSION {
            return Err(TierError("its version is another"));
        }
        let count = u32::from_le_bytes([n0, n1, n2, n3]);
        if start_of_table(u64::from(count)).checked_add(table_bytes) != Some(file_bytes) {
            return Err(TierError("its size is another"));
        }
        Ok(Self {
            tier: u16::from_le_bytes([t0, t1]),
            count,
            store,
            range: (first, last),
            entries,
            table_bytes,
            list_crc: u32::from_le_bytes([l0, l1, l2, l3]),
        })
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "test data is small")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(segments: u64) -> TierHeader {
        let covered = (0..segments).map(|n| Covered { segment: 3 + 2 * n, root: [n as u8; 32] }).collect();
        TierHeader { tier: 2, store: [7; 16], entries: 99, table_bytes: 512, covered }
    }

    fn read(bytes: &[u8], file_bytes: u64) -> Result<TierHeader, TierError> {
        let head = bytes.first_chunk().ok_or(TierError("short"))?;
        let length = TierHeader::peek_bytes(head, file_bytes)?;
        TierHeader::from_bytes(bytes.get(..length as usize).ok_or(TierError("short"))?, file_bytes)
    }

    proptest! {
        #[test]
        fn round_trips(segments in 1u64..20) {
            let bytes = header(segments).to_bytes().unwrap();
            let file_bytes = bytes.len() as u64 + 512;
            prop_assert_eq!(bytes.len() as u64, header(segments).table_start());
            prop_assert_eq!(read(&bytes, file_bytes), Ok(header(segments)));
            prop_assert!(read(&bytes, file_bytes + 1).is_err());
        }

        #[test]
        fn every_flipped_bit_shows(segments in 1u64..4, bit: prop::sample::Index) {
            let mut bytes = header(segments).to_bytes().unwrap();
            let file_bytes = bytes.len() as u64 + 512;
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(read(&bytes, file_bytes).is_err());
        }

        #[test]
        fn hostile_bytes_never_panic(
            edits in proptest::collection::vec((0usize..17, any::<u32>()), 0..4), file_bytes: u64,
        ) {
            let mut bytes = header(2).to_bytes().unwrap();
            for (word, value) in edits {
                bytes[word * 4..][..4].copy_from_slice(&value.to_le_bytes());
            }
            let crc = crc32c::crc32c(&bytes[..68]);
            bytes[68..72].copy_from_slice(&crc.to_le_bytes());
            let _ = (read(&bytes, file_bytes), read(&bytes, bytes.len() as u64 + 512));
            let _ = TierHeader::from_bytes(&bytes, bytes.len() as u64 + 512);
        }
    }

    #[test]
    fn a_head_without_segments_is_none() {
        let bytes = header(0).to_bytes().unwrap();
        assert!(read(&bytes, bytes.len() as u64 + 512).is_err());
    }
}
