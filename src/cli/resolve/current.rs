//! What sources hold now, from a file: one JSON object, `{"KIND:ID": "HASH"}`.
//!
//! Read as strictly as events are: no repeated name, no unknown kind, nothing but hashes. An error says where, by line
//! and column of the file, and shows nothing of it but the name of a kind that there is not.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::cli::input::Input;
use crate::contract::limits::LINE_BYTES_MAX;
use crate::contract::{Code, Error, Faults, Json, Key, RefKind, Result, Strict, error_at};
use crate::replay::CurrentHashes;

/// Most characters of a wrong kind that a message shows.
const SHOWN_CHARS: usize = 40;

/// Reads a map of at most 16 MiB and 262,144 sources.
///
/// # Errors
/// Kind `Invalid` with code `JSON`, `REF` or `LIMIT` and the place when the file is no such map, `Io` when it cannot be
/// read.
pub(super) fn read(path: &Path) -> Result<CurrentHashes> {
    let bytes = Input::open(path)?.read_to_end(LINE_BYTES_MAX).map_err(|error| error.at_path(path))?;
    let too_long = || Error::invalid(Code::Limit, format!("a map is at most {LINE_BYTES_MAX} bytes long"));
    bytes.ok_or_else(too_long).and_then(|bytes| parse(&bytes)).map_err(|error| error.at_path(path))
}

fn parse(bytes: &[u8]) -> Result<CurrentHashes> {
    let text = str::from_utf8(bytes)
        .map_err(|error| at(Error::invalid(Code::Json, "not utf-8"), place(bytes, error.valid_up_to())))?;
    // Of another value the parser would say what it is, in words that show it.
    let start = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    if let Some(start) = start.filter(|start| bytes.get(*start) != Some(&b'{')) {
        return Err(at(Error::invalid(Code::Json, "not a map: it begins with no `{`"), place(bytes, start)));
    }
    let (faults, fault) = (Faults::default(), RefCell::default());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The depth is bounded by the strict reader, which counts the object around as a level.
    deserializer.disable_recursion_limit();
    let read = Sources { faults: &faults, fault: &fault }.deserialize(&mut deserializer);
    read.and_then(|current| deserializer.end().map(|()| current)).map_err(|error| {
        let said = fault.take().unwrap_or_else(|| {
            let said = error_at(text, &error, &faults);
            Error::invalid(said.code(), said.message())
        });
        at(said, (error.line(), error.column()))
    })
}

/// Returns line and column of a byte, from 1.
fn place(bytes: &[u8], offset: usize) -> (usize, usize) {
    let mut lines = bytes.get(..offset).unwrap_or_default().rsplit(|byte| *byte == b'\n');
    let column = lines.next().map_or(0, <[u8]>::len) + 1;
    (lines.count() + 1, column)
}

fn at(error: Error, (line, column): (usize, usize)) -> Error {
    let number = |place: usize| u64::try_from(place.max(1)).unwrap_or(u64::MAX);
    error.at_line(number(line)).at_column(number(column))
}

/// Reads the object.
struct Sources<'f> {
    faults: &'f Faults,
    /// What is wrong with an entry, which the parser's errors, that hold text alone, cannot carry.
    fault: &'f RefCell<Option<Error>>,
}

impl Sources<'_> {
    fn refuse<E: serde::de::Error>(&self, message: String) -> E {
        *self.fault.borrow_mut() = Some(Error::invalid(Code::Ref, message));
        E::custom("refused")
    }

    /// Takes a name apart.
    fn source<'n, E: serde::de::Error>(&self, name: &'n str) -> Result<(RefKind, &'n str), E> {
        let Some((word, id)) = name.split_once(':').filter(|(_, id)| !id.is_empty()) else {
            return Err(self.refuse("a source is named by its kind, a colon and its id".to_owned()));
        };
        let kind = RefKind::from_word(word).ok_or_else(|| {
            let shown: String = word.chars().take(SHOWN_CHARS).collect();
            let known: Vec<&str> = RefKind::ALL.iter().map(|kind| kind.as_str()).collect();
            self.refuse(format!("no kind of source is called {shown:?}, only {}", known.join(", ")))
        })?;
        Ok((kind, id))
    }
}

