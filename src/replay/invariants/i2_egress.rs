//! I2: every invocation that declares egress has a `privacy.egress` that names it as a cause.
//!
//! A cause stands before what it causes, so the egress comes later. Kept: the id of each invocation that
//! still waits for one.
//!
//! Invariants:
//! - An invocation waits in `waiting`, or in `older` once there were too many; all of `older` stand below `older_below`.
//! - What an egress names below it and is not in `waiting` is noted in `named`. At the end it is taken from `older`.

use std::collections::BTreeMap;

use crate::contract::{EventId, Result};
use crate::replay::state::{First, In, Out, Pile, Scratch, Wire};

use super::{Bounds, Findings, Invariant, Step, id_bytes, read_id};

#[derive(Debug)]
pub(super) struct DeclaredEgress {
    bounds: Bounds,
    /// Position of the invocation to its id.
    waiting: BTreeMap<u64, EventId>,
    /// Further ones, by position, with their ids.
    older: Pile,
    older_below: u64,
    /// Positions that an egress named.
    named: Pile,
}

impl DeclaredEgress {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            waiting: BTreeMap::new(),
            older: Pile::new(bounds.state_max),
            older_below: 0,
            named: Pile::new(bounds.state_max),
        }
    }

    pub(super) fn invoked(&mut self, step: &Step<'_>, scratch: &Scratch) -> Result<()> {
        let [egress] = step.payload.pick(["egress"]);
        if !egress.is_some_and(|egress| egress.is_truthy() && egress.as_str().as_deref() != Some("none")) {
            return Ok(());
        }
        if self.waiting.len() >= self.bounds.state_max {
            for (position, id) in std::mem::take(&mut self.waiting) {
                id_bytes(id.as_ref(), |id| self.older.push(scratch, position.into(), 0, id))?;
            }
            self.older.spill(scratch)?;
            self.older_below = step.position;
        }
        self.waiting.insert(step.position, step.event.id().to_owned());
        Ok(())
    }

    pub(super) fn left(&mut self, step: &Step<'_>, scratch: &Scratch) -> Result<()> {
        for cause in step.causes.iter().flatten().copied() {
            if self.waiting.remove(&cause).is_none() && cause < self.older_below {
                self.named.push(scratch, cause.into(), 0, &[])?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, found: &mut Findings) -> Result<()> {
        let Self { bounds, waiting, mut older, mut named, .. } = self;
        let mut lost = First::new(bounds.listed_max);
        let (mut invocations, mut settled) = (older.merged()?, named.merged()?);
        let mut named = settled.next()?;
        while let Some(invocation) = invocations.next()? {
            while named.as_ref().is_some_and(|named| named.key < invocation.key) {
                named = settled.next()?;
            }
            if named.as_ref().is_none_or(|named| named.key != invocation.key) {
                let position = u64::try_from(invocation.key).unwrap_or(u64::MAX);
                lost.add(position, || Ok(read_id(&invocation.value)))?;
            }
        }
        for (position, id) in waiting {
            lost.add(position, || Ok(id))?;
        }
        found.waited(Invariant::I2, lost);
        Ok(())
    }

    pub(super) fn write(&mut self, out: &mut Out<'_>) -> Result<()> {
        u64::try_from(self.waiting.len()).unwrap_or(u64::MAX).write(out)?;
        for (position, id) in &self.waiting {
            position.write(out)?;
            id.write(out)?;
        }
        self.older.write(out)?;
        self.older_below.write(out)?;
        self.named.write(out)
    }

    pub(super) fn read(bounds: Bounds, scratch: &Scratch, from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            bounds,
            waiting: Vec::read(from)?.into_iter().collect(),
            older: Pile::read(bounds.state_max, scratch, from)?,
            older_below: u64::read(from)?,
            named: Pile::read(bounds.state_max, scratch, from)?,
        })
    }
}
