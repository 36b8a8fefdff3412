//! The one public error: what went wrong, what the caller can do about it, and where.

use std::error::Error as StdError;
use std::fmt;
use std::path::{Path, PathBuf};

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused a read, a write or a sync; the same call may succeed later.
    Io,
    /// Another process holds the store, or another handle in this one; wait and try again.
    Locked,
    /// The input breaks the contract; the same input fails again.
    Invalid,
    /// The same identity with other content; one of the two writers is wrong.
    Equivocation,
    /// The thing asked for is not held.
    NotFound,
    /// The event was held and evicted: it is not taken again, and what it was part of cannot be read any more.
    Evicted,
    /// The content was shredded and will not come back.
    Shredded,
    /// The content is held, under a key that this process does not have.
    NoKey,
    /// The store's budget for content is used up, and nothing may be dropped for more.
    Full,
    /// Bytes on disk are not what was written; run `verify`, then `repair`.
    Corrupt,
    /// Written by a newer version, or asks for something this build cannot do.
    Unsupported,
    /// The store refuses writes until it is opened again: it was closed, or a sync failed.
    Poisoned,
    /// The store, or this handle, only reads.
    ReadOnly,
}

/// The contract's error codes, as the other implementations spell them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The text is not JSON, or not JSON that every peer reads alike.
    Json,
    /// An envelope member is missing or of the wrong type.
    Shape,
    /// `v` is not a version this process reads.
    Version,
    /// The event's type is not registered.
    Type,
    /// The payload breaks its type's rules.
    Payload,
    /// `seq` does not grow for its host, or `(host, seq)` is taken by another event.
    Seq,
    /// The same id with other content.
    Id,
    /// The causes form a cycle.
    Cycle,
    /// No path leads from the event's version to the current one.
    Upcast,
    /// A reference is malformed.
    Ref,
    /// A size or depth passes a stated limit.
    Limit,
    /// The cursor comes from another history.
    Cursor,
    /// Failures outside the contract: files, locks, damage.
    Store,
}

impl Code {
    /// Returns the code's spelling in reports and vectors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Shape => "SHAPE",
            Self::Version => "VERSION",
            Self::Type => "TYPE",
            Self::Payload => "PAYLOAD",
            Self::Seq => "SEQ",
            Self::Id => "ID",
            Self::Cycle => "CYCLE",
            Self::Upcast => "UPCAST",
            Self::Ref => "REF",
            Self::Limit => "LIMIT",
            Self::Cursor => "CURSOR",
            Self::Store => "STORE",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where on disk or in the input an error was found; every part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: Option<PathBuf>,
    /// The segment's number.
    pub segment: Option<u64>,
    /// The byte offset in the file.
    pub offset: Option<u64>,
    /// The line in the input, from 1.
    pub line: Option<u64>,
    /// The column in the line, in bytes from 1.
    pub column: Option<u64>,
}

struct Inner {
    kind: ErrorKind,
    code: Code,
    message: String,
    place: Place,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// An error of any layer. Cheap to move: one pointer.
///
/// The message is one lower-case line and never holds text of an event's payload.
pub struct Error(Box<Inner>);

/// A result with the crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of a kind and a code.
    #[must_use]
    pub fn new(kind: ErrorKind, code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, code, message: message.into(), place: Place::default(), source: None }))
    }

    /// Creates an error about input that breaks the contract.
    #[must_use]
    pub fn invalid(code: Code, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, code, message)
    }

    /// Creates an error about bytes on disk that are not what was written.
    #[must_use]
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, Code::Store, message)
    }

    /// Creates an error about a failed system call.
    #[must_use]
    pub fn io(message: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, Code::Store, message).with_source(source)
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Names the file, unless one is named already.
    #[must_use]
    pub fn at_path(mut self, path: impl AsRef<Path>) -> Self {
        self.0.place.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Names segment and offset, unless they are named already.
    #[must_use]
    pub fn at_offset(mut self, segment: u64, offset: u64) -> Self {
        self.0.place.segment.get_or_insert(segment);
        self.0.place.offset.get_or_insert(offset);
        self
    }

    /// Names the offset in a file, unless one is named already.
    #[must_use]
    pub fn at_byte(mut self, offset: u64) -> Self {
        self.0.place.offset.get_or_insert(offset);
        self
    }

    /// Names the line of the input, from 1, unless one is named already.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.place.line.get_or_insert(line);
        self
    }

    /// Names the column of the line, in bytes from 1, unless one is named already.
    #[must_use]
    pub fn at_column(mut self, column: u64) -> Self {
        self.0.place.column.get_or_insert(column);
        self
    }

    /// Returns what the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Reports whether one event was refused: the contract, or what is held already, rules it out. The store and every
    /// other event are fine, and the same event will be refused again.
    ///
    /// `false` is about the store, its files or the system: nothing is said about the event.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self.0.kind {
            ErrorKind::Invalid | ErrorKind::Equivocation | ErrorKind::Evicted => self.0.code != Code::Store,
            // Any other thing that this build cannot do is no event.
            ErrorKind::Unsupported => matches!(self.0.code, Code::Version | Code::Upcast),
            _ => false,
        }
    }

    /// Returns the contract's code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the message without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns where it was found.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.0.place
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let place = &self.0.place;
        if let Some(line) = place.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = place.column {
            write!(f, ", column {column}")?;
        }
        if let Some(segment) = place.segment {
            write!(f, ", segment {segment}")?;
        }
        if let Some(offset) = place.offset {
            write!(f, ", offset {offset}")?;
        }
        if let Some(path) = &place.path {
            write!(f, ", in {}", path.display())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("place", &self.0.place)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|e| e as &(dyn StdError + 'static))
    }
}