impl<'de> DeserializeSeed<'de> for Sources<'_> {
    type Value = CurrentHashes;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<CurrentHashes, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sources<'_> {
    type Value = CurrentHashes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<CurrentHashes, A::Error> {
        let mut current = CurrentHashes::new();
        while let Some(name) = entries.next_key_seed(Key)? {
            let (kind, id) = self.source(&name)?;
            if current.get(kind, id).is_some() {
                return Err(self.faults.duplicate());
            }
            let value = entries.next_value_seed(Strict { level: 1, faults: self.faults })?;
            match value {
                Json::String(hash) if !hash.is_empty() => current.insert(kind, id, hash),
                _ => {
                    let message = "what a source holds is a hash, a string that is not empty";
                    return Err(self.refuse(message.to_owned()));
                }
            };
        }
        Ok(current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read() {
        let current = parse(
            b"\n { \"note:n1\": \"sha256:01\",\r\n\t\"page:https://a.b/c\":\"h\", \"n\\u006fte:\\u006e2\":\"\\u0068\" } ",
        )
        .unwrap();
        assert_eq!(current.len(), 3);
        assert_eq!(current.get(RefKind::Note, "n1"), Some("sha256:01"));
        assert_eq!(current.get(RefKind::Page, "https://a.b/c"), Some("h"));
        assert_eq!(current.get(RefKind::Note, "n2"), Some("h"));
        assert!(parse(b"{}").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_map_is_refused_with_its_place() {
        let long = format!(r#"{{"{}:a":"h"}}"#, "secret".repeat(1000));
        let deep = format!(r#"{{"note:a":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
        for (text, code, place) in [
            ("", Code::Json, (1, 1)),
            ("\n  [1]", Code::Json, (2, 3)),
            ("\"secret\"", Code::Json, (1, 1)),
            ("{\"note:a\":\"h\"", Code::Json, (1, 13)),
            ("{\"note:a\":\"h\"}\n}", Code::Json, (2, 1)),
            ("{\n\"note:a\":\"h\",\n\"note:a\":\"h\"}", Code::Json, (3, 8)),
            ("{\"note:a\":\"h\",\"note:\\u0061\":\"g\"}", Code::Json, (1, 27)),
            ("{\n  \"secret\":\"h\"}", Code::Ref, (2, 10)),
            ("{\"note:\":\"h\"}", Code::Ref, (1, 8)),
            ("{\"Note:a\":\"h\"}", Code::Ref, (1, 9)),
            (&long, Code::Ref, (1, 6005)),
            ("{\"note:a\":\"\"}", Code::Ref, (1, 12)),
            ("{\"note:a\":null}", Code::Ref, (1, 14)),
            ("{\"note:a\":{\"secret\":1}}", Code::Ref, (1, 22)),
            ("{\"note:a\":{\"secret\":1,\"secret\":2}}", Code::Json, (1, 30)),
            (&deep, Code::Limit, (1, 138)),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            let found = (error.place().line.unwrap(), error.place().column.unwrap());
            assert_eq!((error.code(), found.0), (code, place.0), "{text}: {error}");
            // The end of what is wrong, or the byte behind it, which the parser may have taken already.
            assert!(found.1.abs_diff(place.1) <= 1, "{text}: {error}");
            assert!(!error.message().contains("secret") || text.len() > 1000, "{error}");
            assert!(error.message().len() < 200, "{error}");
        }
        assert!(parse(long.as_bytes()).unwrap_err().message().contains("\"secretsecret"));
        let error = parse(b"{\"note:a\":\n\"\xff\"}").unwrap_err();
        assert_eq!((error.place().line, error.place().column), (Some(2), Some(2)));
    }
}
