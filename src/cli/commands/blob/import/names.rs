//! The files of a directory that are named by addresses.

use std::fs;
use std::path::Path;

use crate::cli::address;
use crate::contract::{Address, Error, Result};

/// Most names of skipped files that are told.
const TOLD_MAX: usize = 3;

/// A file that is named by an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    /// Behind the algorithm stands a dash or a colon.
    sign: char,
    pub(super) address: Address,
    /// How long it is.
    pub(super) bytes: u64,
}

/// What is in a directory.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of their names.
    pub(super) files: Vec<Named>,
    /// Files with other names, and what is no file.
    pub(super) others: u64,
    /// Directories, whatever their names.
    pub(super) dirs: u64,
    /// Names of the first few that are skipped.
    pub(super) told: Vec<String>,
}

impl Named {
    /// Returns the file's name.
    pub(super) fn name(&self) -> String {
        self.address.to_string().replacen(':', self.sign.encode_utf8(&mut [0; 4]), 1)
    }
}

impl Found {
    /// Returns how long the files are together.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// Returns how much is skipped.
    pub(super) fn skipped(&self) -> u64 {
        self.others + self.dirs
    }
}

/// Looks through a directory, and into none in it. Links are followed.
///
/// # Errors
/// `Io` when it cannot be read.
pub(super) fn find(dir: &Path) -> Result<Found> {
    let failed = |error| Error::io("the directory cannot be read", error).at_path(dir);
    let mut found = Found::default();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let named = name.to_str().and_then(address::read);
        // A link that leads nowhere is no file either; one that is gone by now is left to whoever removed it.
        let metadata = fs::metadata(entry.path()).ok();
        match (named, metadata) {
            (Some((address, sign)), Some(metadata)) if metadata.is_file() => {
                found.files.push(Named { sign, address, bytes: metadata.len() });
                continue;
            }
            (_, Some(metadata)) if metadata.is_dir() => found.dirs += 1,
            _ => found.others += 1,
        }
        if found.told.len() < TOLD_MAX {
            found.told.push(name.to_string_lossy().into_owned());
        }
    }
    found.files.sort_unstable_by_key(|file| (file.address.kind(), file.sign, file.address));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_files_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let (low, high) = ("0".repeat(64), "f".repeat(64));
        let mut names = ["sha256:", "sha256-", "blake3:", "blake3-"]
            .iter()
            .flat_map(|kind| [format!("{kind}{high}"), format!("{kind}{low}")])
            .collect::<Vec<_>>();
        for name in names.iter().chain(&["readme".to_owned(), format!("sha256-{low}.txt")]) {
            fs::write(dir.path().join(name), "four").unwrap();
        }
        fs::create_dir(dir.path().join(format!("sha256-{}", "1".repeat(64)))).unwrap();
        let found = find(dir.path()).unwrap();
        names.sort();
        assert_eq!(found.files.iter().map(Named::name).collect::<Vec<_>>(), names);
        assert_eq!((found.bytes(), found.others, found.dirs, found.told.len()), (32, 2, 1, 3));
    }
}
