//! Reading a pack record by record, without its footer: to recover the active one, and to get along without a damaged
//! footer.
//!
//! Invariants:
//! - Nothing is skipped in silence: bytes that are no record are trouble with an offset, and what still checks behind
//!   them is read on.
//! - What was known to be durable and does not check is damage; what never was is torn, and so is everything behind it.
//! - Memory is that of the heads; bodies are read piece by piece, and only where nobody confirmed them.

use super::trouble::to_usize;
use crate::codec::{HEAD_BYTES_MAX, HEAD_BYTES_MIN, PACK_HEADER_BYTES, RECORD_ALIGN, RecordHead, aligned};
use crate::contract::Result;

/// Bytes read at once.
const WINDOW_BYTES: usize = 256 << 10;

/// Where a pack's bytes come from.
pub(super) trait Source {
    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end.
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;
}

impl Source for [u8] {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = self.get(to_usize(offset)..).unwrap_or_default();
        let count = bytes.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(count)
    }
}

/// Bytes that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) what: &'static str,
}

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// The records, by rising offset.
    pub(super) records: Vec<(u64, RecordHead)>,
    /// Where the last one ends.
    pub(super) end: u64,
    /// Durable bytes that do not check.
    pub(super) damage: Vec<Fault>,
    /// Bytes at the end that were never confirmed and do not check; no record behind them is kept.
    pub(super) torn: Option<Fault>,
}

/// Scans the records of a pack up to `end`. Bodies are checked from `confirmed` on: before it, everything was durable.
pub(super) fn scan(
    source: &(impl Source + ?Sized),
    store: &[u8; 16],
    number: u64,
    end: u64,
    confirmed: u64,
) -> Result<Scanned> {
    let mut window = Window::new(source);
    let mut records = Vec::new();
    let mut faults: Vec<Fault> = Vec::new();
    let mut durable = confirmed;
    let mut offset = PACK_HEADER_BYTES as u64;
    while offset < end {
        let read = window.at(offset, HEAD_BYTES_MAX)?;
        let head = RecordHead::from_bytes(read, store, number, offset).map_err(|error| match error {
            crate::codec::PackError::Damaged(what) => what,
            _ => "no record starts here",
        });
        let head = head.and_then(|head| match offset.checked_add(head.record_bytes()) {
            Some(next) if next <= end => Ok((head, next)),
            _ => Err("a record is cut short"),
        });
        match head {
            Ok((head, next)) => {
                durable = durable.max(head.durable);
                if next > confirmed
                    && let Some(what) = window.fault_of(&head, offset)?
                {
                    faults.push(Fault { offset, what });
                }
                records.push((offset, head));
                offset = next;
            }
            Err(what) => {
                faults.push(Fault { offset, what });
                offset = find_record(&mut window, store, number, offset.saturating_add(RECORD_ALIGN), end)?;
            }
        }
    }
    Ok(judge(records, faults, durable))
}

/// Tells damage from a torn tail, and drops what the tail takes with it.
fn judge(mut records: Vec<(u64, RecordHead)>, faults: Vec<Fault>, durable: u64) -> Scanned {
    let (damage, torn): (Vec<_>, Vec<_>) = faults.into_iter().partition(|fault| fault.offset < durable);
    let torn = torn.into_iter().next();
    if let Some(torn) = &torn {
        records.retain(|(offset, _)| *offset < torn.offset);
    }
    let end_of = |(offset, head): &(u64, RecordHead)| offset.saturating_add(head.record_bytes());
    let end = torn.as_ref().map(|torn| torn.offset).or_else(|| records.last().map(end_of));
    Scanned { records, end: end.unwrap_or(PACK_HEADER_BYTES as u64), damage, torn }
}

/// Returns where the next record that checks starts, or `end`.
fn find_record<S: Source + ?Sized>(
    window: &mut Window<'_, S>,
    store: &[u8; 16],
    number: u64,
    from: u64,
    end: u64,
) -> Result<u64> {
    let mut offset = aligned(from);
    while offset < end {
        let read = window.at(offset, HEAD_BYTES_MAX)?;
        if read.len() < HEAD_BYTES_MIN {
            break;
        }
        if RecordHead::from_bytes(read, store, number, offset).is_ok() {
            return Ok(offset);
        }
        offset = offset.saturating_add(RECORD_ALIGN);
    }
    Ok(end)
}

/// A piece of a source, which moves on as it is asked for what lies behind.
pub(super) struct Window<'s, S: ?Sized> {
    source: &'s S,
    start: u64,
    bytes: Vec<u8>,
}

impl<'s, S: Source + ?Sized> Window<'s, S> {
    pub(super) fn new(source: &'s S) -> Self {
        Self { source, start: 0, bytes: Vec::new() }
    }

    /// Returns up to `wanted` bytes at an offset; fewer only at the end of the source.
    fn at(&mut self, offset: u64, wanted: usize) -> Result<&[u8]> {
        let inside = offset.checked_sub(self.start).map(to_usize);
        let is_held = inside.is_some_and(|from| from.saturating_add(wanted) <= self.bytes.len());
        if !is_held {
            self.fill(offset)?;
        }
        let from = to_usize(offset.saturating_sub(self.start));
        let held = self.bytes.get(from..).unwrap_or_default();
        Ok(held.get(..wanted).unwrap_or(held))
    }

    fn fill(&mut self, offset: u64) -> Result<()> {
        self.bytes.resize(WINDOW_BYTES, 0);
        let count = self.source.read(&mut self.bytes, offset)?;
        self.bytes.truncate(count);
        self.start = offset;
        Ok(())
    }

    /// Compares a record's body with its checksum, and looks at the zeros behind it; returns what is wrong.
    pub(super) fn fault_of(&mut self, head: &RecordHead, offset: u64) -> Result<Option<&'static str>> {
        let body = offset.saturating_add(head.head_bytes());
        if self.crc(body, head.body_bytes)? != head.body_crc {
            return Ok(Some("a record's body does not match its checksum"));
        }
        let end = body.saturating_add(head.body_bytes);
        let padding = offset.saturating_add(head.record_bytes()).saturating_sub(end);
        let zeros = self.at(end, to_usize(padding))?;
        Ok(zeros.iter().any(|byte| *byte != 0).then_some("the bytes behind a record are not zero"))
    }

    /// Returns the checksum of a range; of what there is of it.
    fn crc(&mut self, from: u64, bytes: u64) -> Result<u32> {
        let (mut crc, mut offset, end) = (0, from, from.saturating_add(bytes));
        while offset < end {
            let wanted = to_usize(end - offset).min(WINDOW_BYTES);
            let piece = self.at(offset, wanted)?;
            if piece.is_empty() {
                break;
            }
            crc = crc32c::crc32c_append(crc, piece);
            offset = offset.saturating_add(piece.len() as u64);
        }
        Ok(crc)
    }
}
