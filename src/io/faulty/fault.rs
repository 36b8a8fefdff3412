//! What can be asked to fail, and how.

use std::io;

/// The calls a fault can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Call {
    /// A file opened that exists.
    Open,
    /// A file created.
    Create,
    /// A positioned read.
    Read,
    /// A positioned write.
    Write,
    /// A file synced.
    Sync,
    /// A file cut or grown.
    SetSize,
    /// A file mapped.
    Map,
    /// A file renamed.
    Rename,
    /// A file removed.
    Remove,
    /// A directory made.
    CreateDir,
    /// A directory synced.
    SyncDir,
    /// A lock tried.
    Lock,
    /// A size, a list of names, or the existence of a name asked for.
    Look,
}

impl Call {
    /// Tells whether the call changes files, names, or what is durable of them.
    #[must_use]
    pub const fn changes(self) -> bool {
        match self {
            Self::Create
            | Self::Write
            | Self::Sync
            | Self::SetSize
            | Self::Rename
            | Self::Remove
            | Self::CreateDir
            | Self::SyncDir => true,
            Self::Open | Self::Read | Self::Map | Self::Lock | Self::Look => false,
        }
    }
}

/// A set of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Every call.
    Any,
    /// The calls for which [`Call::changes`] holds.
    Changing,
    /// One kind alone.
    Only(Call),
}

impl Calls {
    pub(super) fn contains(self, call: Call) -> bool {
        match self {
            Self::Any => true,
            Self::Changing => call.changes(),
            Self::Only(only) => only == call,
        }
    }
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// With an error of this kind and no number.
    Kind(io::ErrorKind),
    /// With this error number of the operating system.
    Os(i32),
}

impl Failure {
    /// The medium failed (`EIO`).
    pub const MEDIUM: Self = if cfg!(unix) { Self::Os(5) } else { Self::Kind(io::ErrorKind::Other) };
    /// The medium is full (`ENOSPC`).
    pub const NO_SPACE: Self = if cfg!(unix) { Self::Os(28) } else { Self::Kind(io::ErrorKind::StorageFull) };
    /// A signal came in between (`EINTR`). The real file system takes such calls up again by itself.
    pub const INTERRUPTED: Self = Self::Kind(io::ErrorKind::Interrupted);

    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Kind(kind) => kind.into(),
            Self::Os(number) => io::Error::from_raw_os_error(number),
        }
    }
}

/// One fault: which call fails, how, and whether for good.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub(super) calls: Calls,
    pub(super) nth: u64,
    pub(super) failure: Failure,
    pub(super) for_good: bool,
    pub(super) bytes: u64,
    pub(super) after_effect: bool,
}

impl Fault {
    /// Fails the `nth` call of a set, from 1, counted from when the fault is armed. Zero is taken for 1.
    #[must_use]
    pub const fn nth(calls: Calls, nth: u64, failure: Failure) -> Self {
        Self { calls, nth, failure, for_good: false, bytes: 0, after_effect: false }
    }

    /// Fails all later calls of the set as well. With [`Calls::Any`], that is a power cut as the
    /// process sees it.
    #[must_use]
    pub const fn for_good(mut self) -> Self {
        self.for_good = true;
        self
    }

    /// Lets a failing write write that many bytes before it stops; all of them, if it has fewer.
    #[must_use]
    pub const fn after_bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Lets a failing call do its work before it reports the failure.
    #[must_use]
    pub const fn after_effect(mut self) -> Self {
        self.after_effect = true;
        self
    }
}
