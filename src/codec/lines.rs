//! Splits input into lines, in bounded memory.
//!
//! Invariants:
//! - A line ends at LF alone, so the separators that JSON strings may hold split nothing.
//! - At most [`LINE_BYTES_MAX`] bytes of a line are held, whatever its length.

use std::fmt;
use std::io::{self, BufRead, Read};

use crate::contract::limits::LINE_BYTES_MAX;
use crate::contract::{Code, Error, Result};

/// UTF-8's byte order mark.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The lines of an input that hold more than white space.
///
/// CRLF ends a line as LF does, a byte order mark at the very start is dropped, and the last line needs
/// no end.
pub struct Lines<R> {
    input: R,
    number: u64,
    buffer: Vec<u8>,
    bytes_max: usize,
}

/// Without the text: it can be what users typed.
impl<R> fmt::Debug for Lines<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lines(line {})", self.number)
    }
}

/// A line and its number.
pub struct Line<'a> {
    /// The number in the input, from 1, blank lines counted.
    pub number: u64,
    /// The line without its end, or a `LIMIT` error when it is longer than [`LINE_BYTES_MAX`]; its bytes
    /// were skipped.
    pub text: Result<&'a [u8]>,
}

/// Without the text: it can be what users typed.
impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Ok(text) => write!(f, "Line({}, {} bytes)", self.number, text.len()),
            Err(error) => write!(f, "Line({}, {error})", self.number),
        }
    }
}

impl<R: BufRead> Lines<R> {
    /// Splits an input.
    pub fn new(input: R) -> Self {
        Self { input, number: 0, buffer: Vec::new(), bytes_max: LINE_BYTES_MAX }
    }

    /// Borrows the input: what it has buffered is read next.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Returns the next line that is not blank, or `None` at the end.
    ///
    /// # Errors
    /// Kind `Io` when the input cannot be read.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            self.number += 1;
            let Some(whole) = self
                .fill()
                .map_err(|error| Error::io("the input cannot be read", error).at_line(self.number))?
            else {
                return Ok(None);
            };
            if whole && !is_blank(&self.buffer) {
                return Ok(Some(Line { number: self.number, text: Ok(&self.buffer) }));
            }
            if !whole {
                let message = format!("a line is over the limit of {} bytes", self.bytes_max);
                let error = Error::invalid(Code::Limit, message).at_line(self.number);
                return Ok(Some(Line { number: self.number, text: Err(error) }));
            }
        }
    }

    /// Reads one line into the buffer, without its end. `Some(false)` is a line too long, skipped;
    /// `None` is the end of the input.
    fn fill(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let end_bytes = b"\r\n".len();
        let bom_bytes = if self.number == 1 { BOM.len() } else { 0 };
        let most = u64::try_from(self.bytes_max + end_bytes + bom_bytes).unwrap_or(u64::MAX);
        if self.input.by_ref().take(most).read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        let ended = self.buffer.pop_if(|byte| *byte == b'\n').is_some();
        if bom_bytes > 0 && self.buffer.starts_with(BOM) {
            self.buffer.drain(..BOM.len());
        }
        self.buffer.pop_if(|byte| *byte == b'\r');
        if self.buffer.len() <= self.bytes_max {
            return Ok(Some(true));
        }
        if !ended {
            self.input.skip_until(b'\n')?;
        }
        Ok(Some(false))
    }
}

/// Reports whether a line holds nothing but the white space of JSON.
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number and text of each line; `None` is a line too long.
    fn split(input: &[u8], bytes_max: usize, capacity: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines { bytes_max, ..Lines::new(io::BufReader::with_capacity(capacity, input)) };
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let text = match line.text {
                Ok(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                Err(error) => {
                    assert_eq!((error.code(), error.place().line), (Code::Limit, Some(line.number)));
                    None
                }
            };
            found.push((line.number, text));
        }
        found
    }

    fn ok(number: u64, text: &str) -> (u64, Option<String>) {
        (number, Some(text.to_owned()))
    }

    #[test]
    fn lines_end_at_lf_alone() {
        for capacity in [1, 2, 3, 64] {
            let input = "\u{feff}{}\r\n\n  \t\r\n[\r1]\n\"\u{2028}\u{85}\"\n\u{feff}2".as_bytes();
            let expected = vec![ok(1, "{}"), ok(4, "[\r1]"), ok(5, "\"\u{2028}\u{85}\""), ok(6, "\u{feff}2")];
            assert_eq!(split(input, 64, capacity), expected);
        }
        assert_eq!(split(b"", 64, 8), vec![]);
        assert_eq!(split(&[b'\n'; 100], 64, 8), vec![]);
        assert_eq!(split(b"1\n", 64, 8), split(b"1", 64, 8));
        assert_eq!(split("\u{feff}".as_bytes(), 64, 8), vec![]);
    }

    #[test]
    fn a_line_too_long_is_skipped_and_named() {
        for capacity in [1, 3, 64] {
            let input = b"12345\n123456\r\n1234567\n\n12345678901234567890\r\nab\n";
            let expected = vec![ok(1, "12345"), ok(2, "123456"), (3, None), (5, None), ok(6, "ab")];
            assert_eq!(split(input, 6, capacity), expected, "{capacity}");
            assert_eq!(split(b"1234567\n1", 6, capacity), vec![(1, None), ok(2, "1")]);
            assert_eq!(split(b"\xEF\xBB\xBF123456\n", 6, capacity), vec![ok(1, "123456")]);
            assert_eq!(split(b"123456789", 6, capacity), vec![(1, None)]);
        }
    }

    #[test]
    fn the_text_of_a_line_is_not_shown() {
        let mut lines = Lines::new(&b"Zq7-text"[..]);
        let line = format!("{:?}", lines.next_line().unwrap().unwrap());
        for shown in [line, format!("{lines:?}")] {
            assert!(!shown.contains("Zq7") && !shown.contains("90, 113"), "{shown}");
        }
    }

    #[test]
    fn a_great_line_takes_bounded_memory() {
        let great = io::repeat(b'x').take(60 << 20);
        let mut lines = Lines::new(io::BufReader::new(great.chain(&b"\n1\n"[..])));
        assert!(lines.next_line().unwrap().unwrap().text.is_err());
        assert!(lines.buffer.capacity() <= 2 * LINE_BYTES_MAX + 64);
        assert_eq!(lines.next_line().unwrap().unwrap().number, 2);
        assert!(lines.next_line().unwrap().is_none());
    }
}
