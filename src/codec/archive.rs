//! The record of an event, archived with rkyv so that it is read in place.
//!
//! Layout, little-endian, 32-bit relative pointers, alignment 8:
//!
//! ```text
//! offset  bytes  field
//!      0      8  seq, u64
//!      8      8  at, f64
//!     16     20  id: tag 0 and 16 bytes of a UUID, or tag 1 and a pointer to text
//!     36      4  host, u32: number in the store's host table
//!     40      4  kind, u32: number in the store's type table
//!     44      4  v, u32
//!     48      8  causes: pointer and count of 32-byte entries (id, host, seq)
//!     56      8  payload: pointer and length of compact JSON text
//!     64      8  extra: pointer and length of an object's text, empty when there is none
//! ```
//!
//! Invariants:
//! - `extra` is empty or a JSON object with at least one member.
//! - A cause's `(host, seq)` is what its id resolved to when the record was written. A host of
//!   [`UNRESOLVED`] says that no event of that id was held then; it may be held now.

use rkyv::api::high::to_bytes_in_with_alloc;
use rkyv::rancor;
use rkyv::ser::allocator::Arena;
use rkyv::util::AlignedVec;
use rkyv::with::InlineAsBox;
use rkyv::{Archive, Serialize};

use crate::contract::{IdForm, IdRef, Seq};

/// The host number of a cause that was not held when the record was written.
pub const UNRESOLVED: u32 = u32::MAX;

/// An identifier in a record.
#[derive(Archive, Serialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdRecord<'a> {
    /// A UUID in canonical lower-case text form.
    Uuid([u8; 16]),
    /// Any other text.
    Text(#[rkyv(with = InlineAsBox)] &'a str),
}

impl<'a> From<IdRef<'a>> for IdRecord<'a> {
    fn from(id: IdRef<'a>) -> Self {
        match id.form() {
            IdForm::Uuid(bytes) => Self::Uuid(bytes),
            IdForm::Text(text) => Self::Text(text),
        }
    }
}

impl ArchivedIdRecord<'_> {
    /// Returns the id.
    #[must_use]
    pub fn get(&self) -> IdRef<'_> {
        match self {
            Self::Uuid(bytes) => IdRef::from_uuid_bytes(*bytes),
            // Written from an `IdRef`, but bytes from disk may break its invariant: read anew.
            Self::Text(text) => IdRef::new(text),
        }
    }
}

/// A cause in a record.
#[derive(Archive, Serialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseRecord<'a> {
    /// The cause's id, as the event names it.
    pub id: IdRecord<'a>,
    /// Number of the host that the id resolved to, or [`UNRESOLVED`].
    pub host: u32,
    /// The `seq` that the id resolved to; zero when unresolved.
    pub seq: u64,
}

/// An event's record before it is archived.
#[derive(Archive, Serialize, Clone, Copy, PartialEq)]
pub struct EventRecord<'a> {
    /// Ordinal within the host.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at: f64,
    /// The event's id.
    pub id: IdRecord<'a>,
    /// Number of the host in the store's table.
    pub host: u32,
    /// Number of the type in the store's table.
    pub kind: u32,
    /// Version of the envelope.
    pub v: u32,
    /// Direct causes, in the order they were given.
    #[rkyv(with = InlineAsBox)]
    pub causes: &'a [CauseRecord<'a>],
    /// Compact JSON text.
    #[rkyv(with = InlineAsBox)]
    pub payload: &'a str,
    /// Unknown members as one object's text; empty when there are none.
    #[rkyv(with = InlineAsBox)]
    pub extra: &'a str,
}

/// Prints the place alone: payloads can hold what users typed.
impl std::fmt::Debug for EventRecord<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EventRecord(host {}, seq {})", self.host, self.seq)
    }
}

/// Bytes of a cause's entry, without its text.
pub(super) const CAUSE_BYTES: usize = 32;

// The format is fixed: a build whose features change rkyv's layout must not compile.
const _: () =
    assert!(size_of::<ArchivedEventRecord<'_>>() == 72 && align_of::<ArchivedEventRecord<'_>>() == 8);
const _: () = assert!(size_of::<ArchivedCauseRecord<'_>>() == CAUSE_BYTES);

impl ArchivedEventRecord<'_> {
    /// Returns the ordinal within the host.
    #[must_use]
    pub fn seq(&self) -> Seq {
        // A checked record's seq was checked against the limit by `check_event`.
        Seq::new(self.seq.to_native()).unwrap_or_default()
    }
}

