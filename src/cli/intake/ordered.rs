//! The events of a sorted file in their one order.

use super::arranged::Arranged;
use super::cycles;
use super::record;
use super::schedule::window_bytes;
use crate::cli::sort::Records;
use crate::contract::{Code, Error, Event, Result};

/// Yields the events in the order. Duplicates are passed over.
///
/// Memory: 12 bytes an event, below 32 while the order is computed, and 8 MiB for reading ahead, whatever the number
/// of hosts.
#[derive(Debug)]
pub(crate) struct Ordered<'a> {
    arranged: &'a Arranged,
    order: std::vec::IntoIter<u32>,
    /// Where each rank's record is.
    positions: Vec<u64>,
    lanes: Vec<Records>,
    /// The lane that was read last, where it must give its window back when another one takes over.
    window_of: Option<usize>,
    duplicates: Vec<u64>,
}

impl<'a> Ordered<'a> {
    /// Computes the order.
    ///
    /// # Errors
    /// `CYCLE` when there is none, `LIMIT` at 2^32 events, kind `Io` when a temporary file cannot be read.
    pub(crate) fn new(arranged: &'a Arranged) -> Result<Self> {
        let order = cycles::graph(arranged)?.linearize().map_err(|cycle| {
            Error::invalid(Code::Cycle, format!("the causes of {} events form cycles", cycle.stuck.len()))
        })?;
        let mut positions = Vec::with_capacity(order.len());
        let mut records = arranged.records.records();
        while let Some(record) = records.header()? {
            positions.push(record.position);
        }
        let (window, release_windows) = window_bytes(arranged.lanes.len());
        let lanes: Vec<Records> = arranged
            .lanes
            .iter()
            .map(|lane| arranged.records.part(lane.records.start, lane.records.end, window))
            .collect();
        let duplicates = cycles::duplicates(arranged)?;
        let window_of = release_windows.then_some(0);
        Ok(Self { arranged, order: order.into_iter(), positions, lanes, window_of, duplicates })
    }

    fn read(&mut self, rank: u32) -> Result<Option<Event>> {
        let rank = u64::from(rank);
        if self.duplicates.binary_search(&rank).is_ok() {
            return Ok(None);
        }
        let lanes = &self.arranged.lanes;
        let number = lanes.partition_point(|lane| lane.ranks.end <= rank);
        if let Some(before) = &mut self.window_of
            && let before = std::mem::replace(before, number)
            && before != number
            && let Some(records) = self.lanes.get_mut(before)
        {
            records.release();
        }
        let position = usize::try_from(rank).ok().and_then(|rank| self.positions.get(rank));
        let (Some(lane), Some(records), Some(position)) =
            (lanes.get(number), self.lanes.get_mut(number), position)
        else {
            return Ok(None);
        };
        records.seek(*position);
        let Some(found) = records.header()? else { return Ok(None) };
        let [_, seq, _] = found.key;
        let event = record::read(&lane.host, seq, records.value()?)?;
        if rank + 1 == lane.ranks.end {
            records.release();
        }
        Ok(Some(event))
    }

    /// Returns the memory of all windows.
    #[cfg(test)]
    pub(super) fn windows_bytes(&self) -> usize {
        self.lanes.iter().map(Records::window_bytes).sum()
    }
}

impl Iterator for Ordered<'_> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rank = self.order.next()?;
            if let Some(event) = self.read(rank).transpose() {
                return Some(event);
            }
        }
    }
}
