//! Group commit: many callers, one write and one sync.
//!
//! Leader and followers: whoever finds no leader becomes it, takes everything that is staged and makes it
//! durable; the others wait for their ticket. There is no hand-over thread. (The scheme is that of group
//! commit in write-ahead logs since `DeWitt` et al., 1984; ours has no timer in the common path.)
//!
//! Invariants:
//! - Tickets count staged events from 1. `done` only rises; a ticket at or below it is acknowledged, unless it
//!   lies in a range that failed.
//! - One leader at a time; only the leader writes, syncs, rolls or closes.
//! - Poisoned is for good: no ticket is acknowledged afterwards.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::contract::{Code, Error, ErrorKind, Result};

/// An error that many callers receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: ErrorKind,
    message: String,
}

impl Failure {
    /// Keeps what the callers need of an error.
    pub fn of(error: &Error) -> Self {
        let cause = std::error::Error::source(error).map(|e| format!(": {e}")).unwrap_or_default();
        Self { kind: error.kind(), message: format!("{error}{cause}") }
    }

    /// Returns an error of its own for one caller.
    pub fn to_error(&self) -> Error {
        Error::new(self.kind, Code::Store, self.message.clone())
    }
}

#[derive(Debug, Default)]
struct State {
    leader: bool,
    done: u64,
    /// Ranges that failed, rising and apart; neighbours share the text where it is the same.
    failed: Vec<(u64, u64, Arc<Failure>)>,
    poisoned: Option<Failure>,
}

impl State {
    fn failure_of(&self, ticket: u64) -> Option<&Failure> {
        let at = self.failed.partition_point(|(_, last, _)| *last < ticket);
        self.failed.get(at).filter(|(first, _, _)| *first <= ticket).map(|(_, _, failure)| &**failure)
    }

    /// Poisons where a panic is under way: it stands for a bug, and what is in memory may not be what is in the file.
    fn poison_in_panic(&mut self) {
        if std::thread::panicking() {
            self.poisoned.get_or_insert(Failure {
                kind: ErrorKind::Poisoned,
                message: "a thread panicked while it appended; open the store again".to_owned(),
            });
        }
    }
}

/// Who waits for what, and who writes.
#[derive(Debug, Default)]
pub struct Group {
    state: Mutex<State>,
    changed: Condvar,
}

/// The right to write; given back when it is dropped.
#[derive(Debug)]
pub struct Leader<'a>(&'a Group);

/// Poisons when it is dropped by a panic.
#[derive(Debug)]
pub struct Alarm<'a>(&'a Group);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state.lock().poison_in_panic();
            self.0.changed.notify_all();
        }
    }
}

impl Group {
    /// Waits until this caller is the leader. For rolling, closing and syncing on a timer.
    ///
    /// # Errors
    /// `Poisoned`.
    pub fn lead(&self) -> Result<Leader<'_>> {
        let mut state = self.state.lock();
        loop {
            if let Some(failure) = &state.poisoned {
                return Err(failure.to_error());
            }
            if !state.leader {
                state.leader = true;
                return Ok(Leader(self));
            }
            self.changed.wait(&mut state);
        }
    }

    /// Waits until a ticket is acknowledged. Returns the right to write instead when nobody holds it, and the
    /// caller then writes and asks again.
    ///
    /// # Errors
    /// What went wrong with the ticket's group; `Poisoned`.
    pub fn wait(&self, ticket: u64) -> Result<Option<Leader<'_>>> {
        let mut state = self.state.lock();
        loop {
            if let Some(failure) = state.failure_of(ticket) {
                return Err(failure.to_error());
            }
            if state.done >= ticket {
                return Ok(None);
            }
            if let Some(failure) = &state.poisoned {
                return Err(failure.to_error());
            }
            if !state.leader {
                state.leader = true;
                return Ok(Some(Leader(self)));
            }
            self.changed.wait(&mut state);
        }
    }

    /// Returns the error of a poisoned log.
    ///
    /// # Errors
    /// `Poisoned`.
    pub fn check(&self) -> Result<()> {
        self.state.lock().poisoned.as_ref().map_or(Ok(()), |failure| Err(failure.to_error()))
    }

    /// Returns the error that a ticket failed with, if it failed.
    ///
    /// # Errors
    /// What went wrong with the ticket's group.
    pub fn check_ticket(&self, ticket: u64) -> Result<()> {
        self.state.lock().failure_of(ticket).map_or(Ok(()), |failure| Err(failure.to_error()))
    }

    /// Returns a guard for work that must not stop half-way: a panic while it lives poisons.
    pub fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }

    /// Refuses every ticket that is not done yet and every later one.
    pub fn poison(&self, failure: Failure) {
        self.state.lock().poisoned.get_or_insert(failure);
        self.changed.notify_all();
    }
}

