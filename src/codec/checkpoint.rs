//! A checkpoint of the active segment: what a scan of its frames up to an offset would find.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "CLCHKPT1"
//!      8     16  store identity
//!     24      8  segment, u64
//!     32      8  end: the scan goes on at this offset, u64
//!     40      8  entries, u64
//!     48      8  bytes of the entries, u64
//!     56      8  dangling causes, u64
//!     64      8  bytes of the control state, u64
//!     72      n  entries in arrival order: varints offset/8 less the end of the entry before, bytes/8, host,
//!                kind, seq less the host's seq before; then the fingerprint, u64
//!      +    12m  dangling causes: fingerprint, u64; ordinal of the event that names it, u32
//!      +      k  control state at `end`, archived
//!      +      4  CRC-32C of all before
//! ```
//!
//! Invariants: derived, little-endian, replaced whole by rename; every offset lies below `end`, and `end`
//! was durable before the checkpoint was written.

use std::collections::HashMap;

use super::control::ControlState;
use super::fingerprint::Fingerprint;
use super::frame::{FRAME_BODY_MAX, Frame};
use super::varint::{put_varint, take_varint};
use crate::contract::limits::SEQ_MAX;

const MAGIC: &[u8; 8] = b"CLCHKPT1";
const HEAD_BYTES: usize = 72;

/// One event of the active segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveEntry {
    /// Where its frame starts.
    pub offset: u64,
    /// Bytes of its frame, padding included.
    pub bytes: u32,
    /// Number of its host.
    pub host: u32,
    /// Number of its type.
    pub kind: u32,
    /// Ordinal within the host.
    pub seq: u64,
    /// Fingerprint of its id.
    pub id: Fingerprint,
}

/// What a scan of the active segment up to `end` would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The store's identity.
    pub store: [u8; 16],
    /// The segment's number.
    pub segment: u64,
    /// The scan goes on here.
    pub end: u64,
    /// Events in arrival order.
    pub entries: Vec<ActiveEntry>,
    /// Causes that no held event answered: fingerprint and ordinal of the event that names it.
    pub dangling: Vec<(Fingerprint, u32)>,
    /// The control state at `end`.
    pub state: ControlState,
}

