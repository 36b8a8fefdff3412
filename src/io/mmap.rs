//! Memory maps, and archived records read from them without checking each time. The only file of
//! the crate with `unsafe`.
//!
//! Invariants, upheld by whoever calls [`VfsFile::map`](super::VfsFile::map):
//! - Only files whose writing is over are mapped. The engine never shortens, rewrites or truncates
//!   such a file in place; it replaces by rename and removes by name, and both leave the mapped
//!   pages as they are.
//! - Whoever maps holds the store's lock, as its writer or as a reader, so that no other process of
//!   this engine breaks the first rule.
//! - A program that writes into a store's files without its lock, and a medium that gives other
//!   bytes on a second read without an error, are outside of what a map can defend against.
//!
//! Invariants of [`Validated`], upheld here alone:
//! - It looks at its mapping once, when it is made, and uses that very slice ever after.
//! - A proof is a bit that belongs to one position of one mapping and to one type. It is set after
//!   `bytecheck` accepted a record of that type whose root lies at that position of that slice, and
//!   by nothing else. No caller can make, move or keep one.
//! - Where no proof may be kept, because the budget is used up, each access is checked.
//! - Range and alignment are tested at every access, proof or not.

#![expect(unsafe_code, reason = "maps, and unchecked access to records that were checked before")]

use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rkyv::Portable;
use rkyv::api::high::HighValidator;
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Failure;

use super::vfs::Mapping;

/// Maps a whole file for reading.
///
/// # Errors
/// What the operating system reports.
pub(super) fn map_file(file: &File) -> io::Result<Mapping> {
    // SAFETY: the bytes must not change while they are mapped. The head of the file says who
    // upholds that: the engine's own processes, through the store's lock.
    let map = unsafe { memmap2::MmapOptions::new().map(file) }?;
    Ok(Mapping::new(map))
}

/// Why a range of a mapping is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The range passes the end of the mapping, or is too short for the record's root.
    #[error("a record's range does not fit its file")]
    OutOfRange,
    /// The root does not lie at a multiple of its alignment.
    #[error("a record is not aligned")]
    Misaligned,
    /// The bytes are no archived record of the type asked for.
    #[error("the bytes are no record")]
    Invalid,
}

/// How much memory the proofs of all mappings that share it may take.
#[derive(Debug)]
pub struct ProofBudget(AtomicUsize);

