//! Records of what is kept and who writes: declarations of hosts, evicted ranges, pins.
//!
//! Invariants:
//! - What is staged together is written, or taken back, together.
//! - Such records stand only in segments whose head says that they may, so that an older build refuses the log and
//!   does not pass over them: where the active segment's head does not, it is rolled first.

use std::sync::Arc;

use super::staging::{Staging, Undo};
use super::standing::Standing;
use super::writer::Writer;
use crate::codec::{Control, FEATURE_KEEPING, Ranges};
use crate::contract::{Code, Error, EventFields, HostPromise, IdRef, Result};

/// What the records of one call changed, to be taken back whole.
#[derive(Debug)]
pub(super) struct Before {
    ranges: Ranges,
    /// Host, chained, closed, declared.
    hosts: Vec<(u32, bool, bool, bool)>,
}

impl Staging {
    /// Stages control records that are written or taken back together; their ticket is [`Staging::tickets`].
    ///
    /// # Errors
    /// When one names a host that is not defined; then the records before it are staged.
    pub fn keep(&mut self, controls: &[Control]) -> Result<()> {
        let declared = controls.iter().filter_map(|control| match control {
            Control::HostDeclared { host, .. } => Some(*host),
            _ => None,
        });
        let flags = |host: u32| {
            let state = self.state.hosts.get(host as usize)?;
            Some((host, state.chained, state.closed, state.declared))
        };
        let before =
            Before { ranges: self.state.ranges.clone(), hosts: declared.filter_map(flags).collect() };
        // Counted as an event is, so that a group that failed takes back exactly what was in it.
        self.note_keeping(Undo::Kept(Box::new(before)));
        for control in controls {
            self.control(control)?;
        }
        self.stand();
        Ok(())
    }

    /// Takes back what [`keep`](Self::keep) changed.
    pub(super) fn take_back(&mut self, before: Before) {
        self.state.ranges = before.ranges;
        for (host, chained, closed, declared) in before.hosts.into_iter().rev() {
            if let Some(state) = self.state.hosts.get_mut(host as usize) {
                (state.chained, state.closed, state.declared) = (chained, closed, declared);
            }
        }
        self.stand();
    }

    fn stand(&mut self) {
        self.standing = Arc::new(Standing::of(&self.state));
    }

    /// Checks an event that is not held against what its host promised, and that its host was declared where any was.
    ///
    /// # Errors
    /// `SEQ`.
    pub(super) fn check_promise(&self, event: &impl EventFields) -> Result<()> {
        let name = event.host();
        let refuse = |what: String| Err(Error::invalid(Code::Seq, what));
        let state = self.names().host_number(name).and_then(|host| self.state.hosts.get(host as usize));
        if self.standing.declared().next().is_some() && !state.is_some_and(|state| state.declared) {
            return refuse(format!("host {name} is not declared; declare it first"));
        }
        let Some(state) = state else { return Ok(()) };
        let id = event.id();
        if state.closed {
            return refuse(format!(
                "event {id} comes behind the end of host {name}, which was declared closed"
            ));
        }
        let last = IdRef::new(&state.last_id);
        if state.chained && !state.last_id.is_empty() && !event.causes().any(|cause| cause == last) {
            return refuse(format!(
                "event {id} of the chained host {name} does not name the host's last event, {last}, as a cause"
            ));
        }
        Ok(())
    }
}

impl Writer {
    /// Writes down what a host promises; a host that is new is defined. Durable when it returns.
    ///
    /// # Errors
    /// `LIMIT` when there are as many hosts as there can be; what the system calls report.
    pub fn declare(&self, host: &str, promise: HostPromise) -> Result<()> {
        self.with_keeping(|staging| {
            let number = staging.define_host(host)?;
            if staging.standing.promise(number) == Some(promise) {
                return Ok(());
            }
            let HostPromise { chained, closed } = promise;
            staging.keep(&[Control::HostDeclared { host: number, chained, closed }])
        })?;
        self.sync()
    }

    /// Runs `stage` in a segment whose head lets such records stand in it.
    pub(super) fn with_keeping<T>(&self, stage: impl Fn(&mut Staging) -> Result<T>) -> Result<T> {
        loop {
            self.group.check()?;
            let mut staging = self.staging.lock();
            let header = staging.segment.header();
            if header.incompatible & FEATURE_KEEPING != 0 {
                let alarm = self.group.alarm();
                let staged = stage(&mut staging);
                drop(alarm);
                return staged;
            }
            let number = header.segment;
            drop(staging);
            self.roll_even_empty(number)?;
        }
    }
}
