//! Which names the numbers in records stand for, where some of the records that define them are lost.
//!
//! Invariants:
//! - A name is given to a number only where it is certain: known from a state, counted without a gap from a known
//!   place, or defined directly before the event that is the first to bear the number.
//! - A number that was given a name keeps it.

use crate::codec::{Checkpoint, Control, ControlState};

/// Names of hosts and types by number.
#[derive(Debug, Default)]
pub(super) struct Naming {
    hosts: Table,
    types: Table,
    /// The next frame stands here if none is lost before it.
    expected: Option<u64>,
    /// Here as many hosts and types are defined.
    anchor: Option<(u64, usize, usize)>,
}

/// One table of names.
#[derive(Debug, Default)]
struct Table {
    names: Vec<Option<String>>,
    /// The number that the next definition stands for, where that is known.
    next: Option<usize>,
    /// Definitions whose number the next event tells.
    waiting: Option<String>,
}

impl Table {
    fn know<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for (number, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
            self.give(number, name);
        }
    }

    fn give(&mut self, number: usize, name: &str) {
        if self.names.len() <= number {
            self.names.resize(number + 1, None);
        }
        if let Some(slot @ None) = self.names.get_mut(number) {
            *slot = Some(name.to_owned());
        }
    }

    fn define(&mut self, name: &str) {
        match self.next {
            Some(next) => {
                self.give(next, name);
                self.next = Some(next + 1);
            }
            None => self.waiting = Some(name.to_owned()),
        }
    }

    /// An event bears this number: a definition directly before it was made for it.
    fn bear(&mut self, number: u32) {
        let Some(name) = self.waiting.take() else { return };
        let Ok(number) = usize::try_from(number) else { return };
        if self.get(number).is_none() {
            self.give(number, &name);
            self.next = Some(number + 1);
        }
    }

    fn lose_count(&mut self) {
        self.next = None;
        self.waiting = None;
    }

    fn get(&self, number: usize) -> Option<&str> {
        self.names.get(number)?.as_deref()
    }
}

impl Naming {
    /// Takes the names that a state knows.
    pub(super) fn know(&mut self, state: &ControlState) {
        self.hosts.know(state.hosts.iter().map(|host| host.name.as_str()));
        self.types.know(state.types.iter().map(String::as_str));
    }

    /// Starts on the frames of a segment in its active form: the first stands at `start`, where the state is `before`.
    pub(super) fn start(&mut self, start: u64, before: &ControlState, checkpoint: Option<&Checkpoint>) {
        self.know(before);
        self.expected = Some(start);
        self.hosts.next = Some(before.hosts.len());
        self.types.next = Some(before.types.len());
        if let Some(checkpoint) = checkpoint {
            self.know(&checkpoint.state);
            let state = &checkpoint.state;
            self.anchor = Some((checkpoint.end, state.hosts.len(), state.types.len()));
        }
    }

    /// Passes the start of a frame of `bytes` bytes.
    pub(super) fn pass(&mut self, offset: u64, bytes: usize) {
        if self.expected != Some(offset) {
            self.hosts.lose_count();
            self.types.lose_count();
        }
        if let Some((_, hosts, types)) = self.anchor.filter(|(end, _, _)| *end == offset) {
            self.hosts.next = Some(hosts);
            self.types.next = Some(types);
        }
        self.expected = Some(offset.saturating_add(bytes as u64));
    }

    /// Takes a definition; anything else is none of its business.
    pub(super) fn control(&mut self, control: &Control) {
        match control {
            Control::HostDefined { name } => self.hosts.define(name),
            Control::TypeDefined { name } => self.types.define(name),
            _ => {}
        }
    }

    /// Takes an event's numbers.
    pub(super) fn event(&mut self, host: u32, kind: u32) {
        self.hosts.bear(host);
        self.types.bear(kind);
    }

    /// Reports whether a record with these numbers can be read.
    pub(super) fn knows(&self, host: u32, kind: u32) -> bool {
        let known = |table: &Table, number: u32| {
            usize::try_from(number).is_ok_and(|number| table.get(number).is_some())
        };
        known(&self.hosts, host) && known(&self.types, kind)
    }

    /// Extends a state by the names that it lacks. Numbers whose name is lost get an empty one.
    pub(super) fn extend(&self, state: &mut ControlState) {
        for name in self.hosts.names.iter().skip(state.hosts.len()) {
            let name = name.clone().unwrap_or_default();
            state.hosts.push(crate::codec::HostState { name, ..Default::default() });
        }
        let types = self.types.names.iter().skip(state.types.len());
        state.types.extend(types.map(|name| name.clone().unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Control {
        Control::HostDefined { name: name.to_owned() }
    }

    fn hosts(naming: &Naming) -> Vec<String> {
        let mut state = ControlState::default();
        naming.extend(&mut state);
        state.hosts.into_iter().map(|host| host.name).collect()
    }

    /// Frames of eight bytes each: definitions and events, some of them lost.
    fn naming(frames: &[Option<Result<Control, u32>>], checkpoint: Option<&Checkpoint>) -> Naming {
        let mut naming = Naming::default();
        naming.start(64, &ControlState::default(), checkpoint);
        for (at, frame) in frames.iter().enumerate() {
            let Some(frame) = frame else { continue };
            naming.pass(64 + 8 * at as u64, 8);
            match frame {
                Ok(control) => naming.control(control),
                Err(number) => naming.event(*number, 0),
            }
        }
        naming
    }

    #[test]
    fn names_are_counted_where_nothing_is_lost() {
        let naming = naming(&[Some(Ok(host("a"))), Some(Err(0)), Some(Ok(host("b"))), Some(Err(1))], None);
        assert_eq!(hosts(&naming), ["a", "b"]);
    }

    #[test]
    fn behind_a_gap_the_event_tells_the_number() {
        let frames =
            [Some(Ok(host("a"))), Some(Err(0)), None, Some(Ok(host("d"))), Some(Err(3)), Some(Ok(host("e")))];
        let naming = naming(&frames, None);
        assert_eq!(hosts(&naming), ["a", "", "", "d", "e"]);
        assert!(!naming.knows(1, 0));
    }

    #[test]
    fn a_name_whose_event_is_lost_is_given_to_none() {
        let frames = [None, Some(Ok(host("b"))), None, Some(Err(5))];
        assert_eq!(hosts(&naming(&frames, None)), Vec::<String>::new());
        // The event bears a number that is known: the definition was not made for it.
        let frames =
            [Some(Ok(host("a"))), Some(Err(0)), None, Some(Ok(host("c"))), Some(Err(0)), Some(Err(1))];
        assert_eq!(hosts(&naming(&frames, None)), ["a"]);
    }

    #[test]
    fn a_checkpoint_knows_names_and_where_to_count_on() {
        let mut state = ControlState::default();
        for name in ["a", "b"] {
            state.apply(&host(name)).unwrap();
        }
        let (store, entries, dangling) = ([0; 16], Vec::new(), Vec::new());
        let checkpoint = Checkpoint { store, segment: 1, end: 64 + 16, entries, dangling, state };
        let frames = [None, None, Some(Ok(host("c"))), Some(Err(2))];
        let naming = naming(&frames, Some(&checkpoint));
        assert_eq!(hosts(&naming), ["a", "b", "c"]);
    }
}