impl ProofBudget {
    /// Allows that many bytes. A fully read mapping takes one bit for each place a record could
    /// stand at: at an alignment of 8, a 64th of its size.
    #[must_use]
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A mapping whose archived records of type `T` are checked at their first access only.
///
/// The first access costs a pass over the record, a later one a bit test. Proofs are kept in chunks
/// of 4 KiB that are allocated where records are read.
pub struct Validated<T> {
    /// Borrowed from what `_mapping` holds, so never handed out for longer than `&self`.
    bytes: &'static [u8],
    proofs: Box<[OnceLock<Chunk>]>,
    budget: Arc<ProofBudget>,
    _mapping: Mapping,
    record: PhantomData<fn() -> T>,
}

type Chunk = Box<[AtomicU64; CHUNK_WORDS]>;

const CHUNK_WORDS: usize = 512;
const CHUNK_SLOTS: usize = CHUNK_WORDS * 64;
const CHUNK_BYTES: usize = CHUNK_WORDS * 8;

impl<T> Validated<T>
where
    T: Portable + for<'a> CheckBytes<HighValidator<'a, Failure>>,
{
    /// Takes a mapping, about which nothing is proven yet. Reads none of it.
    #[must_use]
    pub fn new(mapping: Mapping, budget: Arc<ProofBudget>) -> Self {
        let bytes: *const [u8] = &raw const *mapping;
        // SAFETY: the slice is borrowed from the value behind the mapping's `Arc`, of which this
        // struct holds a share until it is dropped: the value is neither moved nor dropped nor
        // borrowed mutably before, as only sole owners of an `Arc` can. The lifetime is not really
        // `'static`; the field is private, and all functions cut it to that of `&self`.
        let bytes: &'static [u8] = unsafe { &*bytes };
        let chunks = bytes.len().div_ceil(align_of::<T>()).div_ceil(CHUNK_SLOTS);
        let proofs = std::iter::repeat_with(OnceLock::new).take(chunks).collect();
        Self { bytes, proofs, budget, _mapping: mapping, record: PhantomData }
    }

    /// Returns all bytes of the mapping.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Returns the record archived in a range; its root ends where the range ends.
    ///
    /// # Errors
    /// [`AccessError`], the same at every call for the same range.
    pub fn get(&self, range: Range<usize>) -> Result<&T, AccessError> {
        let record = self.bytes.get(range.clone()).ok_or(AccessError::OutOfRange)?;
        let before_root = record.len().checked_sub(size_of::<T>()).ok_or(AccessError::OutOfRange)?;
        let root = record.as_ptr().wrapping_add(before_root).cast::<T>();
        if !root.is_aligned() {
            return Err(AccessError::Misaligned);
        }
        let proof = self.proof(range.start.saturating_add(before_root));
        if let Some((word, bit)) = proof
            && word.load(Ordering::Relaxed) & bit != 0
        {
            // SAFETY: the bit says that a `T` whose root lies at this position of this very slice
            // passed `bytecheck`, in a range with the same end. Its root and all that it points to
            // lie at the same addresses now, and the bytes are the same, as the head of the file
            // demands. That this range may start elsewhere changes nothing: only its end gives the
            // root, and the test above showed that the root lies within it.
            return Ok(unsafe { rkyv::access_unchecked::<T>(record) });
        }
        let checked = rkyv::access::<T, Failure>(record).map_err(|_| AccessError::Invalid)?;
        if let Some((word, bit)) = proof {
            // No ordering needed: the proven bytes were there before the bit was.
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(checked)
    }

    /// Returns the place of the proof for a root at this position, unless the budget is used up.
    fn proof(&self, root: usize) -> Option<(&AtomicU64, u64)> {
        // Aligned addresses may still leave the position odd if the slice itself starts oddly; then
        // two positions would share a bit, so nothing is kept.
        if !root.is_multiple_of(align_of::<T>()) {
            return None;
        }
        let slot = root / align_of::<T>();
        let chunk = self.proofs.get(slot / CHUNK_SLOTS)?;
        let words = match chunk.get() {
            Some(words) => words,
            None if self.budget.take(CHUNK_BYTES) => {
                let fresh: Chunk = Box::new([const { AtomicU64::new(0) }; CHUNK_WORDS]);
                if chunk.set(fresh).is_err() {
                    // Another thread was faster.
                    self.budget.give_back(CHUNK_BYTES);
                }
                chunk.get()?
            }
            None => return None,
        };
        let word = words.get(slot % CHUNK_SLOTS / 64)?;
        Some((word, 1 << (slot % 64)))
    }
}

/// A checked record, kept together with the mapping it lies in. Reading it checks nothing.
///
/// Made by [`Validated::record`]. Cloning counts a reference; nothing is copied.
pub struct Proven<T: 'static> {
    /// Borrowed from what `source` holds, so never handed out for longer than `&self`.
    record: &'static T,
    source: Arc<Validated<T>>,
}

impl<T> Validated<T>
where
    T: Portable + for<'a> CheckBytes<HighValidator<'a, Failure>> + 'static,
{
    /// Returns the record archived in a range as [`Validated::get`] does, with a share of the mapping.
    ///
    /// # Errors
    /// [`AccessError`], the same at every call for the same range.
    pub fn record(self: &Arc<Self>, range: Range<usize>) -> Result<Proven<T>, AccessError> {
        let record: *const T = self.get(range)?;
        // SAFETY: the record lies in `self.bytes`, which stays in place, unchanged and borrowed by
        // nobody mutably as long as the `Validated` lives; the `Proven` holds a share of that. The
        // lifetime is not really `'static`; the field is private, and `deref` cuts it to `&self`.
        let record: &'static T = unsafe { &*record };
        Ok(Proven { record, source: Arc::clone(self) })
    }
}

impl<T> std::ops::Deref for Proven<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.record
    }
}

impl<T> Clone for Proven<T> {
    fn clone(&self) -> Self {
        Self { record: self.record, source: Arc::clone(&self.source) }
    }
}

impl<T> fmt::Debug for Proven<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proven(in {:?})", self.source)
    }
}

impl<T> Drop for Validated<T> {
    fn drop(&mut self) {
        let chunks = self.proofs.iter().filter(|chunk| chunk.get().is_some()).count();
        self.budget.give_back(chunks.saturating_mul(CHUNK_BYTES));
    }
}

