//! How a command ends: exit codes, and what went wrong.

use std::io;

use crate::contract::{Error, ErrorKind};

/// The process's exit code; scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done, and the answer is yes.
    Fine = 0,
    /// The answer is no: a replay failed, an event was refused, the thing asked for is absent.
    No = 1,
    /// The command line is wrong, or names a store that does not exist.
    Usage = 2,
    /// A torn tail was found (`verify`) or cut (`repair`). What is missing, if anything, was named.
    Torn = 3,
    /// Bytes on disk are not what was written, or a file is not what its name says.
    Damage = 4,
    /// The operating system refused, the master key is not here, or the store cannot be read by this build.
    Io = 5,
    /// Another process holds the store.
    Locked = 6,
}

impl Exit {
    /// Ends a verb whose answer is known once its last words are out: a reader that left changes no answer.
    pub(crate) fn after(self, said: Result<(), Failure>) -> Outcome {
        match said {
            Ok(()) | Err(Failure::Closed) => Ok(self),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the code that an error of a kind ends the process with.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid
            | ErrorKind::Equivocation
            | ErrorKind::NotFound
            | ErrorKind::Evicted
            | ErrorKind::Shredded
            | ErrorKind::Full => Self::No,
            // A store reads only while it waits for a repair.
            ErrorKind::Corrupt | ErrorKind::ReadOnly => Self::Damage,
            ErrorKind::Locked => Self::Locked,
            ErrorKind::Io | ErrorKind::Unsupported | ErrorKind::Poisoned | ErrorKind::NoKey => Self::Io,
        }
    }
}

/// Returns the spelling of a kind in `--json` errors.
pub(crate) fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io => "io",
        ErrorKind::Locked => "locked",
        ErrorKind::Invalid => "invalid",
        ErrorKind::Equivocation => "equivocation",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Evicted => "evicted",
        ErrorKind::Shredded => "shredded",
        ErrorKind::NoKey => "no_key",
        ErrorKind::Full => "full",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Poisoned => "poisoned",
        ErrorKind::ReadOnly => "read_only",
    }
}

/// Why a command stops before its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that cannot be meant.
    Usage(String),
    /// An error to report.
    Error(Error),
    /// Nobody reads the output any more. Not an error: `causelog log | head` ends like this.
    Closed,
}

/// What a command returns.
pub(crate) type Outcome = Result<Exit, Failure>;

impl Failure {
    /// Tells a closed pipe from other failures to write the output.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Error(Error::io("the output cannot be written", error))
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error() {
        assert!(matches!(Failure::output(io::ErrorKind::BrokenPipe.into()), Failure::Closed));
        let Failure::Error(error) = Failure::output(io::ErrorKind::StorageFull.into()) else {
            panic!("a full disk is an error");
        };
        assert_eq!(Exit::of(error.kind()), Exit::Io);
        assert_eq!(Exit::No.after(Err(Failure::Closed)).unwrap(), Exit::No);
        assert!(Exit::No.after(Err(Failure::Error(error))).is_err());
    }
}
