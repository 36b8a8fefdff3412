//! The events of a sorted file in their one order.

use super::cycles;
use super::record;
use super::resolve::Arranged;
use super::schedule::window_bytes;
use crate::cli::sort::Records;
use crate::contract::{Code, Error, Event, Result};

/// Yields the events in the order. Duplicates are passed over.
///
/// Memory: 12 bytes an event, below 32 while the order is computed.
#[derive(Debug)]
pub(crate) struct Ordered<'a> {
    arranged: &'a Arranged,
    order: std::vec::IntoIter<u32>,
    /// Where each rank's record is.
    positions: Vec<u64>,
    lanes: Vec<Records>,
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
        let (window, _) = window_bytes(arranged.lanes.len());
        let lanes = arranged
            .lanes
            .iter()
            .map(|lane| arranged.records.part(lane.records.start, lane.records.end, window))
            .collect();
        let duplicates = cycles::duplicates(arranged)?;
        Ok(Self { arranged, order: order.into_iter(), positions, lanes, duplicates })
    }

    fn read(&mut self, rank: u32) -> Result<Option<Event>> {
        let rank = u64::from(rank);
        if self.duplicates.binary_search(&rank).is_ok() {
            return Ok(None);
        }
        let lanes = &self.arranged.lanes;
        let number = lanes.partition_point(|lane| lane.ranks.end <= rank);
        let position = usize::try_from(rank).ok().and_then(|rank| self.positions.get(rank));
        let (Some(lane), Some(records), Some(position)) =
            (lanes.get(number), self.lanes.get_mut(number), position)
        else {
            return Ok(None);
        };
        records.seek(*position);
        let Some(found) = records.header()? else { return Ok(None) };
        let [_, seq, _] = found.key;
        record::read(&lane.host, seq, records.value()?).map(Some)
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
