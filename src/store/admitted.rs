//! An event at the store's edge: checked, and in the one form in which events are kept.
//!
//! Invariants, whatever the caller's [`EventFields`] gave:
//! - Payload and unknown members are strict JSON without white space between their tokens.
//! - The unknown members are one object with at least one member, or none.

use std::borrow::Cow;

use super::options::Options;
use crate::codec::write_event;
use crate::contract::{Code, Error, EventFields, IdRef, Result, Seq, compact, limits, validate};

/// An event that may be offered to the log. Copies nothing where nothing has to change.
pub(super) struct Admitted<'a, E> {
    event: &'a E,
    payload: Cow<'a, str>,
    extra: Option<Cow<'a, str>>,
}

impl<'a, E: EventFields> Admitted<'a, E> {
    /// Checks an event.
    ///
    /// # Errors
    /// As [`validate`]; `LIMIT` when its line would be too long.
    pub(super) fn check(event: &'a E, options: &Options) -> Result<Self> {
        validate(event, &options.types, options.unknown_types)?;
        let extra = event.extra().map(compact).filter(|extra| extra != "{}");
        let admitted = Self { event, payload: compact(event.payload()), extra };
        check_line_bytes(&admitted)?;
        Ok(admitted)
    }
}

impl<E: EventFields> EventFields for Admitted<'_, E> {
    fn v(&self) -> u32 {
        self.event.v()
    }
    fn id(&self) -> IdRef<'_> {
        self.event.id()
    }
    fn host(&self) -> &str {
        self.event.host()
    }
    fn seq(&self) -> Seq {
        self.event.seq()
    }
    fn at(&self) -> f64 {
        self.event.at()
    }
    fn kind(&self) -> &str {
        self.event.kind()
    }
    fn payload(&self) -> &str {
        &self.payload
    }
    fn extra(&self) -> Option<&str> {
        self.extra.as_deref()
    }
    fn causes_len(&self) -> usize {
        self.event.causes_len()
    }
    fn cause(&self, index: usize) -> Option<IdRef<'_>> {
        self.event.cause(index)
    }
}

/// Refuses an event whose line in an export would be longer than an import reads.
fn check_line_bytes(event: &impl EventFields) -> Result<()> {
    // Payload and unknown members are written as they are; everything else is far below this.
    let long = event.payload().len() + event.extra().map_or(0, str::len);
    let rest = (event.causes_len() + 8) * (limits::ID_BYTES_MAX * 6);
    if long.saturating_add(rest) <= limits::LINE_BYTES_MAX {
        return Ok(());
    }
    let mut line = Vec::new();
    write_event(event, &mut line);
    if line.len() > limits::LINE_BYTES_MAX {
        let message =
            format!("an event of {} bytes is over the limit of {}", line.len(), limits::LINE_BYTES_MAX);
        return Err(Error::invalid(Code::Limit, message));
    }
    Ok(())
}
