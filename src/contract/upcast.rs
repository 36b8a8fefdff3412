//! Reading events of older versions. A stored event is never rewritten; its reader lifts it.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::error::{Code, Error, ErrorKind, Result};
use super::event::{Event, VERSION};
use super::json::Json;
use super::validate::not_a_version;

type Step = dyn Fn(Event) -> Result<Event> + Send + Sync;

/// The steps that lift events from one version to the next.
#[derive(Clone)]
pub struct Upcasts {
    steps: BTreeMap<u32, Arc<Step>>,
    current: u32,
}

/// How an event reaches the current version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// It has it.
    Current,
    /// By the steps from this version on.
    From(u32),
}

impl Upcasts {
    /// Creates a set of steps that lead to [`VERSION`]. Version 1 is the first, so none is built in.
    #[must_use]
    pub fn new() -> Self {
        Self::to(VERSION)
    }

    fn to(current: u32) -> Self {
        Self { steps: BTreeMap::new(), current }
    }

    /// Adds the step that lifts events of version `from` to version `from + 1`.
    ///
    /// # Errors
    /// `UPCAST` when no newer version exists or the step is there.
    pub fn register<F>(&mut self, from: u32, step: F) -> Result<()>
    where
        F: Fn(Event) -> Result<Event> + Send + Sync + 'static,
    {
        if from >= self.current || self.steps.contains_key(&from) {
            let message = format!("no upcast from version {from} can be added");
            return Err(Error::invalid(Code::Upcast, message));
        }
        self.steps.insert(from, Arc::new(step));
        Ok(())
    }

    /// Lifts an event to the current version; one that has it comes back unchanged.
    ///
    /// # Errors
    /// `UPCAST` when the event is newer than this process or a step is missing, and what a step says.
    pub fn apply(&self, mut event: Event) -> Result<Event> {
        while event.v != self.current {
            let from = event.v;
            let step = self.steps.get(&from).ok_or_else(|| self.no_path(f64::from(from)))?;
            event = step(event)?;
            if event.v != from + 1 {
                let message = format!("the upcast from version {from} gave version {}", event.v);
                return Err(Error::invalid(Code::Upcast, message));
            }
        }
        Ok(event)
    }

    /// Finds the way for a version as it stands in JSON.
    ///
    /// A `v` that is no number is compared as JavaScript compares it, because that is what decides
    /// between the two codes in every peer.
    pub(crate) fn path(&self, v: Option<&Json<'_>>) -> Result<Path> {
        let v = v.ok_or_else(not_a_version)?;
        let number = as_js_number(v);
        let current = f64::from(self.current);
        if matches!(number.partial_cmp(&current), None | Some(Ordering::Equal)) {
            return if v.as_f64().is_some() { Ok(Path::Current) } else { Err(not_a_version()) };
        }
        let from = self.steps.keys().copied().find(|from| v.as_f64() == Some(f64::from(*from)));
        from.map(Path::From).ok_or_else(|| self.no_path(number))
    }

    fn no_path(&self, v: f64) -> Error {
        if v > f64::from(self.current) {
            let message = "the event was written by a newer version";
            return Error::new(ErrorKind::Unsupported, Code::Upcast, message);
        }
        let message = format!("no upcast leads from the event's version to {}", self.current);
        Error::invalid(Code::Upcast, message)
    }
}

impl Default for Upcasts {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Upcasts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upcasts").field("from", &self.steps.keys()).field("to", &self.current).finish()
    }
}

/// Converts a value to a number as JavaScript does before it compares; NaN where it is none.
fn as_js_number(value: &Json<'_>) -> f64 {
    match value {
        Json::Null => 0.0,
        Json::Bool(flag) => f64::from(u8::from(*flag)),
        Json::Number(number) => *number,
        Json::String(text) => match text.trim() {
            "" => 0.0,
            text => text.parse().unwrap_or(f64::NAN),
        },
        Json::Array(elements) => match elements.as_slice() {
            [] | [Json::Null] => 0.0,
            [Json::Bool(_)] => f64::NAN,
            [element] => as_js_number(element),
            _ => f64::NAN,
        },
        Json::Object(_) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::id::{EventId, HostId, Seq};
    use crate::contract::json::JsonText;

    fn event(v: u32) -> Event {
        let id = EventId::new("e").unwrap();
        let host = HostId::new("h").unwrap();
        Event { v, ..Event::new(id, host, Seq::ZERO, "turn.started", JsonText::parse("{}").unwrap()) }
    }

    fn lift(to: u32, kind: &'static str) -> impl Fn(Event) -> Result<Event> + Send + Sync {
        move |event| Ok(Event { v: to, kind: format!("{}.{kind}", event.kind).into(), ..event })
    }

    #[test]
    fn steps_form_a_chain() {
        let mut upcasts = Upcasts::to(3);
        upcasts.register(1, lift(2, "a")).unwrap();
        upcasts.register(2, lift(3, "b")).unwrap();
        assert_eq!(&*upcasts.apply(event(1)).unwrap().kind, "turn.started.a.b");
        assert_eq!(&*upcasts.apply(event(2)).unwrap().kind, "turn.started.b");
        assert_eq!(upcasts.apply(event(3)).unwrap(), event(3));
        let newer = upcasts.apply(event(4)).unwrap_err();
        assert_eq!((newer.code(), newer.kind()), (Code::Upcast, ErrorKind::Unsupported));
        let older = upcasts.apply(event(0)).unwrap_err();
        assert_eq!((older.code(), older.kind()), (Code::Upcast, ErrorKind::Invalid));
        assert_eq!(upcasts.path(Some(&Json::Number(1.0))).unwrap(), Path::From(1));
    }

    #[test]
    fn a_step_must_lead_to_the_next_version() {
        let mut upcasts = Upcasts::to(3);
        upcasts.register(1, lift(1, "a")).unwrap();
        assert_eq!(upcasts.apply(event(1)).unwrap_err().code(), Code::Upcast);
        for from in [1, 3, 4] {
            assert_eq!(upcasts.register(from, lift(9, "x")).unwrap_err().code(), Code::Upcast, "{from}");
        }
    }
}
