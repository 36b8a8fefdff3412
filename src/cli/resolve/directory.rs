//! A directory of blobs: files whose names say what their bytes hash to.
//!
//! Invariants:
//! - Content counts as held once its bytes were hashed, never for its name.
//! - Bytes that hash to something else are damage: an error that names the file, never gone and never drift.
//! - A file is read in pieces, and once for a replay however often it is named, up to a bound on what is remembered.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::contract::{Address, AddressKind, Error, Ref, Result};
use crate::replay::{Checked, Resolver};

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Files named `sha256-HEX` or `blake3-HEX`, or with a colon in the dash's place. Other files are not looked at.
#[derive(Debug)]
pub(super) struct BlobDir {
    dir: PathBuf,
    checked: Checked<bool>,
}

/// Hashes all there is to read, in a fixed amount of memory.
fn hash(kind: AddressKind, mut reader: impl Read) -> io::Result<Address> {
    let hash = match kind {
        AddressKind::Sha256 => {
            let mut hasher = Sha256::new();
            pieces(&mut reader, |piece| hasher.update(piece))?;
            hasher.finalize().into()
        }
        AddressKind::Blake3 => {
            let mut hasher = blake3::Hasher::new();
            pieces(&mut reader, |piece| {
                hasher.update(piece);
            })?;
            *hasher.finalize().as_bytes()
        }
    };
    Ok(Address::new(kind, hash))
}

/// Reads to the end, a piece at a time.
fn pieces(reader: &mut impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => take(buffer.get(..bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the names under which a file holds content.
fn file_names(address: &Address) -> impl Iterator<Item = String> {
    let (kind, hex) = (address.kind(), HEXLOWER.encode(address.hash()));
    // On Windows a colon in a name asks for something else than a file.
    let separators: &[char] = if cfg!(windows) { &['-'] } else { &['-', ':'] };
    separators.iter().map(move |separator| format!("{kind}{separator}{hex}"))
}

impl BlobDir {
    /// Takes a directory. Reads nothing of what is in it.
    ///
    /// # Errors
    /// Kind `Io` when there is no such directory.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let cannot = |error| Error::io("the directory of blobs cannot be read", error).at_path(dir);
        if !fs::metadata(dir).map_err(cannot)?.is_dir() {
            return Err(cannot(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { dir: dir.to_path_buf(), checked: Checked::default() })
    }

    /// Reports whether a path is one of this directory's files.
    pub(super) fn holds(&self, path: Option<&Path>) -> bool {
        path.and_then(Path::parent) == Some(&self.dir)
    }

    /// Reports whether content is there, and what it should be.
    fn check(&self, address: &Address) -> Result<bool> {
        for name in file_names(address) {
            let path = self.dir.join(name);
            let cannot = |error| Error::io("the blob cannot be read", error).at_path(&path);
            let file = match regular(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(cannot)?,
            };
            let found = hash(address.kind(), file).map_err(cannot)?;
            if found != *address {
                let message = format!("the blob is damaged: its bytes hash to {found}, not to its name");
                return Err(Error::corrupt(message).at_path(&path));
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Opens a file that has an end. To open a pipe would wait for somebody to write.
fn regular(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

impl Resolver for BlobDir {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        let Ok(address) = reference.hash.parse() else { return Ok(None) };
        let is_held = self.checked.get_or(&address, || self.check(&address))?;
        Ok(is_held.then_some(Cow::Borrowed(&*reference.hash)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{ErrorKind, RefKind};

    fn named(hash: &str) -> Ref {
        Ref { kind: RefKind::Blob, id: "b".into(), hash: hash.into(), range: None, stored: true }
    }

    fn sha256(bytes: &[u8]) -> String {
        HEXLOWER.encode(&Sha256::digest(bytes))
    }

    fn dir() -> (tempfile::TempDir, BlobDir) {
        let temp = tempfile::tempdir().unwrap();
        let blobs = BlobDir::open(temp.path()).unwrap();
        (temp, blobs)
    }

    #[test]
    fn content_is_found_by_either_hash_under_either_name() {
        let (temp, blobs) = dir();
        let long = vec![7; 3 * PIECE_BYTES + 1];
        for (algorithm, separator, bytes) in
            [("sha256", '-', &b""[..]), ("blake3", '-', &long), ("sha256", ':', &long), ("blake3", ':', b"x")]
        {
            if cfg!(windows) && separator == ':' {
                continue;
            }
            let hex = match algorithm {
                "sha256" => sha256(bytes),
                _ => blake3::hash(bytes).to_hex().to_string(),
            };
            let reference = named(&format!("{algorithm}:{hex}"));
            assert_eq!(blobs.held_hash(&reference).unwrap(), None);
            fs::write(temp.path().join(format!("{algorithm}{separator}{hex}")), bytes).unwrap();
            // One replay is told one thing.
            assert_eq!(blobs.held_hash(&reference).unwrap(), None);
            let next = BlobDir::open(temp.path()).unwrap();
            assert_eq!(next.held_hash(&reference).unwrap().as_deref(), Some(&*reference.hash));
        }
    }

    #[test]
    fn what_is_named_in_another_way_is_gone() {
        let (temp, blobs) = dir();
        let hex = sha256(b"x");
        for name in [hex.clone(), format!("sha256_{hex}"), format!("sha256-{hex}.txt")] {
            fs::write(temp.path().join(name), b"x").unwrap();
        }
        for hash in [
            format!("sha256:{hex}"),
            format!("SHA256:{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha256-{hex}"),
            format!("sha256:{}", &hex[2..]),
            format!("sha256:{hex}00"),
            format!("md5:{hex}"),
            "sha256:../../etc/passwd".to_owned(),
            "h".to_owned(),
        ] {
            assert_eq!(blobs.held_hash(&named(&hash)).unwrap(), None, "{hash}");
        }
    }

    #[test]
    fn other_bytes_are_damage_and_what_cannot_be_read_is_an_error() {
        let (temp, blobs) = dir();
        let hex = sha256(b"x");
        let path = temp.path().join(format!("sha256-{hex}"));
        fs::write(&path, b"y").unwrap();
        for _ in 0..2 {
            let error = blobs.held_hash(&named(&format!("sha256:{hex}"))).unwrap_err();
            assert_eq!((error.kind(), error.place().path.as_ref()), (ErrorKind::Corrupt, Some(&path)));
            assert!(error.message().contains(&sha256(b"y")) && blobs.holds(error.place().path.as_deref()));
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = blobs.held_hash(&named(&format!("sha256:{hex}"))).unwrap_err();
        assert_eq!((error.kind(), error.place().path.as_ref()), (ErrorKind::Io, Some(&path)));
        assert!(!blobs.holds(Some(&temp.path().join("deeper/file"))) && !blobs.holds(None));

        let absent = BlobDir::open(&temp.path().join("absent")).unwrap_err();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!((absent.kind(), BlobDir::open(&file).unwrap_err().kind()), (ErrorKind::Io, ErrorKind::Io));
    }

    #[test]
    fn a_file_is_hashed_once() {
        let (temp, blobs) = dir();
        let hex = sha256(b"x");
        let path = temp.path().join(format!("sha256-{hex}"));
        fs::write(&path, b"x").unwrap();
        let reference = named(&format!("sha256:{hex}"));
        assert!(blobs.held_hash(&reference).unwrap().is_some());
        // Were it read again, this would be damage.
        fs::write(&path, b"y").unwrap();
        assert!(blobs.held_hash(&reference).unwrap().is_some());
        // Another hash with the same digits is another address.
        assert_eq!(blobs.held_hash(&named(&format!("blake3:{hex}"))).unwrap(), None);
    }
}