impl Leader<'_> {
    /// Acknowledges every ticket up to this one.
    pub fn done(&self, ticket: u64) {
        let mut state = self.0.state.lock();
        state.done = state.done.max(ticket);
    }

    /// Fails every ticket that is not acknowledged, up to `last`; later ones are not touched.
    pub fn fail_rest(&self, last: u64, failure: Failure) {
        let mut state = self.0.state.lock();
        let first = state.done + 1;
        if last < first {
            return;
        }
        match state.failed.last_mut() {
            // A disk that stays full fails one group after the other: one entry serves them all.
            Some((_, end, held)) if **held == failure && *end + 1 == first => *end = last,
            newest => {
                let held =
                    newest.filter(|(_, _, held)| **held == failure).map(|(_, _, held)| Arc::clone(held));
                state.failed.push((first, last, held.unwrap_or_else(|| Arc::new(failure))));
            }
        }
        state.done = state.done.max(last);
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.leader = false;
        state.poison_in_panic();
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_ticket_is_written_before_it_is_acknowledged() {
        let (group, staged, written) = (Group::default(), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let ticket = staged.fetch_add(1, Ordering::SeqCst) + 1;
                        while let Some(leader) = group.wait(ticket).unwrap() {
                            let upto = staged.load(Ordering::SeqCst);
                            written.fetch_max(upto, Ordering::SeqCst);
                            leader.done(upto);
                        }
                        assert!(written.load(Ordering::SeqCst) >= ticket);
                    }
                });
            }
        });
        assert_eq!(written.load(Ordering::SeqCst), 1600);
    }

    #[test]
    fn a_failed_range_fails_its_tickets_alone_and_poison_all_later_ones() {
        let group = Group::default();
        let failure = Failure::of(&Error::io("cannot write", std::io::Error::other("no space")));
        let leader = group.lead().unwrap();
        leader.done(3);
        leader.fail_rest(6, failure.clone());
        leader.done(8);
        drop(leader);
        assert!(group.wait(3).unwrap().is_none());
        assert_eq!(group.wait(4).unwrap_err().message(), "cannot write: no space");
        assert!(group.wait(8).unwrap().is_none());
        group.poison(failure);
        assert!(group.wait(8).unwrap().is_none(), "acknowledged before");
        assert!(group.wait(9).is_err());
        assert!(group.lead().is_err());
    }

    #[test]
    fn each_failed_group_has_its_own_error_and_equal_ones_share_it() {
        let group = Group::default();
        let failure =
            |what: &str| Failure::of(&Error::io("cannot write", std::io::Error::other(what.to_owned())));
        let leader = group.lead().unwrap();
        for (last, what) in [(2, "no space"), (4, "no space"), (6, "broken")] {
            leader.fail_rest(last, failure(what));
        }
        leader.done(7);
        leader.fail_rest(8, failure("broken"));
        drop(leader);
        let told = |ticket| group.check_ticket(ticket).err().map(|error| error.message().to_owned());
        for ticket in 1..=8 {
            let what = match ticket {
                1..=4 => Some("no space"),
                7 => None,
                _ => Some("broken"),
            };
            assert_eq!(told(ticket), what.map(|what| format!("cannot write: {what}")), "ticket {ticket}");
        }
        let state = group.state.lock();
        let ranges: Vec<_> = state.failed.iter().map(|(first, last, _)| (*first, *last)).collect();
        assert_eq!(ranges, [(1, 4), (5, 6), (8, 8)]);
        assert!(Arc::ptr_eq(&state.failed[1].2, &state.failed[2].2));
    }

    #[test]
    fn a_panicking_leader_poisons() {
        let group = Group::default();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _leader = group.lead().unwrap();
            panic!("on purpose");
        }));
        assert!(outcome.is_err());
        assert_eq!(group.check().unwrap_err().kind(), ErrorKind::Poisoned);
    }
}
