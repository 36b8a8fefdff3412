//! Files that verbs read: a path, or `-` for standard input.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::progress::Bar;
use crate::contract::{Error, Result};

const BUFFER_BYTES: usize = 1 << 18;

/// An input and its length, where that is known.
pub(crate) struct Input {
    reader: Box<dyn Read>,
    /// Length in bytes; `None` for a pipe.
    pub(crate) bytes: Option<u64>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// Kind `Io` when the file cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { reader: Box::new(io::stdin().lock()), bytes: None });
        }
        let cannot = |error| Error::io("the file cannot be opened", error).at_path(path);
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self { reader: Box::new(file), bytes })
    }

    /// Reads text that is in memory already.
    pub(crate) fn text(text: &'static str) -> Self {
        Self { reader: Box::new(text.as_bytes()), bytes: u64::try_from(text.len()).ok() }
    }

    /// Buffers the input.
    pub(crate) fn buffered(self) -> BufReader<Box<dyn Read>> {
        BufReader::with_capacity(BUFFER_BYTES, self.reader)
    }

    /// Buffers the input, and shows on a bar how far it was read.
    pub(crate) fn watched(self, bar: &Bar) -> BufReader<Watched<'_>> {
        BufReader::with_capacity(BUFFER_BYTES, Watched { reader: self.reader, bar })
    }

    /// Reads the whole input, which must not be longer than `bytes_max`; `None` if it is.
    ///
    /// # Errors
    /// Kind `Io` when it cannot be read.
    pub(crate) fn read_to_end(self, bytes_max: usize) -> Result<Option<Vec<u8>>> {
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        self.reader
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::io("the input cannot be read", error))?;
        Ok((bytes.len() <= bytes_max).then_some(bytes))
    }
}

/// A reader that moves a bar.
pub(crate) struct Watched<'a> {
    reader: Box<dyn Read>,
    bar: &'a Bar,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.reader.read(buffer)?;
        self.bar.advance(u64::try_from(bytes).unwrap_or(0));
        Ok(bytes)
    }
}
