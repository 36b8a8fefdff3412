//! What a sealed segment is asked: by host and `seq`, by place, by id, by type, by arrival.

use std::sync::Arc;

use super::SealedSegment;
use crate::codec::{FRAME_HEADER_BYTES, Fingerprint, Frame, Section, TableEntry, offset_of};
use crate::contract::{Error, Result};
use crate::log::checked::{CheckedTable, TableHits};
use crate::log::cursor::HostCursor;
use crate::log::record::{Record, bytes_from, event_frame};
use crate::log::trouble::{to_u64, to_usize};

impl SealedSegment {
    /// Iterates over the events of a host with a `seq` of at least `from_seq`, rising.
    ///
    /// Costs a search in the block index and a walk over part of one block; then each record where it lies.
    ///
    /// # Errors
    /// `Io` when the file cannot be mapped, `Corrupt` when the block index is damaged.
    pub fn seek(self: &Arc<Self>, host: u32, from_seq: u64) -> Result<HostCursor> {
        let Some(entry) = self.directory.get(host).filter(|entry| entry.last_seq >= from_seq) else {
            return Ok(HostCursor::empty(self));
        };
        let start = self.blocks()?.start_of(entry, from_seq);
        Ok(HostCursor::new(self, entry, offset_of(start), from_seq))
    }

    /// Reads the event whose frame starts at an offset that a look-up gave.
    ///
    /// The first read of a frame checks it: about 0.5 us for 400 bytes. Later ones touch its header alone.
    ///
    /// # Errors
    /// `Corrupt` when no whole frame of an event stands there, `Io` when the file cannot be mapped.
    pub fn record_at(&self, offset: u64) -> Result<Record> {
        self.frame_at(offset, self.trailer.frames_end).map(|(record, _)| record)
    }

    /// Returns host number and `seq` of the event at an offset, and where the next frame starts.
    ///
    /// As [`frame_at`](Self::frame_at), without a share of the mapping: for events that are passed over.
    pub(in crate::log) fn key_at(&self, offset: u64, end: u64) -> Result<(u32, u64, u64)> {
        let map = self.map()?;
        if !map.frames.is_set(offset) {
            let (record, next) = self.frame_at(offset, end)?;
            return Ok((record.get().host.to_native(), record.get().seq.to_native(), next));
        }
        let corrupt = |what: String| self.place(Error::corrupt(what), offset);
        let bytes = bytes_from(&map.source, offset).get(..to_usize(end.saturating_sub(offset)));
        let frame = Frame::read_again(bytes.unwrap_or_default()).map_err(|e| corrupt(e.to_string()))?;
        let start = to_usize(offset) + FRAME_HEADER_BYTES;
        let record = map.source.get(start..start + frame.body.len()).map_err(|e| corrupt(e.to_string()))?;
        Ok((record.host.to_native(), record.seq.to_native(), offset + to_u64(frame.bytes)))
    }

    /// Reads the event at an offset; returns it and where the next frame starts.
    pub(in crate::log) fn frame_at(&self, offset: u64, end: u64) -> Result<(Record, u64)> {
        let map = self.map()?;
        let corrupt = |what: String| self.place(Error::corrupt(what), offset);
        if offset < self.trailer.frames_start || offset >= end || !offset.is_multiple_of(8) {
            return Err(corrupt("no frame can start here".to_owned()));
        }
        let start = to_usize(offset);
        let bytes = bytes_from(&map.source, offset);
        let bytes = bytes.get(..to_usize(end - offset)).unwrap_or_default();
        if map.frames.is_set(offset) {
            let frame = Frame::read_again(bytes).map_err(|e| corrupt(e.to_string()))?;
            let record = Record::checked_before(&map.source, start, &frame).map_err(corrupt)?;
            return Ok((record, offset + to_u64(frame.bytes)));
        }
        let frame = event_frame(bytes, self.seed, offset).map_err(corrupt)?;
        let record = Record::check(&map.source, start, &frame, self.sizes).map_err(corrupt)?;
        map.frames.set(offset);
        Ok((record, offset + to_u64(frame.bytes)))
    }

