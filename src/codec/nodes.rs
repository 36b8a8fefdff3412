//! Node files: the head, a root slot, a node's record.
//!
//! ```text
//! head, at 0
//! offset  bytes  field
//!      0      8  magic, "CLNODES" and a zero
//!      8      2  version, u16 = 1
//!     10      2  zeros
//!     12      4  compatible feature bits, u32: unknown ones are ignored
//!     16      4  incompatible feature bits, u32: an unknown one makes the file unusable
//!     20     16  store identity
//!     36      4  number of the file, u32
//!     40    468  zeros
//!    508      4  CRC-32C of the store's identity, a u64 zero, and bytes 0 to 508
//!    512   3584  zeros, or a hole
//!
//! root slot, at 4096 and at 8192
//! offset  bytes  field
//!      0      8  generation, u64, from 1
//!      8      8  end, u64: what of the file the root needs
//!     16      4  bytes of the root, u32
//!     20      4  CRC-32C of the store's identity, the file's number (u64), the slot's offset (u64), and the slot
//!                without this field
//!     24   4072  the root, behind it zeros
//!
//! record of a node, at a multiple of 8 from 12288
//! offset  bytes  field
//!      0      4  bytes of the node, u32
//!      4      4  CRC-32C of the store's identity, the file's number (u64), the record's offset (u64), the field
//!                before, the node, and the padding
//!      8      n  the node
//!  8 + n   0..7  zeros up to a multiple of 8
//! ```
//!
//! Invariants:
//! - Every checksum is bound to the store, the file and the place, so that bytes of another place never check.
//! - A slot that was never written is zeros, or lies behind the end of the file.
//! - Sectors of the head and of the two slots are no others', so writing one never tears another.

use thiserror::Error;

use super::fields::{is_zeros, put, seeded_crc, take, take_u16, take_u32, take_u64};

/// Bytes of the head that are written.
pub const NODES_HEAD_BYTES: usize = 512;
/// Bytes of a root slot.
pub const ROOT_SLOT_BYTES: usize = 4096;
/// Where the two root slots start.
pub const ROOT_SLOTS: [u64; 2] = [4096, 8192];
/// Where the first node can start.
pub const NODES_START: u64 = 12_288;
/// Bytes that a root can have at the most.
pub const ROOT_BYTES_MAX: usize = 3900;
/// Bytes that a node can have at the most.
pub const NODE_BYTES_MAX: usize = 1 << 20;
/// Bytes of a record in front of the node.
pub const NODE_HEAD_BYTES: usize = 8;
/// Records start at multiples of this.
pub const NODE_ALIGN: usize = 8;

const MAGIC: [u8; 8] = *b"CLNODES\0";
const VERSION: u16 = 1;
const HEAD_CRC_AT: usize = 508;
const SLOT_CRC_AT: usize = 20;
const SLOT_ROOT_AT: usize = 24;

/// Why a node file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NodesFault {
    /// Another version.
    #[error("the node file has version {found}, this build reads {VERSION}")]
    Version {
        /// The version it names.
        found: u16,
    },
    /// It needs something that this build cannot do.
    #[error("the node file needs features {bits:#x} that this build does not know")]
    Features {
        /// The bits that are not known.
        bits: u32,
    },
    /// Another store's.
    #[error("the node file belongs to another store")]
    Foreign,
    /// Bytes that nobody wrote like this.
    #[error("{0}")]
    Damaged(&'static str),
}

/// Whose file it is, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodesHead {
    /// The store's identity.
    pub store: [u8; 16],
    /// The file's number, as in its name.
    pub file: u32,
}

/// A root and what it needs.
#[derive(Clone, PartialEq, Eq)]
pub struct RootSlot {
    /// Counts the roots that were published; from 1.
    pub generation: u64,
    /// The file's length that the root needs: every node of it ends there or before.
    pub end: u64,
    /// What was published.
    pub root: Vec<u8>,
}

