//! `blob get`: content, or a part of it.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::not_left;
use crate::cli::address;
use crate::cli::args::Shared;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::cli::target::{is_standard_output, refuse_inside, to_file};
use crate::contract::{Address, Code, Error, ErrorKind};
use crate::replay::count;
use crate::store::{BlobState, Blobs};

const EXAMPLES: &str = "\
Examples:
  causelog blob get $ADDRESS | less
  causelog blob get $ADDRESS --output page.html
  causelog blob get $ADDRESS --range 100..      all but the first 100 bytes";

/// Write content to standard output, or into a file.
///
/// The bytes as they were put, also to a terminal and with --json. A file takes its name when it is complete and safe on
/// disk. Exit 1 when the content is not resident, and the message says whether it was shredded, evicted or never here;
/// exit 5 when the master key is not here.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The content's address
    #[arg(value_name = "HASH", value_parser = address::address)]
    address: Address,
    /// Only the bytes from A up to and without B; either may be left out
    #[arg(long, value_name = "A..B", value_parser = span)]
    range: Option<Span>,
    /// The file to write; - for standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A part of content, whose length need not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u64,
    end: Option<u64>,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = open::read_content(shared, output)?;
    let (blobs, damaged) = (store.blobs(), output.damaged());
    let Some(file) = args.output.as_deref().filter(|file| !is_standard_output(file)) else {
        let mut to = Standard { output, failure: None };
        let written = write(&blobs, args, damaged, &mut to);
        if let Some(failure) = to.failure {
            return Err(failure);
        }
        written?;
        return Ok(Exit::Fine);
    };
    refuse_inside(&shared.store_dir(), file)?;
    let bytes =
        to_file(file, |to| write(&blobs, args, damaged, to).map_err(|failure| at_file(failure, file)))?;
    if output.is_json() {
        output.json(&json!({"address": args.address.to_string(), "file": file, "bytes": bytes}))?;
    } else {
        let file = file.to_string_lossy();
        output.summary(format_args!("wrote {} to {}", count(bytes, "byte"), plain(&file)))?;
    }
    Ok(Exit::Fine)
}

/// Writes what was asked for; returns how many bytes that were.
fn write(blobs: &Blobs, args: &Args, damaged: bool, to: &mut dyn Write) -> Result<u64, Failure> {
    let address = &args.address;
    let written = match args.range {
        None => blobs.get_writer(address, to)?,
        Some(span) => match blobs.len_of(address)? {
            Some(bytes) => blobs.get_range_writer(address, span.within(bytes), to)?,
            None => None,
        },
    };
    match written {
        Some(bytes) => Ok(bytes),
        None => Err(not_resident(address, blobs.state(address)?, damaged).into()),
    }
}

/// Says why content cannot be had. While some is damaged, nobody can say of any that it was never here.
fn not_resident(address: &Address, state: BlobState, damaged: bool) -> Error {
    let not_found = |what| Error::new(ErrorKind::NotFound, Code::Store, what);
    match state {
        BlobState::Shredded => {
            Error::new(ErrorKind::Shredded, Code::Store, format!("{address} was shredded"))
        }
        BlobState::Evicted => not_found(format!("{address} was evicted; putting it again restores it")),
        _ if damaged => not_left(address),
        _ => not_found(format!("{address} is absent: it was never put here")),
    }
}

/// A failure to write names the file that it is about.
fn at_file(failure: Failure, file: &Path) -> Failure {
    match failure {
        Failure::Error(error) if error.kind() == ErrorKind::Io => error.at_path(file).into(),
        other => other,
    }
}

/// Standard output as a writer, which tells a reader that left from a disk that is full.
struct Standard<'a> {
    output: &'a mut Output,
    failure: Option<Failure>,
}

impl Write for Standard<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.output.bytes(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::Error::other("the output takes no more"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Span {
    /// Returns the range in content of a length. One that passes the end stays one, for the store to refuse.
    fn within(self, bytes: u64) -> Range<u64> {
        self.start..self.end.unwrap_or(bytes.max(self.start))
    }
}

/// Reads `A..B`, `A..` or `..B`.
fn span(text: &str) -> Result<Span, String> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits)
    };
    let read = || {
        let (start, end) = text.split_once("..")?;
        let start = if start.is_empty() { 0 } else { number(start)? };
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        Some(Span { start, end })
    };
    let span = read().ok_or("a range is A..B, A.. or ..B, in bytes")?;
    match span.end {
        Some(end) if end < span.start => Err("a range ends no earlier than it starts".to_owned()),
        _ => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_start_and_an_end() {
        let of = |start, end| Ok(Span { start, end });
        assert_eq!(span("3..7"), of(3, Some(7)));
        assert_eq!(span("3.."), of(3, None));
        assert_eq!(span("..7"), of(0, Some(7)));
        assert_eq!(span(".."), of(0, None));
        assert_eq!(span("7..7"), of(7, Some(7)));
        for bad in ["", "3", "7..3", "a..b", "-1..3", "+1..3", "1...3", "1..=3", "1..99999999999999999999"] {
            assert!(span(bad).is_err(), "{bad}");
        }
        assert_eq!(Span { start: 3, end: None }.within(10), 3..10);
        assert_eq!(Span { start: 13, end: None }.within(10), 13..13);
    }
}