impl<T> fmt::Debug for Validated<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Validated({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rkyv::util::AlignedVec;

    #[derive(rkyv::Archive, rkyv::Serialize)]
    struct Note {
        text: String,
        number: u64,
    }

    /// Two records, each behind the other at a multiple of 16, and where they lie.
    fn two_records() -> (AlignedVec<16>, [Range<usize>; 2]) {
        let mut bytes = AlignedVec::<16>::new();
        let ranges =
            [("the first of the two texts", 1), ("the second of the two texts", 2)].map(|(text, number)| {
                bytes.resize(bytes.len().next_multiple_of(16), 0);
                let start = bytes.len();
                let note = Note { text: text.into(), number };
                bytes.extend_from_slice(&rkyv::to_bytes::<Failure>(&note).unwrap());
                start..bytes.len()
            });
        (bytes, ranges)
    }

    fn validated(bytes: AlignedVec<16>, budget: usize) -> Validated<ArchivedNote> {
        Validated::new(Mapping::new(bytes), ProofBudget::new(budget))
    }

    fn proofs(validated: &Validated<ArchivedNote>) -> u32 {
        let words = validated.proofs.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter());
        words.map(|word| word.load(Ordering::Relaxed).count_ones()).sum()
    }

    #[test]
    fn a_record_is_checked_once() {
        let (bytes, [first, second]) = two_records();
        let validated = validated(bytes, usize::MAX / 2);
        for _ in 0..2 {
            assert_eq!(validated.get(first.clone()).unwrap().text, "the first of the two texts");
            assert_eq!(proofs(&validated), 1);
        }
        assert_eq!(validated.get(second).unwrap().number, 2);
        assert_eq!(proofs(&validated), 2);
    }

    #[test]
    fn a_record_keeps_its_mapping() {
        let (bytes, [first, second]) = two_records();
        let validated = Arc::new(validated(bytes, 0));
        let records = [first, second].map(|range| validated.record(range).unwrap());
        drop(validated);
        let copy = records[0].clone();
        assert_eq!(records.map(|record| record.number.to_native()), [1, 2]);
        assert_eq!(copy.text, "the first of the two texts");
    }

    #[test]
    fn ranges_are_tested_with_and_without_proof() {
        let (bytes, [first, _]) = two_records();
        let validated = validated(bytes, usize::MAX / 2);
        let len = validated.bytes().len();
        for _ in 0..2 {
            #[expect(clippy::reversed_empty_ranges, reason = "that is the point")]
            for range in [len..len + 32, len - 8..len + 8, first.end - 8..first.end, 5..1, 0..0] {
                assert_eq!(validated.get(range).err(), Some(AccessError::OutOfRange));
            }
            for end in [first.end - 1, first.end - 4, first.end + 1] {
                assert_eq!(validated.get(first.start..end).err(), Some(AccessError::Misaligned), "{end}");
            }
            validated.get(first.clone()).unwrap();
            assert_eq!(proofs(&validated), 1);
        }
    }

    #[test]
    fn a_failed_check_proves_nothing() {
        let (mut bytes, [first, second]) = two_records();
        bytes[first.start] = 0xFF;
        let validated = validated(bytes, usize::MAX / 2);
        for _ in 0..2 {
            assert_eq!(validated.get(first.clone()).err(), Some(AccessError::Invalid));
            assert_eq!(proofs(&validated), 0);
        }
        // A root at another place has no share in this proof.
        validated.get(second).unwrap();
        assert_eq!(validated.get(first).err(), Some(AccessError::Invalid));
        assert_eq!(proofs(&validated), 1);
    }

    #[test]
    fn an_oddly_placed_mapping_is_misaligned() {
        struct Shifted(AlignedVec<16>);
        impl std::ops::Deref for Shifted {
            type Target = [u8];
            fn deref(&self) -> &[u8] {
                &self.0[4..]
            }
        }
        let (bytes, [_, second]) = two_records();
        let mapping = Mapping::new(Shifted(bytes));
        let validated = Validated::<ArchivedNote>::new(mapping, ProofBudget::new(usize::MAX / 2));
        assert_eq!(validated.get(second.start..second.end - 8).err(), Some(AccessError::Misaligned));
        // Aligned in memory, though not in the file: read, but each time with a check.
        assert_eq!(validated.get(second.start - 4..second.end - 4).unwrap().number, 2);
        assert_eq!(proofs(&validated), 0);
    }

    #[test]
    fn a_spent_budget_means_checking_each_time() {
        let (bytes, [first, _]) = two_records();
        let budget = ProofBudget::new(CHUNK_BYTES + 1);
        let make = || Validated::<ArchivedNote>::new(Mapping::new(bytes.clone()), budget.clone());
        let (rich, poor) = (make(), make());
        for _ in 0..2 {
            assert_eq!(rich.get(first.clone()).unwrap().number, 1);
            assert_eq!(poor.get(first.clone()).unwrap().number, 1);
        }
        assert_eq!((proofs(&rich), proofs(&poor)), (1, 0));
        drop(rich);
        poor.get(first.clone()).unwrap();
        assert_eq!(proofs(&poor), 1);
    }

    #[test]
    fn a_mapping_that_shows_other_bytes_later_is_not_asked_again() {
        struct Fickle(AlignedVec<16>, AtomicUsize);
        impl std::ops::Deref for Fickle {
            type Target = [u8];
            fn deref(&self) -> &[u8] {
                if self.1.fetch_add(1, Ordering::Relaxed) == 0 { &self.0 } else { &[] }
            }
        }
        let (bytes, [first, _]) = two_records();
        let mapping = Mapping::new(Fickle(bytes, AtomicUsize::new(0)));
        let validated = Validated::<ArchivedNote>::new(mapping, ProofBudget::new(0));
        assert_eq!(validated.get(first.clone()).unwrap().number, 1);
        assert_eq!(validated.get(first).unwrap().number, 1);
    }
}
