//! Iterators over a snapshot: each reads a few records ahead and holds nothing else of the log.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::contract::Result;
use crate::log::{HostReader, Record, StoredEvent, View};

/// Records fetched at once.
const FETCH: usize = 64;

/// Events of a snapshot, one after the other. Ends at the first error.
///
/// `Send`, and independent of the store's life: what it reads stays readable while it lives.
pub struct Events {
    inner: Box<dyn Iterator<Item = Result<StoredEvent>> + Send>,
    failed: bool,
}

impl Events {
    pub(super) fn new(inner: impl Iterator<Item = Result<StoredEvent>> + Send + 'static) -> Self {
        Self { inner: Box::new(inner), failed: false }
    }
}

impl Iterator for Events {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.inner.next();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events(failed: {})", self.failed)
    }
}

/// One host's events from `from` to `to`, both included, by rising `seq`.
pub(super) struct HostEvents {
    view: View,
    host: u32,
    from: u64,
    to: u64,
    part: usize,
    reader: Option<(HostReader, u64)>,
    fetched: VecDeque<Record>,
    /// The first fetch is small: who asks for one event should not pay for many.
    fetch: usize,
    fetch_max: usize,
}

impl HostEvents {
    pub(super) fn new(view: View, host: u32, from: u64, to: u64) -> Self {
        Self {
            part: view.part_from(host, from),
            view,
            host,
            from,
            to,
            reader: None,
            fetched: VecDeque::new(),
            fetch: 4,
            fetch_max: FETCH,
        }
    }

    /// Reads at most so many events at once.
    pub(super) fn fetching(self, most: usize) -> Self {
        let most = most.clamp(1, FETCH);
        Self { fetch: self.fetch.min(most), fetch_max: most, ..self }
    }

    fn advance(&mut self) -> Result<Option<StoredEvent>> {
        loop {
            if let (Some(record), Some((_, first))) = (self.fetched.pop_front(), &self.reader) {
                if record.get().seq().get() > self.to {
                    return Ok(None);
                }
                let arrival = first + u64::from(record.ordinal());
                return Ok(Some(StoredEvent::new(record, Arc::clone(self.view.names()), arrival)));
            }
            if let Some((reader, _)) = &mut self.reader {
                self.fetched.extend(reader.next(self.fetch)?);
                self.fetch = self.fetch_max;
                if !self.fetched.is_empty() {
                    continue;
                }
                self.reader = None;
            }
            let Some(part) = self.view.parts().nth(self.part) else { return Ok(None) };
            self.part += 1;
            match part.host_first(self.host) {
                Some(first) if first > self.to => return Ok(None),
                Some(_) if part.host_last(self.host).is_some_and(|(last, _)| last >= self.from) => {
                    self.reader = Some((part.host_reader(self.host, self.from)?, part.arrivals_before()));
                }
                _ => {}
            }
        }
    }
}

impl Iterator for HostEvents {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// Several hosts' events, host by host in UTF-16 order: the order of exports.
pub(super) struct AllHosts {
    view: View,
    /// Host number and first `seq` wanted; taken from the front.
    hosts: VecDeque<(u32, u64)>,
    current: Option<HostEvents>,
}

impl AllHosts {
    pub(super) fn new(view: View, from: impl Fn(&str) -> Option<u64>) -> Self {
        let names = view.names();
        let hosts = names
            .hosts_in_order()
            .iter()
            .filter_map(|host| from(names.host(*host).unwrap_or_default()).map(|from| (*host, from)))
            .collect();
        Self { view, hosts, current: None }
    }
}

impl Iterator for AllHosts {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.current.as_mut().and_then(Iterator::next) {
                return Some(event);
            }
            let (host, from) = self.hosts.pop_front()?;
            self.current = Some(HostEvents::new(self.view.clone(), host, from, u64::MAX));
        }
    }
}
