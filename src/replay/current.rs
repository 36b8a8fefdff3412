//! What an application's sources hold now.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use crate::contract::{Ref, RefKind, Result};

use super::resolve::Resolver;

/// The sources of an application, each with the hash that it has now.
///
/// This is how drift shows: a note that was edited after a run has another hash than the run was shown. A source that
/// is not in here has no answer, so references to it are unavailable. Which part of a source a reference means does not
/// count, as its hash is of all of it.
///
/// ```
/// use causelog::{CurrentHashes, RefKind};
///
/// let mut current = CurrentHashes::from_iter([(RefKind::Note, "n1", "sha256:02")]);
/// current.insert(RefKind::Page, "https://example.org", "blake3:03");
/// assert_eq!(current.len(), 2);
/// ```
#[derive(Clone, Default)]
pub struct CurrentHashes {
    /// By kind, then by id, so that a look-up borrows.
    sources: HashMap<RefKind, HashMap<Box<str>, Box<str>>>,
}

impl CurrentHashes {
    /// Starts without a source.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes what a source has now, as `algorithm:hex`, and returns what it was said to have before.
    pub fn insert(
        &mut self,
        kind: RefKind,
        id: impl Into<Box<str>>,
        hash: impl Into<Box<str>>,
    ) -> Option<Box<str>> {
        self.sources.entry(kind).or_default().insert(id.into(), hash.into())
    }

    /// Returns what a source has now.
    #[must_use]
    pub fn get(&self, kind: RefKind, id: &str) -> Option<&str> {
        self.sources.get(&kind)?.get(id).map(|hash| &**hash)
    }

    /// Returns the number of sources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sources.values().map(HashMap::len).sum()
    }

    /// Reports whether there is no source.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<I: Into<Box<str>>, H: Into<Box<str>>> Extend<(RefKind, I, H)> for CurrentHashes {
    fn extend<S: IntoIterator<Item = (RefKind, I, H)>>(&mut self, sources: S) {
        for (kind, id, hash) in sources {
            self.insert(kind, id, hash);
        }
    }
}

/// Of a source that comes twice, the last hash counts.
impl<I: Into<Box<str>>, H: Into<Box<str>>> FromIterator<(RefKind, I, H)> for CurrentHashes {
    fn from_iter<S: IntoIterator<Item = (RefKind, I, H)>>(sources: S) -> Self {
        let mut current = Self::new();
        current.extend(sources);
        current
    }
}

impl Resolver for CurrentHashes {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        Ok(self.get(reference.kind, &reference.id).map(Cow::Borrowed))
    }

    /// A digest of all entries. Cost: sorts them.
    fn mark(&self) -> Result<Option<[u8; 32]>> {
        let mut entries: Vec<(&str, &str, &str)> = Vec::with_capacity(self.len());
        for (kind, sources) in &self.sources {
            entries.extend(sources.iter().map(|(id, hash)| (kind.as_str(), &**id, &**hash)));
        }
        entries.sort_unstable();
        let mut hasher = blake3::Hasher::new_derive_key("causelog 2026-12 mark of current hashes");
        for text in entries.iter().flat_map(|(kind, id, hash)| [kind, id, hash]) {
            hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        Ok(Some(hasher.finalize().into()))
    }
}

impl fmt::Debug for CurrentHashes {
    /// Prints the number alone: ids can be what users typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentHashes").field("sources", &self.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Resolution;

    #[test]
    fn a_source_is_its_kind_and_its_id() {
        let mut current = CurrentHashes::from_iter([
            (RefKind::Note, "a", "h:1"),
            (RefKind::Page, "a", "h:2"),
            (RefKind::Note, "b:c", "h:3"),
        ]);
        let resolution = |current: &CurrentHashes, kind, id: &str, hash: &str| {
            let reference = Ref { kind, id: id.into(), hash: hash.into(), range: None, stored: true };
            reference.resolve(current.held_hash(&reference).unwrap().as_deref())
        };
        assert_eq!(resolution(&current, RefKind::Note, "a", "h:1"), Resolution::Exact);
        assert_eq!(resolution(&current, RefKind::Page, "a", "h:1"), Resolution::Drifted);
        assert_eq!(resolution(&current, RefKind::Chat, "a", "h:1"), Resolution::Unavailable);
        assert_eq!(resolution(&current, RefKind::Note, "b", "h:3"), Resolution::Unavailable);
        assert_eq!(current.insert(RefKind::Note, "a", "h:4").as_deref(), Some("h:1"));
        assert_eq!(resolution(&current, RefKind::Note, "a", "h:1"), Resolution::Drifted);
        assert_eq!((current.len(), current.is_empty(), CurrentHashes::new().is_empty()), (3, false, true));
        assert_eq!(format!("{current:?}"), "CurrentHashes { sources: 3 }");
    }
}
