//! Taking events out of the log that readers are shown.
//!
//! Invariant: the order and the list of segments change in one moment, so that no reader has an event in one of them alone.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::parts::Segments;
use super::view::View;
use super::writer::{Published, Writer};
use crate::contract::Result;

impl Writer {
    /// Takes the events of ranges, by host number and `seq`, out of the order, and what holds them out of the list of
    /// segments, in one moment for every reader. Everything staged is written and synced before.
    ///
    /// # Errors
    /// `Poisoned`; what the system calls report; damage. Nothing is taken out then.
    pub fn drop_events(
        &self,
        ranges: &[(u32, RangeInclusive<u64>)],
        change: impl FnOnce(&mut Segments),
    ) -> Result<()> {
        let leader = self.group.lead()?;
        loop {
            self.write(&leader, true)?;
            let mut staging = self.staging.lock();
            if staging.segment.pending_bytes() > 0 {
                continue;
            }
            let segments = Arc::clone(&self.published.read().segments);
            let view = View::new(segments, Arc::clone(staging.names()), self.secret, u32::MAX);
            // One that could not be kept is made anew when the store is opened.
            if staging.order().is_ok() {
                staging.change_order(|order, ranks| order.evict(ranges, &view, ranks).map(drop))?;
            }
            let order = Arc::new(staging.order_as_it_is().clone());
            let mut published = self.published.write();
            let mut changed = Segments::clone(&published.segments);
            change(&mut changed);
            *published = Published { segments: Arc::new(changed), synced_order: Arc::clone(&order), order };
            let oldest = published.segments.parts(0).next().map(|part| part.arrivals_before());
            drop(published);
            staging.forget(oldest.unwrap_or_default());
            return Ok(());
        }
    }
}