impl Checkpoint {
    /// Returns the bytes.
    ///
    /// # Errors
    /// When the control state is too long to be archived.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let state = self.state.to_bytes()?;
        let mut entries = Vec::with_capacity(self.entries.len() * 14);
        let mut end = 0u64;
        let mut seqs: HashMap<u32, u64> = HashMap::new();
        for entry in &self.entries {
            put_varint(&mut entries, (entry.offset - end) / 8);
            put_varint(&mut entries, u64::from(entry.bytes / 8));
            put_varint(&mut entries, u64::from(entry.host));
            put_varint(&mut entries, u64::from(entry.kind));
            let before = seqs.insert(entry.host, entry.seq).unwrap_or(0);
            put_varint(&mut entries, entry.seq - before);
            entries.extend_from_slice(&entry.id.0.to_le_bytes());
            end = entry.offset + u64::from(entry.bytes);
        }
        let mut out =
            Vec::with_capacity(HEAD_BYTES + entries.len() + self.dangling.len() * 12 + state.len() + 4);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.store);
        let lengths = [self.entries.len(), entries.len(), self.dangling.len(), state.len()];
        out.extend_from_slice(&self.segment.to_le_bytes());
        out.extend_from_slice(&self.end.to_le_bytes());
        for length in lengths {
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
        out.extend_from_slice(&entries);
        for (fingerprint, ordinal) in &self.dangling {
            out.extend_from_slice(&fingerprint.0.to_le_bytes());
            out.extend_from_slice(&ordinal.to_le_bytes());
        }
        out.extend_from_slice(&state);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        Ok(out)
    }

    /// Reads a checkpoint from bytes that may hold anything.
    ///
    /// # Errors
    /// A line that says what is wrong; the caller then scans from the segment's start.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (covered, crc) = bytes.split_last_chunk::<4>().ok_or("cut short")?;
        if crc32c::crc32c(covered) != u32::from_le_bytes(*crc) {
            return Err("the checksum does not match".to_owned());
        }
        Self::parse(covered).ok_or_else(|| "a field cannot be".to_owned())
    }

    fn parse(covered: &[u8]) -> Option<Self> {
        let (head, mut rest) = covered.split_at_checked(HEAD_BYTES)?;
        if head.get(..8)? != MAGIC {
            return None;
        }
        let field = |at: usize| head.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let length = |at: usize| usize::try_from(field(at)?).ok();
        let (segment, end) = (field(24)?, field(32)?);
        let (count, entry_bytes, dangling_count) = (length(40)?, length(48)?, length(56)?);
        let (mut raw, after) = rest.split_at_checked(entry_bytes)?;
        rest = after;
        // Twelve bytes are the least an entry takes: a lying count cannot ask for much memory.
        let mut entries = Vec::with_capacity(count.min(entry_bytes / 12 + 1));
        let mut place = 0u64;
        let mut seqs: HashMap<u32, u64> = HashMap::new();
        for _ in 0..count {
            let offset = take_varint(&mut raw)?.checked_mul(8)?.checked_add(place)?;
            let bytes = u32::try_from(take_varint(&mut raw)?.checked_mul(8)?).ok()?;
            let host = u32::try_from(take_varint(&mut raw)?).ok()?;
            let kind = u32::try_from(take_varint(&mut raw)?).ok()?;
            let seq = take_varint(&mut raw)?.checked_add(seqs.get(&host).copied().unwrap_or(0))?;
            if seq > SEQ_MAX || bytes as usize > Frame::bytes_for(FRAME_BODY_MAX) {
                return None;
            }
            seqs.insert(host, seq);
            let (id, after) = raw.split_first_chunk::<8>()?;
            raw = after;
            place = offset.checked_add(u64::from(bytes))?;
            let id = Fingerprint(u64::from_le_bytes(*id));
            entries.push(ActiveEntry { offset, bytes, host, kind, seq, id });
        }
        let (raw_dangling, state) = rest.split_at_checked(dangling_count.checked_mul(12)?)?;
        let (pairs, _) = raw_dangling.as_chunks::<12>();
        let dangling = pairs
            .iter()
            .map(|[a, b, c, d, e, f, g, h, i, j, k, l]| {
                let fingerprint = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
                (Fingerprint(fingerprint), u32::from_le_bytes([*i, *j, *k, *l]))
            })
            .collect();
        if !raw.is_empty() || place > end || state.len() != length(64)? {
            return None;
        }
        let state = ControlState::from_bytes(state).ok()?;
        Some(Self { store: head.get(8..24)?.try_into().ok()?, segment, end, entries, dangling, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checkpoint(seed: &[(u8, u16, u64)]) -> Checkpoint {
        let (mut entries, mut end, mut seqs) = (Vec::new(), 128u64, [0u64; 256]);
        for (host, gap, id) in seed {
            let seq = &mut seqs[usize::from(*host)];
            *seq += 1 + u64::from(*gap);
            let bytes = 24 + u32::from(*gap) * 8;
            let id = Fingerprint(*id);
            entries.push(ActiveEntry { offset: end, bytes, host: (*host).into(), kind: 3, seq: *seq, id });
            end += u64::from(bytes) + u64::from(*gap % 3) * 16;
        }
        let dangling = seed.iter().map(|(host, _, id)| (Fingerprint(!id), (*host).into())).collect();
        Checkpoint { store: [9; 16], segment: 4, end, entries, dangling, state: ControlState::default() }
    }

    #[test]
    fn an_entry_that_no_frame_can_be_is_refused() {
        let good = checkpoint(&[(1, 1, 1)]);
        let with = |change: &dyn Fn(&mut ActiveEntry)| {
            let mut changed = good.clone();
            changed.end = u64::MAX;
            change(&mut changed.entries[0]);
            Checkpoint::from_bytes(&changed.to_bytes().unwrap())
        };
        assert!(with(&|entry| entry.seq = SEQ_MAX).is_ok());
        assert!(with(&|entry| entry.seq = SEQ_MAX + 1).is_err());
        assert!(with(&|entry| entry.bytes = 32 << 20).is_ok());
        assert!(with(&|entry| entry.bytes = 33 << 20).is_err());
    }

    proptest! {
        #[test]
        fn round_trips(seed in proptest::collection::vec(any::<(u8, u16, u64)>(), 0..40)) {
            let checkpoint = checkpoint(&seed);
            let bytes = checkpoint.to_bytes().unwrap();
            prop_assert_eq!(Checkpoint::from_bytes(&bytes), Ok(checkpoint));
        }

        #[test]
        fn damage_shows_and_lies_never_panic(
            seed in proptest::collection::vec(any::<(u8, u16, u64)>(), 1..10), at: prop::sample::Index, value: u8,
        ) {
            let mut bytes = checkpoint(&seed).to_bytes().unwrap();
            let at = at.index(bytes.len() - 4);
            prop_assume!(bytes[at] != value);
            bytes[at] = value;
            prop_assert!(Checkpoint::from_bytes(&bytes).is_err());
            let covered = bytes.len() - 4;
            let crc = crc32c::crc32c(&bytes[..covered]);
            bytes[covered..].copy_from_slice(&crc.to_le_bytes());
            let _ = Checkpoint::from_bytes(&bytes);
        }
    }
}