impl ArchivedCauseRecord<'_> {
    /// Returns where the cause stands as `(host number, seq)`, if it was held when written.
    #[must_use]
    pub fn resolved(&self) -> Option<(u32, Seq)> {
        let host = self.host.to_native();
        (host != UNRESOLVED).then(|| (host, Seq::new(self.seq.to_native()).unwrap_or_default()))
    }
}

/// Reads a record from bytes that may hold anything: validates every pointer and all text.
///
/// Costs 350 to 760 ns for a 400-byte event; do it once per block and keep the proof.
///
/// # Errors
/// What rkyv's validation found, or that `seq` or `at` is out of range.
pub fn check_event(body: &[u8]) -> Result<&ArchivedEventRecord<'_>, String> {
    let record = rkyv::access::<ArchivedEventRecord<'_>, rancor::Error>(body).map_err(|e| e.to_string())?;
    Seq::new(record.seq.to_native()).map_err(|e| e.to_string())?;
    if !record.at.to_native().is_finite() {
        return Err("at is not finite".to_owned());
    }
    Ok(record)
}

/// A reusable buffer that archives records one after another without allocating each time.
#[derive(Default)]
pub struct RecordBuffer {
    bytes: AlignedVec<16>,
    arena: Arena,
}

impl std::fmt::Debug for RecordBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecordBuffer({} bytes)", self.bytes.len())
    }
}

impl RecordBuffer {
    /// Archives a record and returns its bytes, valid until the next call.
    ///
    /// # Errors
    /// When the record is longer than 32-bit pointers reach.
    pub fn archive(&mut self, record: &EventRecord<'_>) -> Result<&[u8], String> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.bytes = to_bytes_in_with_alloc::<_, _, rancor::Error>(record, bytes, self.arena.acquire())
            .map_err(|e| e.to_string())?;
        Ok(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            seq in 0u64..=crate::contract::limits::SEQ_MAX, at in -1e15f64..1e15, host: u32, kind: u32,
            text in ".{1,40}", payload in ".{0,80}", extra in ".{0,20}",
            causes in proptest::collection::vec((any::<[u8; 16]>(), any::<u32>(), 0u64..1 << 53), 0..4),
        ) {
            let causes: Vec<_> = causes.iter()
                .map(|(id, host, seq)| CauseRecord { id: IdRecord::Uuid(*id), host: *host, seq: *seq }).collect();
            let record = EventRecord {
                seq, at, id: IdRef::new(&text).into(), host, kind, v: 1, causes: &causes, payload: &payload, extra: &extra,
            };
            let mut buffer = RecordBuffer::default();
            for _ in 0..2 {
                let bytes = buffer.archive(&record).unwrap();
                let read = check_event(bytes).unwrap();
                prop_assert_eq!(read.seq().get(), seq);
                prop_assert_eq!(read.at.to_native().to_bits(), at.to_bits());
                prop_assert_eq!(read.id.get(), IdRef::new(&text));
                prop_assert_eq!((read.host.to_native(), read.kind.to_native()), (host, kind));
                prop_assert_eq!((&*read.payload, &*read.extra), (&*payload, &*extra));
                prop_assert_eq!(read.causes.len(), causes.len());
                for (a, b) in read.causes.iter().zip(&causes) {
                    prop_assert_eq!(IdRecord::from(a.id.get()), b.id);
                    let resolved = (b.host != UNRESOLVED).then(|| (b.host, Seq::new(b.seq).unwrap()));
                    prop_assert_eq!(a.resolved(), resolved);
                }
            }
        }

        #[test]
        fn mutated_bytes_never_panic(at in any::<prop::sample::Index>(), value: u8, cut in any::<prop::sample::Index>()) {
            let causes = [CauseRecord { id: IdRecord::Text("cause"), host: 1, seq: 2 }];
            let record = EventRecord {
                seq: 1, at: 0.5, id: IdRecord::Text("an id"), host: 0, kind: 0, v: 1, causes: &causes, payload: "{}", extra: "",
            };
            let mut buffer = RecordBuffer::default();
            let mut bytes = AlignedVec::<16>::new();
            bytes.extend_from_slice(buffer.archive(&record).unwrap());
            let place = at.index(bytes.len());
            bytes[place] = value;
            let _ = check_event(&bytes);
            let _ = check_event(&bytes[..cut.index(bytes.len())]);
        }
    }
}
