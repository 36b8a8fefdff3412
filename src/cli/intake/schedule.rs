//! In which order the events of a sorted file go in.
//!
//! Hosts are lanes; within a lane events go in by rising seq, because a store takes no other. A lane
//! goes on until its next event names one of the file that has not gone in yet; then it waits for that
//! one. Where all lanes wait, the waits are circular: the first lane's event goes in before its cause.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::{Range, RangeInclusive};

use super::arranged::{Arranged, Lane};
use super::links::Link;
use crate::cli::sort::{Record, Records};
use crate::contract::Result;

/// Memory of all lanes' windows together.
const WINDOWS_BYTES: usize = 8 << 20;
/// Least and greatest window of a lane.
const WINDOW_BYTES: RangeInclusive<usize> = (1 << 12)..=(1 << 17);

/// Returns the window of each of so many lanes, and whether a lane must give it back when another one
/// takes over.
pub(super) fn window_bytes(lanes: usize) -> (usize, bool) {
    let share = WINDOWS_BYTES / lanes.max(1);
    (share.clamp(*WINDOW_BYTES.start(), *WINDOW_BYTES.end()), share < *WINDOW_BYTES.start())
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes in.
    New,
    /// It is held already, or an earlier line is the same event.
    Duplicate,
    /// It was reported as refused.
    Refused,
}

/// An event whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(super) lane: usize,
    pub(super) rank: u64,
    pub(super) verdict: Verdict,
    /// A cause of it that is in the file comes later, or a held event has it as a cause.
    pub(super) early: bool,
}

/// A lane on its way.
#[derive(Debug)]
struct Progress {
    next: u64,
    ranks: Range<u64>,
    links: Records,
    /// The link that was read beyond the current event's.
    ahead: Option<Record>,
    /// What becomes of the event `next`, once its links are read.
    head: Option<Verdict>,
    /// Causes of that event in other lanes that may not have gone in yet.
    open: Vec<u64>,
    /// A cause of that event comes later in its own lane, or a held event names it.
    is_early: bool,
    /// Lanes that wait for an event of this one: its rank and the lane.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
}

/// Yields the events of a file in the order in which they go in.
#[derive(Debug)]
pub(crate) struct Schedule {
    lanes: Vec<Progress>,
    /// Rank of each lane's first event; finds the lane of a rank.
    firsts: Vec<u64>,
    /// Lanes that can go on, as far as is known.
    ready: Vec<usize>,
    /// Lanes that wait.
    blocked: BTreeSet<usize>,
    release_windows: bool,
}

impl Schedule {
    /// Starts with the first event of every host.
    pub(crate) fn new(arranged: &Arranged) -> Self {
        let (window, release_windows) = window_bytes(arranged.lanes.len());
        let start = |lane: &Lane| Progress {
            next: lane.ranks.start,
            ranks: lane.ranks.clone(),
            links: arranged.links.part(lane.links.start, lane.links.end, window),
            ahead: None,
            head: None,
            open: Vec::new(),
            is_early: false,
            waiting: BinaryHeap::new(),
        };
        Self {
            lanes: arranged.lanes.iter().map(start).collect(),
            firsts: arranged.lanes.iter().map(|lane| lane.ranks.start).collect(),
            ready: (0..arranged.lanes.len()).rev().collect(),
            blocked: BTreeSet::new(),
            release_windows,
        }
    }

    /// Returns the next event, or `None` when all went in.
    ///
    /// # Errors
    /// Kind `Io` when a temporary file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Turn>> {
        while let Some(number) = self.ready.last().copied() {
            let Some(lane) = self.lanes.get_mut(number) else { break };
            if lane.next >= lane.ranks.end {
                lane.links.release();
                self.ready.pop();
                continue;
            }
            lane.read_head()?;
            match self.open_cause(number) {
                None => return Ok(self.take(number, false)),
                Some(cause) => {
                    self.ready.pop();
                    self.wait(number, cause);
                }
            }
        }
        // Every lane that is not done waits, so the waits are circular.
        let Some(number) = self.blocked.pop_first() else { return Ok(None) };
        self.ready.push(number);
        Ok(self.take(number, true))
    }

    /// Returns the memory of all windows.
    #[cfg(test)]
    pub(super) fn windows_bytes(&self) -> usize {
        self.lanes.iter().map(|lane| lane.links.window_bytes()).sum()
    }

    /// Returns a cause of a lane's next event that has not gone in, with its lane. Causes found to
    /// have gone in are not looked at again.
    fn open_cause(&mut self, number: usize) -> Option<(usize, u64)> {
        while let Some(cause) = self.lanes.get(number)?.open.last().copied() {
            let other = self.firsts.partition_point(|first| *first <= cause).checked_sub(1)?;
            if self.lanes.get(other).is_some_and(|lane| cause >= lane.next) {
                return Some((other, cause));
            }
            self.lanes.get_mut(number)?.open.pop();
        }
        None
    }

    fn wait(&mut self, number: usize, (other, cause): (usize, u64)) {
        self.blocked.insert(number);
        if let Some(other) = self.lanes.get_mut(other) {
            other.waiting.push(Reverse((cause, number)));
        }
        if self.release_windows
            && let Some(lane) = self.lanes.get_mut(number)
        {
            lane.links.release();
        }
    }

    /// Takes a lane's next event and wakes who waited for it. The lane stays the one to go on with, so
    /// that a host's events go in in long runs.
    fn take(&mut self, number: usize, forced: bool) -> Option<Turn> {
        let lane = self.lanes.get_mut(number)?;
        let rank = lane.next;
        let verdict = lane.head.take().unwrap_or(Verdict::New);
        let early = forced || lane.is_early;
        lane.next += 1;
        let mut woken = Vec::new();
        while lane.waiting.peek().is_some_and(|Reverse((cause, _))| *cause <= rank) {
            woken.extend(lane.waiting.pop().map(|Reverse((_, waiting))| waiting));
        }
        for waiting in woken {
            // One that was forced meanwhile no longer waits.
            if self.blocked.remove(&waiting) {
                // Below the lane that goes on now.
                self.ready.insert(self.ready.len().saturating_sub(1), waiting);
            }
        }
        Some(Turn { lane: number, rank, verdict, early })
    }
}

impl Progress {
    /// Reads verdict and causes of the next event.
    fn read_head(&mut self) -> Result<()> {
        if self.head.is_some() {
            return Ok(());
        }
        let mut verdict = Verdict::New;
        self.open.clear();
        self.is_early = false;
        loop {
            let link = match self.ahead.take() {
                Some(link) => Some(link),
                None => self.links.header()?,
            };
            let Some(link) = link else { break };
            let (rank, what) = Link::read(link);
            if rank > self.next {
                self.ahead = Some(link);
                break;
            }
            match what {
                Link::Duplicate | Link::Repeat(_) => verdict = Verdict::Duplicate,
                Link::Refused => verdict = Verdict::Refused,
                // A cause that its own lane brings later can only come too late: nobody waits for it.
                Link::Cause(cause) if self.ranks.contains(&cause) => self.is_early |= cause >= self.next,
                Link::Cause(cause) => self.open.push(cause),
                Link::Awaited(_) => self.is_early = true,
            }
        }
        if verdict != Verdict::New {
            self.open.clear();
            self.is_early = false;
        }
        self.head = Some(verdict);
        Ok(())
    }
}
