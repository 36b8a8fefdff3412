//! Reading what still checks of a damaged segment.
//!
//! Invariants:
//! - Every event frame that checks is taken, once, unless its names are lost or it breaks its host's rising `seq`.
//! - Events are numbered anew in the order in which they arrived; their records are not changed.
//! - A `seq` that is known to have been given stays behind the host's high mark, also when its event is lost: it
//!   is never given again, and what names it never comes to name another event.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::naming::Naming;
use crate::codec::{
    ArchivedEventRecord, Checkpoint, Control, ControlState, Form, Frame, FrameKind, FrameSeed, GroupMark,
    check_control, check_event,
};
use crate::contract::Result;
use crate::io::{OpenMode, Vfs};
use crate::log::error::LogError;
use crate::log::resync::each_frame;
use crate::log::seal::SealEntry;

/// A file that frames are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The file.
    pub(super) path: PathBuf,
    /// Whether it is a segment's active or its sealed form.
    pub(super) form: Form,
    /// Where frames may start.
    pub(super) from: u64,
}

/// An event that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Saved {
    /// Index of the file among the sources.
    pub(super) source: usize,
    /// Where its frame starts.
    pub(super) offset: u64,
    /// Bytes of its frame.
    pub(super) bytes: usize,
    /// Number of its host.
    pub(super) host: u32,
    /// Number of its type.
    pub(super) kind: u32,
    /// Its `seq`.
    pub(super) seq: u64,
    /// Its arrival order in the segment as it was.
    pub(super) ordinal: u32,
}

/// What was read of a segment.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    /// Events in the order in which they arrived.
    pub(super) events: Vec<Saved>,
    /// Events that the segment held, as far as frames and marks tell.
    pub(super) told: u64,
    /// Events that check and cannot be kept: the name of their host or type is lost.
    pub(super) nameless: u64,
    controls: Vec<(u64, Control)>,
    naming: Naming,
    /// The highest `seq` of each host that an event bears or names as a cause, and the id there.
    given: BTreeMap<u32, (u64, String)>,
}

impl Salvage {
    /// Starts with the names that are known.
    pub(super) fn new(naming: Naming) -> Self {
        Self { naming, ..Self::default() }
    }

    /// Reads all frames of a file, which is the source of that index.
    ///
    /// # Errors
    /// System calls.
    pub(super) fn read(
        &mut self,
        vfs: &dyn Vfs,
        (index, source): (usize, &Source),
        seed: FrameSeed,
        segment: u64,
    ) -> Result<()> {
        let place = |e: LogError| e.at(&source.path, segment, 0);
        let file =
            vfs.open(&source.path, OpenMode::Read).map_err(|e| place(LogError::io("open a segment")(e)))?;
        let size = file.size().map_err(|e| place(LogError::io("read a segment's size")(e)))?;
        let in_order = source.form == Form::Active;
        each_frame(&*file, seed, source.from, size, |offset, frame| {
            if in_order {
                self.naming.pass(offset, frame.bytes);
            }
            self.take(index, offset, frame);
        })
        .map_err(place)?;
        Ok(())
    }

    fn take(&mut self, source: usize, offset: u64, frame: &Frame<'_>) {
        match frame.kind {
            FrameKind::Event => {
                let Ok(record) = check_event(frame.body) else { return };
                self.told = self.told.max(u64::from(frame.ordinal) + 1);
                let (host, kind, seq) =
                    (record.host.to_native(), record.kind.to_native(), record.seq().get());
                self.naming.event(host, kind);
                let (bytes, ordinal) = (frame.bytes, frame.ordinal);
                self.events.push(Saved { source, offset, bytes, host, kind, seq, ordinal });
                self.note_given(record);
            }
            FrameKind::Control => {
                if let Ok(control) = check_control(frame.body) {
                    self.naming.control(&control);
                    self.controls.push((offset, control));
                }
            }
            FrameKind::Group | FrameKind::Watermark => {
                if let Some(mark) = GroupMark::from_body(frame.body) {
                    self.told = self.told.max(mark.events);
                }
            }
        }
    }

    fn note_given(&mut self, record: &ArchivedEventRecord<'_>) {
        let own = Some((record.host.to_native(), record.seq(), record.id.get()));
        let causes = record.causes.iter().filter_map(|cause| {
            let (host, seq) = cause.resolved()?;
            Some((host, seq, cause.id.get()))
        });
        for (host, seq, id) in causes.chain(own) {
            let given = self.given.entry(host).or_default();
            if given.1.is_empty() || seq.get() > given.0 {
                *given = (seq.get(), id.to_string());
            }
        }
    }

    /// Puts the events in order, each once, and drops those that do not fit behind the state `before`.
    pub(super) fn settle(&mut self, before: &ControlState) {
        self.events.sort_by_key(|event| event.ordinal);
        let mut highs: HashMap<u32, u64> = (0u32..)
            .zip(&before.hosts)
            .filter_map(|(number, host)| host.high.map(|high| (number, high)))
            .collect();
        let (naming, nameless) = (&self.naming, &mut self.nameless);
        self.events.retain(|event| {
            if !naming.knows(event.host, event.kind) {
                *nameless += 1;
                return false;
            }
            // Where both forms of a segment hold an event, the second one does not rise.
            let rises = highs.get(&event.host).is_none_or(|high| event.seq > *high);
            if rises {
                highs.insert(event.host, event.seq);
            }
            rises
        });
    }

    /// Returns the state behind the segment where nothing else tells it: from the state before it or a checkpoint,
    /// what can be read behind that, and what is known to be lost.
    pub(super) fn state(&self, before: &ControlState, checkpoint: Option<&Checkpoint>) -> ControlState {
        let from = checkpoint.map_or(0, |checkpoint| checkpoint.end);
        let mut state = checkpoint.map_or(before, |checkpoint| &checkpoint.state).clone();
        self.naming.extend(&mut state);
        for (_, control) in self.controls.iter().filter(|(offset, _)| *offset >= from) {
            if !matches!(control, Control::HostDefined { .. } | Control::TypeDefined { .. }) {
                // One that names a host whose definition is lost says nothing that could be kept.
                let _ = state.apply(control);
            }
        }
        for event in self.events.iter().filter(|event| event.offset >= from) {
            // The ids follow below; what does not count was left out when the events were put in order.
            let _ = state.count_event(event.host, event.seq, "");
        }
        for (host, (seq, id)) in &self.given {
            let host = usize::try_from(*host).ok().and_then(|host| state.hosts.get_mut(host));
            let host = host.filter(|host| !host.name.is_empty() && host.high.is_none_or(|high| *seq >= high));
            if let Some(host) = host {
                host.high = Some(*seq);
                host.last_id.clone_from(id);
            }
        }
        state.arrivals = state.arrivals.max(before.arrivals.saturating_add(self.told));
        // The record that says so may be lost. To search for a cycle where there is none does no harm.
        state.late_causes = true;
        state
    }

    /// Lists the events as they are to be sealed: numbered anew, each to be found by its index.
    pub(super) fn entries(events: &[Saved]) -> Vec<SealEntry> {
        (0u32..)
            .zip(events)
            .map(|(ordinal, event)| SealEntry {
                host: event.host,
                seq: event.seq,
                ordinal,
                offset: u64::from(ordinal),
            })
            .collect()
    }
}