impl NodesHead {
    /// Lays out the head.
    #[must_use]
    pub fn to_bytes(self) -> [u8; NODES_HEAD_BYTES] {
        let mut out = [0; NODES_HEAD_BYTES];
        put(&mut out, 0, &MAGIC);
        put(&mut out, 8, &VERSION.to_le_bytes());
        put(&mut out, 20, &self.store);
        put(&mut out, 36, &self.file.to_le_bytes());
        let crc = head_crc(&self.store, &out);
        put(&mut out, HEAD_CRC_AT, &crc.to_le_bytes());
        out
    }

    /// Checks that bytes are this head.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(self, bytes: &[u8]) -> Result<(), NodesFault> {
        let store = take(bytes, 20);
        if take(bytes, 0) != MAGIC || head_crc(&store, bytes) != take_u32(bytes, HEAD_CRC_AT) {
            return Err(NodesFault::Damaged("the head of the node file is damaged"));
        }
        match (take_u16(bytes, 8), take_u32(bytes, 16)) {
            (VERSION, 0) => {}
            (VERSION, bits) => return Err(NodesFault::Features { bits }),
            (found, _) => return Err(NodesFault::Version { found }),
        }
        if store != self.store {
            return Err(NodesFault::Foreign);
        }
        if take_u32(bytes, 36) != self.file {
            return Err(NodesFault::Damaged("the node file has the number of another one"));
        }
        if !is_zeros(&take::<2>(bytes, 10)) || !is_zeros(bytes.get(40..HEAD_CRC_AT).unwrap_or_default()) {
            return Err(NodesFault::Damaged("the head of the node file holds what no version writes"));
        }
        Ok(())
    }

    /// Lays out a root slot for its place; `None` when the root is longer than [`ROOT_BYTES_MAX`].
    #[must_use]
    pub fn slot_to_bytes(self, at: u64, slot: &RootSlot) -> Option<Vec<u8>> {
        let bytes = u32::try_from(slot.root.len()).ok().filter(|_| slot.root.len() <= ROOT_BYTES_MAX)?;
        let mut out = vec![0; ROOT_SLOT_BYTES];
        put(&mut out, 0, &slot.generation.to_le_bytes());
        put(&mut out, 8, &slot.end.to_le_bytes());
        put(&mut out, 16, &bytes.to_le_bytes());
        put(&mut out, SLOT_ROOT_AT, &slot.root);
        let crc = self.slot_crc(at, &out);
        put(&mut out, SLOT_CRC_AT, &crc.to_le_bytes());
        Some(out)
    }

    /// Reads the root slot of a place; `None` when nothing was ever written there.
    ///
    /// # Errors
    /// `Damaged`: it was not written for this place, or not whole.
    pub fn slot_from_bytes(self, at: u64, bytes: &[u8]) -> Result<Option<RootSlot>, NodesFault> {
        if is_zeros(bytes) {
            return Ok(None);
        }
        if bytes.len() != ROOT_SLOT_BYTES || self.slot_crc(at, bytes) != take_u32(bytes, SLOT_CRC_AT) {
            return Err(NodesFault::Damaged("a root slot is damaged"));
        }
        let (generation, end) = (take_u64(bytes, 0), take_u64(bytes, 8));
        let len = usize::try_from(take_u32(bytes, 16)).ok().filter(|len| *len <= ROOT_BYTES_MAX);
        let (root, rest) = len
            .and_then(|len| bytes.get(SLOT_ROOT_AT..)?.split_at_checked(len))
            .filter(|(_, rest)| generation != 0 && end >= NODES_START && is_zeros(rest))
            .ok_or(NodesFault::Damaged("a root slot holds what no version writes"))?;
        debug_assert!(!rest.is_empty(), "the greatest root leaves room");
        Ok(Some(RootSlot { generation, end, root: root.to_vec() }))
    }

    /// Appends the record of a node that will lie at `at`, and returns its length; `None` when the node is longer than
    /// [`NODE_BYTES_MAX`].
    #[must_use]
    pub fn put_node(self, out: &mut Vec<u8>, at: u64, node: &[u8]) -> Option<u32> {
        let len = u32::try_from(node.len()).ok().filter(|_| node.len() <= NODE_BYTES_MAX)?.to_le_bytes();
        let unpadded = NODE_HEAD_BYTES + node.len();
        let bytes = unpadded.next_multiple_of(NODE_ALIGN);
        let padding = [0; NODE_ALIGN];
        let padding = padding.get(..bytes - unpadded)?;
        let crc = self.placed_crc(at, &[&len, node, padding]);
        for part in [&len[..], &crc.to_le_bytes(), node, padding] {
            out.extend_from_slice(part);
        }
        u32::try_from(bytes).ok()
    }

    /// Returns the node of a whole record that was read from `at`.
    ///
    /// # Errors
    /// `Damaged`: it was not written there, or not like this.
    pub fn node_of(self, at: u64, record: &[u8]) -> Result<&[u8], NodesFault> {
        const DAMAGED: NodesFault = NodesFault::Damaged("a node is damaged");
        let (head, body) = record.split_at_checked(NODE_HEAD_BYTES).ok_or(DAMAGED)?;
        let len = take::<4>(head, 0);
        if self.placed_crc(at, &[&len, body]) != take_u32(head, 4) {
            return Err(DAMAGED);
        }
        let len = usize::try_from(u32::from_le_bytes(len)).map_err(|_| DAMAGED)?;
        let (node, padding) = body.split_at_checked(len).ok_or(DAMAGED)?;
        if padding.len() < NODE_ALIGN && is_zeros(padding) { Ok(node) } else { Err(DAMAGED) }
    }

    fn slot_crc(self, at: u64, bytes: &[u8]) -> u32 {
        let part = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default();
        self.placed_crc(at, &[part(0..SLOT_CRC_AT), part(SLOT_ROOT_AT..ROOT_SLOT_BYTES)])
    }

    fn placed_crc(self, at: u64, parts: &[&[u8]]) -> u32 {
        let seed = seeded_crc(&self.store, u64::from(self.file), &[&at.to_le_bytes()]);
        parts.iter().fold(seed, |crc, part| crc32c::crc32c_append(crc, part))
    }
}