    /// Finds the events whose id has a fingerprint, rising by offset; the ids are still to be compared.
    ///
    /// # Errors
    /// `Corrupt` when the id table is damaged, `Io` when the file cannot be mapped.
    pub fn candidates(&self, fingerprint: Fingerprint) -> Result<Hits<'_>> {
        let (table, bytes) = self.table(Section::Ids)?;
        table.find(bytes, fingerprint).map(Hits).map_err(|e| self.table_trouble(e, Section::Ids))
    }

    /// Finds the events that name a cause with this fingerprint which was not held when they were written,
    /// rising by offset; the cause's id is still to be compared.
    ///
    /// # Errors
    /// `Corrupt` when the table is damaged, `Io` when the file cannot be mapped.
    pub fn unresolved(&self, fingerprint: Fingerprint) -> Result<Hits<'_>> {
        if self.trailer.unresolved == 0 {
            return Ok(Hits::default());
        }
        let (table, bytes) = self.table(Section::Unresolved)?;
        table.find(bytes, fingerprint).map(Hits).map_err(|e| self.table_trouble(e, Section::Unresolved))
    }

    /// Returns how many causes were not held when their events were written, without reading anything.
    #[must_use]
    pub const fn unresolved_len(&self) -> u64 {
        self.trailer.unresolved
    }

    /// Returns the offset of the event with this ordinal, or `None` past the end.
    ///
    /// # Errors
    /// `Corrupt` when the section is damaged, `Io` when the file cannot be mapped.
    pub fn arrival(&self, ordinal: u32) -> Result<Option<u64>> {
        Ok(self.arrivals()?.nth(to_usize(u64::from(ordinal))))
    }

    /// Iterates over the offsets of all events in the order in which they arrived.
    ///
    /// # Errors
    /// `Corrupt` when the section is damaged, `Io` when the file cannot be mapped.
    pub fn arrivals(&self) -> Result<Offsets<'_>> {
        Ok(Offsets(self.section(Section::Arrivals)?.as_chunks().0.iter()))
    }

    /// Iterates over the offsets of all events of a type, in file order.
    ///
    /// # Errors
    /// `Corrupt` when the section is damaged, `Io` when the file cannot be mapped.
    pub fn of_kind(&self, kind: u32) -> Result<Offsets<'_>> {
        let words = self.section(Section::Kinds)?.as_chunks::<4>().0;
        let number = |bytes: &[u8; 4]| to_usize(u64::from(u32::from_le_bytes(*bytes)));
        let list = || {
            let kind = to_usize(u64::from(kind));
            if kind >= to_usize(u64::from(self.sizes.types)) {
                return Some([].iter());
            }
            let start = number(words.get(kind)?);
            let end = number(words.get(kind + 1)?);
            let lists = words.get(to_usize(u64::from(self.sizes.types)) + 1..)?;
            Some(lists.get(start..end)?.iter())
        };
        let damaged = || Error::corrupt("the type lists are damaged");
        let offset = self.trailer.section(Section::Kinds).offset;
        list().map(Offsets).ok_or_else(|| self.place(damaged(), offset))
    }

    /// Returns all entries of the id table, by fingerprint; for merging tables.
    pub(in crate::log) fn id_entries(&self) -> Result<(&CheckedTable, &[u8])> {
        self.table(Section::Ids)
    }
}

/// Offsets of events that a table gave, rising.
#[derive(Clone, Debug, Default)]
pub struct Hits<'a>(TableHits<'a>);

fn offset_in(entry: TableEntry) -> u64 {
    let [place, _] = entry.columns;
    offset_of(place)
}

impl Iterator for Hits<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0.next().map(offset_in)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Hits<'_> {
    fn next_back(&mut self) -> Option<u64> {
        self.0.next_back().map(offset_in)
    }
}

/// Offsets of events that a list gave, in its order.
#[derive(Clone, Debug)]
pub struct Offsets<'a>(std::slice::Iter<'a, [u8; 4]>);

impl Offsets<'_> {
    /// Leaves those from one place to before another, as the directory gives places; the list rises. Two searches.
    #[must_use]
    pub fn within(self, start: u32, end: u32) -> Self {
        Self(range(self.0.as_slice(), start, end, |place| u32::from_le_bytes(*place)).iter())
    }
}

/// Returns the part of a rising list whose values are from `start` to before `end`.
fn range<T>(list: &[T], start: u32, end: u32, value: impl Fn(&T) -> u32) -> &[T] {
    let from = list.partition_point(|item| value(item) < start);
    let to = list.partition_point(|item| value(item) < end);
    list.get(from..to).unwrap_or_default()
}

impl Iterator for Offsets<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0.next().map(|place| offset_of(u32::from_le_bytes(*place)))
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        self.0.nth(n).map(|place| offset_of(u32::from_le_bytes(*place)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Offsets<'_> {
    fn next_back(&mut self) -> Option<u64> {
        self.0.next_back().map(|place| offset_of(u32::from_le_bytes(*place)))
    }
}

impl ExactSizeIterator for Offsets<'_> {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn parts_of_a_list_are_searched_for() {
        let list: Vec<u32> = (0..20_000).map(|host| host * 3).collect();
        let looks = Cell::new(0usize);
        for host in 0..20_000u32 {
            let value = |item: &u32| {
                looks.set(looks.get() + 1);
                *item
            };
            assert_eq!(range(&list, host * 3, host * 3 + 3, value), [host * 3]);
            assert!(range(&list, host * 3 + 1, host * 3 + 3, value).is_empty());
        }
        assert!(looks.get() <= 20_000 * 4 * 16, "{} looks", looks.get());
        assert_eq!(range(&list, 0, u32::MAX, |item| *item).len(), list.len());
        assert!(range(&list, 9, 3, |item| *item).is_empty());
    }
}
