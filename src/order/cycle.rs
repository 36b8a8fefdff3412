//! Why a set of events has no order.

use std::fmt;

use crate::contract::{Code, Error, EventId};

/// The causes form a cycle: a writer or the log is wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Cycle<T = EventId> {
    /// The events that cannot be placed: those on a cycle and everything downstream of one, in the
    /// order in which they were given.
    pub stuck: Vec<T>,
}

/// Events or causes beyond what 32-bit numbers can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Why [`linearize`](super::linearize()) has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderError {
    /// The causes form a cycle.
    Cycle(Cycle),
    /// More than 2^32 - 1 events, or that many held causes in all.
    TooMany(TooMany),
}

/// Most identifiers that a message spells out.
const NAMED_MAX: usize = 4;

impl<T: fmt::Display> fmt::Display for Cycle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the causes form a cycle that holds up {} events", self.stuck.len())?;
        for (place, id) in self.stuck.iter().take(NAMED_MAX).enumerate() {
            write!(f, "{} {id}", if place == 0 { ":" } else { "," })?;
        }
        if self.stuck.len() > NAMED_MAX {
            f.write_str(", ...")?;
        }
        Ok(())
    }
}

impl<T: fmt::Debug> fmt::Debug for Cycle<T> {
    /// As short as the message: a million identifiers help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.stuck.get(..NAMED_MAX).unwrap_or(&self.stuck);
        f.debug_struct("Cycle").field("events", &self.stuck.len()).field("stuck", &named).finish()
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more events or causes than 32-bit numbers can name")
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycle(cycle) => cycle.fmt(f),
            Self::TooMany(too_many) => too_many.fmt(f),
        }
    }
}

impl<T: fmt::Debug + fmt::Display> std::error::Error for Cycle<T> {}
impl std::error::Error for TooMany {}
impl std::error::Error for OrderError {}

impl From<Cycle> for OrderError {
    fn from(cycle: Cycle) -> Self {
        Self::Cycle(cycle)
    }
}

impl From<TooMany> for OrderError {
    fn from(too_many: TooMany) -> Self {
        Self::TooMany(too_many)
    }
}

impl<T: fmt::Display> From<Cycle<T>> for Error {
    fn from(cycle: Cycle<T>) -> Self {
        Self::invalid(Code::Cycle, cycle.to_string())
    }
}

impl From<TooMany> for Error {
    fn from(too_many: TooMany) -> Self {
        Self::invalid(Code::Limit, too_many.to_string())
    }
}

impl From<OrderError> for Error {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Cycle(cycle) => cycle.into(),
            OrderError::TooMany(too_many) => too_many.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_a_few() {
        let error = Error::from(Cycle { stuck: vec![3u32, 1, 4, 1, 5, 9] });
        assert_eq!(error.code(), Code::Cycle);
        assert_eq!(error.message(), "the causes form a cycle that holds up 6 events: 3, 1, 4, 1, ...");
    }
}
