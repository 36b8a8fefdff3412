//! Copies of what a repair replaces or cuts.
//!
//! Invariants:
//! - A copy under its final name is whole and on the medium: it is written under another name, synced and renamed.
//! - A copy never replaces another one. What was copied already, by a repair that was interrupted, is not copied
//!   again.

use std::io;
use std::path::{Path, PathBuf};

use super::vfs::{OpenMode, Vfs, VfsFile};
use crate::contract::{Error, Result};

/// Bytes copied at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// Something to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The file.
    from: PathBuf,
    /// Where the part to be copied starts and ends.
    range: (u64, u64),
    /// The copy.
    to: PathBuf,
    /// The copy is there already.
    there: bool,
}

impl Keep {
    /// Plans to copy part of a file into the directory `kept`, under a name that starts with `name`; all of the file
    /// where no part is told.
    ///
    /// # Errors
    /// System calls.
    pub fn plan(
        vfs: &dyn Vfs,
        kept: &Path,
        name: &str,
        from: &Path,
        part: Option<(u64, u64)>,
    ) -> Result<Self> {
        let file = vfs.open(from, OpenMode::Read).map_err(|e| io_error("open", from, e))?;
        let range = match part {
            Some(part) => part,
            None => (0, file.size().map_err(|e| io_error("measure", from, e))?),
        };
        for copy in 1u64.. {
            let to = kept.join(if copy == 1 { name.to_owned() } else { format!("{name}.{copy}") });
            let there = vfs.exists(&to).map_err(|e| io_error("look for", &to, e))?;
            if !there || same(vfs, &*file, range, from, &to)? {
                return Ok(Self { from: from.to_path_buf(), range, to, there });
            }
        }
        Err(Error::corrupt("there is no name left for a copy").at_path(kept))
    }

    /// Returns the copy.
    #[must_use]
    pub fn to(&self) -> &Path {
        &self.to
    }

    /// Returns the file that is copied.
    #[must_use]
    pub fn from(&self) -> &Path {
        &self.from
    }

    /// Copies, unless that was done. The name is durable after the directory is synced.
    ///
    /// # Errors
    /// System calls; a copy that is not whole is left under another name and replaced by the next try.
    pub fn carry_out(&self, vfs: &dyn Vfs) -> Result<()> {
        if self.there {
            return Ok(());
        }
        let mut temporary = self.to.clone().into_os_string();
        temporary.push(".keeping");
        let temporary = PathBuf::from(temporary);
        if vfs.exists(&temporary).map_err(|e| io_error("look for", &temporary, e))? {
            vfs.remove(&temporary).map_err(|e| io_error("remove", &temporary, e))?;
        }
        let source = vfs.open(&self.from, OpenMode::Read).map_err(|e| io_error("open", &self.from, e))?;
        let copy = vfs.open(&temporary, OpenMode::Create).map_err(|e| io_error("create", &temporary, e))?;
        let mut written = 0;
        each_chunk(&*source, self.range, &self.from, |chunk| {
            copy.write_at(chunk, written).map_err(|e| io_error("write", &temporary, e))?;
            written += to_u64(chunk.len());
            Ok(true)
        })?;
        copy.sync().map_err(|e| io_error("sync", &temporary, e))?;
        drop(copy);
        vfs.rename(&temporary, &self.to).map_err(|e| io_error("rename", &temporary, e))
    }
}

fn same(vfs: &dyn Vfs, file: &dyn VfsFile, range: (u64, u64), from: &Path, to: &Path) -> Result<bool> {
    let copy = vfs.open(to, OpenMode::Read).map_err(|e| io_error("open", to, e))?;
    if copy.size().map_err(|e| io_error("measure", to, e))? != range.1 - range.0 {
        return Ok(false);
    }
    let (mut at, mut equal) = (0, true);
    let mut other = Vec::new();
    each_chunk(file, range, from, |chunk| {
        other.clear();
        other.resize(chunk.len(), 0);
        let read = copy.read_at(&mut other, at).map_err(|e| io_error("read", to, e))?;
        at += to_u64(read);
        equal = read == chunk.len() && other == chunk;
        Ok(equal)
    })?;
    Ok(equal)
}

/// Hands out part of a file piece by piece, until told to stop.
fn each_chunk(
    file: &dyn VfsFile,
    (start, end): (u64, u64),
    path: &Path,
    mut each: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut at = start;
    let mut buffer = Vec::new();
    while at < end {
        buffer.clear();
        buffer.resize(to_usize((end - at).min(CHUNK_BYTES)), 0);
        let read = file.read_at(&mut buffer, at).map_err(|e| io_error("read", path, e))?;
        buffer.truncate(read);
        if read == 0 || !each(&buffer)? {
            return Ok(());
        }
        at += to_u64(read);
    }
    Ok(())
}

fn io_error(action: &str, path: &Path, source: io::Error) -> Error {
    Error::io(format!("cannot {action}"), source).at_path(path)
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