fn head_crc(store: &[u8; 16], bytes: &[u8]) -> u32 {
    seeded_crc(store, 0, &[bytes.get(..HEAD_CRC_AT).unwrap_or_default()])
}

/// A root names nothing of an event, yet its length is all that is shown.
impl std::fmt::Debug for RootSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RootSlot")
            .field("generation", &self.generation)
            .field("end", &self.end)
            .field("bytes", &self.root.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: NodesHead = NodesHead { store: [6; 16], file: 9 };

    fn slot(root: usize) -> RootSlot {
        RootSlot { generation: 3, end: NODES_START + 64, root: vec![7; root] }
    }

    fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    }

    #[test]
    fn every_flipped_bit_of_a_head_shows() {
        let bytes = HEAD.to_bytes();
        assert_eq!(HEAD.check(&bytes), Ok(()));
        for bit in 0..bytes.len() * 8 {
            assert!(matches!(HEAD.check(&flipped(&bytes, bit)), Err(NodesFault::Damaged(_))), "bit {bit}");
        }
        assert_eq!(NodesHead { store: [7; 16], ..HEAD }.check(&bytes), Err(NodesFault::Foreign));
        assert!(NodesHead { file: 8, ..HEAD }.check(&bytes).is_err());
        assert!(HEAD.check(&bytes[..300]).is_err());
    }

    #[test]
    fn what_another_version_wrote_is_told_by_name() {
        let with = |at: usize, byte: u8| {
            let mut bytes = HEAD.to_bytes();
            bytes[at] = byte;
            let crc = head_crc(&HEAD.store, &bytes);
            put(&mut bytes, HEAD_CRC_AT, &crc.to_le_bytes());
            HEAD.check(&bytes)
        };
        assert_eq!(with(8, 2), Err(NodesFault::Version { found: 2 }));
        assert_eq!(with(16, 4), Err(NodesFault::Features { bits: 4 }));
        assert_eq!(with(12, 4), Ok(()), "a compatible feature");
        assert!(matches!(with(99, 1), Err(NodesFault::Damaged(_))));
    }

    #[test]
    fn a_slot_checks_at_its_place_alone() {
        for root in [0, 1, ROOT_BYTES_MAX] {
            let bytes = HEAD.slot_to_bytes(ROOT_SLOTS[0], &slot(root)).unwrap();
            assert_eq!(HEAD.slot_from_bytes(ROOT_SLOTS[0], &bytes), Ok(Some(slot(root))));
            assert!(HEAD.slot_from_bytes(ROOT_SLOTS[1], &bytes).is_err());
            assert!(NodesHead { file: 8, ..HEAD }.slot_from_bytes(ROOT_SLOTS[0], &bytes).is_err());
            assert!(NodesHead { store: [0; 16], ..HEAD }.slot_from_bytes(ROOT_SLOTS[0], &bytes).is_err());
        }
        assert_eq!(HEAD.slot_to_bytes(ROOT_SLOTS[0], &slot(ROOT_BYTES_MAX + 1)), None);
        assert_eq!(HEAD.slot_from_bytes(ROOT_SLOTS[0], &[0; ROOT_SLOT_BYTES]), Ok(None));
        assert_eq!(HEAD.slot_from_bytes(ROOT_SLOTS[0], &[]), Ok(None));
    }

    #[test]
    fn every_flipped_bit_of_a_slot_shows() {
        let bytes = HEAD.slot_to_bytes(ROOT_SLOTS[1], &slot(40)).unwrap();
        for bit in 0..bytes.len() * 8 {
            assert!(HEAD.slot_from_bytes(ROOT_SLOTS[1], &flipped(&bytes, bit)).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_record_checks_at_its_place_alone_and_every_flipped_bit_shows() {
        for len in 0..20 {
            let node = vec![5; len];
            let mut record = Vec::new();
            assert_eq!(HEAD.put_node(&mut record, 12_288, &node), u32::try_from(record.len()).ok());
            assert!(record.len().is_multiple_of(NODE_ALIGN) && record.len() < len + 16);
            assert_eq!(HEAD.node_of(12_288, &record), Ok(&node[..]));
            assert!(HEAD.node_of(12_296, &record).is_err());
            assert!(NodesHead { file: 8, ..HEAD }.node_of(12_288, &record).is_err());
            assert!(HEAD.node_of(12_288, &record[..record.len() - 1]).is_err());
            for bit in 0..record.len() * 8 {
                assert!(HEAD.node_of(12_288, &flipped(&record, bit)).is_err(), "bit {bit}");
            }
        }
        assert_eq!(HEAD.put_node(&mut Vec::new(), 0, &vec![0; NODE_BYTES_MAX + 1]), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..64), fix: bool) {
            if fix && bytes.len() >= NODE_HEAD_BYTES {
                let crc = HEAD.placed_crc(8, &[&bytes[..4], &bytes[8..]]).to_le_bytes();
                bytes[4..8].copy_from_slice(&crc);
            }
            let _ = HEAD.node_of(8, &bytes);
            bytes.resize(ROOT_SLOT_BYTES, 0);
            if fix {
                let crc = HEAD.slot_crc(8, &bytes).to_le_bytes();
                bytes[SLOT_CRC_AT..SLOT_ROOT_AT].copy_from_slice(&crc);
            }
            let _ = HEAD.slot_from_bytes(8, &bytes);
            let _ = HEAD.check(&bytes);
        }
    }
}
