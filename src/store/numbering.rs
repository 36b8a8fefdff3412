//! Numbers for the events of a view: the ranks of `(host, seq)`.

use super::seqs::Seqs;
use crate::contract::{Code, Error, Result};
use crate::log::{StoredEvent, View, resolved_causes};

/// The numbers of all events of a view, in 16 bytes a host and what [`Seqs`] take: 24 for a host without gaps.
pub(super) struct Numbering {
    /// The hosts that hold events, by rising number.
    hosts: Vec<Host>,
    /// Index into `hosts` by number of the host; beyond them for one that holds none.
    places: Vec<u32>,
    seqs: Seqs,
}

#[derive(Clone, Copy)]
struct Host {
    /// The number of its first event.
    first: u32,
    host: u32,
    /// Its first block of [`Seqs`].
    block: u32,
}

/// Where an event stands.
pub(super) struct Numbered {
    pub(super) host: u32,
    pub(super) seq: u64,
    /// Whether it is the last of its host.
    pub(super) last: bool,
}

impl Numbering {
    /// Numbers all events. Cost: a pass over the heads of those in sealed segments whose host has gaps there.
    ///
    /// # Errors
    /// `LIMIT` beyond 2^32 - 1 events; system calls and damage.
    pub(super) fn of(view: &View) -> Result<Self> {
        let in_order = view.names().hosts_in_order();
        let numbers = in_order.iter().max().map_or(0, |most| *most as usize + 1);
        let mut hosts = Vec::with_capacity(in_order.len());
        let mut places = vec![u32::MAX; numbers];
        let mut seqs = Seqs::with_capacity(in_order.len());
        for host in in_order {
            let (first, block) = (seqs.len(), seqs.blocks());
            for part in view.parts() {
                part.host_runs(*host, |first, len| {
                    let message = "an order holds at most 2^32 - 1 events";
                    seqs.push(first, len).ok_or_else(|| Error::invalid(Code::Limit, message))
                })?;
            }
            seqs.end_host();
            if seqs.len() > first {
                if let Some(place) = places.get_mut(*host as usize) {
                    *place = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
                }
                hosts.push(Host { first, host: *host, block });
            }
        }
        hosts.shrink_to_fit();
        seqs.shrink();
        Ok(Self { hosts, places, seqs })
    }

    /// Returns the number of events.
    pub(super) const fn len(&self) -> u32 {
        self.seqs.len()
    }

    /// Lists the hosts that hold events, by rising numbers of theirs.
    pub(super) fn hosts(&self) -> impl ExactSizeIterator<Item = u32> {
        self.hosts.iter().map(|host| host.host)
    }

    /// Says where an event stands.
    pub(super) fn place(&self, number: u32) -> Option<Numbered> {
        let at = self.hosts.partition_point(|host| host.first <= number).checked_sub(1)?;
        let end = self.hosts.get(at + 1).map_or(self.len(), |next| next.first);
        let host = self.hosts.get(at)?.host;
        Some(Numbered { host, seq: self.seqs.seq(number)?, last: number + 1 == end })
    }

    /// Appends the numbers of an event's held causes.
    ///
    /// # Errors
    /// System calls; damage.
    pub(super) fn causes_of(&self, event: &StoredEvent, view: &View, causes: &mut Vec<u32>) -> Result<()> {
        let record = event.record();
        causes.extend(resolved_causes(record).filter_map(|(host, seq)| self.number(host, seq)));
        for cause in record.causes.iter().filter(|cause| cause.resolved().is_none()) {
            // It may have arrived since.
            if let Some(found) = view.find(cause.id.get())? {
                let place = found.place();
                causes.extend(self.number(place.host, place.seq));
            }
        }
        Ok(())
    }

    fn number(&self, host: u32, seq: u64) -> Option<u32> {
        let at = *self.places.get(host as usize)? as usize;
        let end = self.hosts.get(at + 1).map_or(self.seqs.blocks(), |next| next.block);
        self.seqs.find(self.hosts.get(at)?.block..end, seq)
    }
}
