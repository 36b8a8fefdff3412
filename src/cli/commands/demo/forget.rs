//! Forgetting two pieces of the run's content, and looking whether it was real.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use parking_lot::Mutex;
use serde::Serialize;

use crate::cli::sample::contents;
use crate::contract::{Address, Error, Ref, RefKind, Result};
use crate::replay::Resolver;
use crate::store::Blobs;

/// A piece of content that the run names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    kind: RefKind,
    id: Box<str>,
    hash: Box<str>,
    references: u64,
}

/// Passes references on, and keeps which pieces the run names: in the order of their first mention, each with how often.
pub(super) struct Naming<'r> {
    resolver: &'r dyn Resolver,
    named: Mutex<Vec<Named>>,
}

impl<'r> Naming<'r> {
    pub(super) fn new(resolver: &'r dyn Resolver) -> Self {
        Self { resolver, named: Mutex::default() }
    }

    /// Picks what is to be forgotten: the first note that a turn was shown, and the first answer that is here.
    pub(super) fn pick(self) -> Vec<Named> {
        let named = self.named.into_inner();
        let is_ours = |one: &&Named| contents().any(|(address, _)| *address == *one.hash);
        let note = named.iter().filter(is_ours).find(|one| one.kind == RefKind::Note);
        let answer = named.iter().filter(is_ours).find(|one| one.id.starts_with("answer"));
        note.into_iter().chain(answer).cloned().collect()
    }
}

impl Resolver for Naming<'_> {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        let mut named = self.named.lock();
        match named.iter_mut().find(|one| *one.hash == *reference.hash) {
            Some(one) => one.references += 1,
            None => named.push(Named {
                kind: reference.kind,
                id: reference.id.clone(),
                hash: reference.hash.clone(),
                references: 1,
            }),
        }
        drop(named);
        self.resolver.held_hash(reference)
    }
}

/// What a piece of content was before it was forgotten, and what is left of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forgotten {
    /// `KIND:ID`, as the run names it.
    pub(super) name: String,
    pub(super) address: String,
    pub(super) bytes: usize,
    /// How often the run names it.
    pub(super) references: u64,
    pub(super) state_before: &'static str,
    pub(super) readable_before: bool,
    pub(super) state: &'static str,
    pub(super) readable: bool,
    /// How many files of the store hold its text.
    pub(super) files_with_its_text: u64,
}

/// Shreds a piece of content and looks for it.
pub(super) fn forget(blobs: &Blobs, dir: &Path, named: Named) -> Result<Forgotten> {
    let address: Address = named.hash.parse()?;
    let (state_before, readable_before) = (blobs.state(&address)?, blobs.get(&address)?.is_some());
    blobs.shred(&address)?;
    let text = contents().find(|(held, _)| *held == &*named.hash).map_or(&b""[..], |(_, bytes)| bytes);
    Ok(Forgotten {
        name: format!("{}:{}", named.kind, named.id),
        address: address.to_string(),
        bytes: text.len(),
        references: named.references,
        state_before: state_before.as_str(),
        readable_before,
        state: blobs.state(&address)?.as_str(),
        readable: blobs.get(&address)?.is_some(),
        files_with_its_text: files_with(dir, text)?,
    })
}

/// Counts the files below a directory in which a text stands.
fn files_with(dir: &Path, text: &[u8]) -> Result<u64> {
    let cannot = |error| Error::io("the store's files cannot be searched", error).at_path(dir);
    let mut count = 0;
    for entry in fs::read_dir(dir).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let path = entry.path();
        if entry.file_type().map_err(cannot)?.is_dir() {
            count += files_with(&path, text)?;
        } else {
            let bytes =
                fs::read(&path).map_err(|e| Error::io("a file cannot be searched", e).at_path(&path))?;
            count += u64::from(holds(&bytes, text));
        }
    }
    Ok(count)
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    let Some(first) = text.first() else { return false };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(text) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_wherever_it_stands() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("deep")).unwrap();
        for (name, bytes) in [("none", &b"an\nan"[..]), ("end", b"bananananas"), ("deep/start", b"nananas.")]
        {
            fs::write(temp.path().join(name), bytes).unwrap();
        }
        assert_eq!(files_with(temp.path(), b"nananas").unwrap(), 2);
        assert_eq!(files_with(temp.path(), b"").unwrap(), 0);
    }
}
