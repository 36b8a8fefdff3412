//! Reading one host's events from a sealed segment.

use std::sync::Arc;

use crate::codec::{HostEntry, offset_of};
use crate::contract::{Error, Result};

use super::record::Record;
use super::sealed::SealedSegment;

/// The events of one host in one segment, rising by `seq`. Made by [`SealedSegment::seek`].
///
/// Stops for good at the first error.
#[derive(Clone, Debug)]
pub struct HostCursor {
    segment: Arc<SealedSegment>,
    host: u32,
    /// What the directory says is the last one.
    last_of_host: u64,
    from_seq: u64,
    last_seq: Option<u64>,
    offset: u64,
    end: u64,
}

impl HostCursor {
    pub(super) fn empty(segment: &Arc<SealedSegment>) -> Self {
        let segment = Arc::clone(segment);
        Self { segment, host: 0, last_of_host: 0, from_seq: 0, last_seq: None, offset: 0, end: 0 }
    }

    pub(super) fn new(segment: &Arc<SealedSegment>, host: &HostEntry, offset: u64, from_seq: u64) -> Self {
        Self {
            segment: Arc::clone(segment),
            host: host.host,
            last_of_host: host.last_seq,
            from_seq,
            last_seq: None,
            offset,
            end: offset_of(host.end),
        }
    }

    fn read(&mut self) -> Result<Option<Record>> {
        while self.offset < self.end && self.last_seq.is_none_or(|last| last < self.from_seq) {
            let (host, seq, next) = self.segment.key_at(self.offset, self.end)?;
            if seq >= self.from_seq {
                break;
            }
            self.step(host, seq, next)?;
        }
        if self.offset >= self.end {
            return Ok(None);
        }
        let (record, next) = self.segment.frame_at(self.offset, self.end)?;
        self.step(record.get().host.to_native(), record.get().seq.to_native(), next)?;
        Ok(Some(record))
    }

    /// Goes on behind an event, if it stands where it must.
    fn step(&mut self, host: u32, seq: u64, next: u64) -> Result<()> {
        let ends_right = next < self.end || seq == self.last_of_host;
        if host != self.host || self.last_seq.is_some_and(|last| last >= seq) || !ends_right {
            let message = format!("seq {seq} of host number {host} is out of order");
            return Err(self.segment.place(Error::corrupt(message), self.offset));
        }
        self.last_seq = Some(seq);
        self.offset = next;
        Ok(())
    }
}

impl Iterator for HostCursor {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        let record = self.read();
        if record.is_err() {
            self.offset = self.end;
        }
        record.transpose()
    }
}
