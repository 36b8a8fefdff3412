//! Keeping a store in memory within its cap: the oldest segments go, whole.

use super::core::Core;
use crate::codec::{Control, EvictedRange};
use crate::contract::Result;
use crate::log::drop_oldest;

/// Parts that a cap is divided into: what goes at once is one of them.
pub(super) const PARTS: u64 = 8;

/// Drops the oldest sealed segments until the store is within its cap with room for one more segment.
pub(super) fn trim(core: &Core) -> Result<()> {
    let (events_max, bytes_max) = (core.options.events_max, core.options.bytes_max);
    loop {
        let view = core.writer.view();
        let sealed = &view.segments().sealed;
        let bytes: u64 = sealed.iter().map(|segment| segment.bytes()).sum();
        let over_events = events_max.is_some_and(|most| view.len() > most - most / PARTS);
        let over_bytes = bytes_max.is_some_and(|most| bytes > most - most / PARTS * 2);
        let Some(oldest) = sealed.first().filter(|_| over_events || over_bytes) else { return Ok(()) };
        for host in oldest.hosts() {
            let range = EvictedRange { host: host.host, first: host.first_seq, last: host.last_seq };
            core.writer.control(&Control::Evicted(range))?;
        }
        drop_oldest(&core.writer, &*core.options.vfs, oldest)?;
    }
}
