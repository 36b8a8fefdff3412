//! Damage, as it is reported to people.

use std::fmt;
use std::path::PathBuf;

use crate::contract::{Error, ErrorKind, Result};

/// One thing that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// The file, where one is at fault.
    pub path: Option<PathBuf>,
    /// The segment.
    pub segment: Option<u64>,
    /// Where in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// Whole events that still check behind the damage, where they were counted.
    pub events_behind: Option<u64>,
}

impl Finding {
    /// Turns an error about damage into a finding; passes any other error on.
    ///
    /// # Errors
    /// Everything that is not damage: a full table of open files is no reason to call a file damaged.
    pub fn of(error: Error) -> Result<Self> {
        if error.kind() != ErrorKind::Corrupt {
            return Err(error);
        }
        let place = error.place().clone();
        Ok(Self {
            path: place.path,
            segment: place.segment,
            offset: place.offset,
            what: error.message().to_owned(),
            events_behind: None,
        })
    }

    /// Says how many events behind the damage still check.
    #[must_use]
    pub fn with_events_behind(mut self, events: u64) -> Self {
        self.events_behind = Some(events);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(segment) = self.segment {
            write!(f, ", segment {segment}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset}")?;
        }
        if let Some(events) = self.events_behind {
            write!(f, ", {events} events behind it still check")?;
        }
        if let Some(path) = &self.path {
            write!(f, ", in {}", path.display())?;
        }
        Ok(())
    }
}
