//! Files that verbs write: beside their name until they are complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::exit::Failure;
use super::output::plain;
use crate::contract::Error;

const BUFFER_BYTES: usize = 1 << 18;

/// Tells the names of standard output from those of files: what goes there is data alone.
pub(crate) fn is_standard_output(file: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| file.as_os_str() == *name)
}

/// Refuses a file among the store's own.
pub(crate) fn refuse_inside(store: &Path, file: &Path) -> Result<(), Failure> {
    let target = followed(file).map_err(|error| unwritable(error, file))?;
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let (Ok(dir), Ok(store)) = (dir.canonicalize(), store.canonicalize())
        && dir.starts_with(store)
    {
        let name = file.to_string_lossy();
        return Err(Failure::Usage(format!("{} would stand among the store's own files", plain(&name))));
    }
    Ok(())
}

/// Writes a file that takes its name when it is complete and synced. A new one can be read by its owner alone, an old one
/// keeps its mode. Returns what `write` does.
pub(crate) fn to_file(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let failed = |error| unwritable(error, file);
    let target = followed(file).map_err(failed)?;
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // A device or a pipe cannot be replaced; it is written to.
        let mut device = BufWriter::with_capacity(
            BUFFER_BYTES,
            File::options().write(true).open(&target).map_err(failed)?,
        );
        let written = write(&mut device)?;
        device.flush().map_err(failed)?;
        return Ok(written);
    }
    let dir = match target.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new().prefix(".causelog-export-").tempfile_in(dir).map_err(failed)?;
    let mut buffered = BufWriter::with_capacity(BUFFER_BYTES, temporary);
    let written = write(&mut buffered)?;
    let temporary = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    #[cfg(unix)]
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
    Ok(written)
}

/// Follows links, so that the file that they lead to is replaced, and not the link. It need not exist.
fn followed(file: &Path) -> io::Result<PathBuf> {
    const LINKS_MAX: u32 = 40;
    let mut target = file.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = target.parent().map_or_else(|| next.clone(), |dir| dir.join(&next));
    }
    Err(io::Error::other("too many links"))
}

/// A failure to write such a file.
pub(crate) fn unwritable(error: io::Error, file: &Path) -> Failure {
    Failure::Error(Error::io("the file cannot be written", error).at_path(file))
}
