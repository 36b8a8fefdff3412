//! The index database: what only the writer asks, kept in redb beside the log.
//!
//! Invariants:
//! - It holds nothing that the segments cannot give back. Whatever is wrong with it, it is dropped
//!   and made anew, and the log decides.
//! - Only the holder of the store's writer lock opens it. The database takes no lock of its own.
//! - A checkpoint is one transaction: after a crash there is the one before or the whole new one.
//! - Damage never panics past this layer, nor yields wrong values. Four nets, one behind the other:
//!   each block has a checksum (`blocks.rs`), so redb sees no byte that it did not write; after an
//!   unclean end redb verifies its own checksums, which notice whole blocks of another time; a digest
//!   over the rows does so at every load; and a panic inside redb is caught. The last net alone would
//!   not hold: of a plain redb file with one flipped bit, some make it panic again while it unwinds,
//!   which ends the process, and more yield wrong values in silence.
//! - Files that cannot be opened, read or written are reported as that, and left alone.

mod blocks;
mod nodes;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use crate::contract::{Error, EventId, HostId, Result, Seq};
use crate::io::{OpenMode, Vfs, VfsFile};
use blocks::{Blocks, Cause, FirstCause};
pub use nodes::{NodeAccess, NodeFiles, NodesFound};
pub use rows::{Checkpoint, CheckpointBatch, HostRow, SegmentRow};

/// The version of the tables below. Another one is not read, but made anew.
const FORMAT: u32 = 1;

/// Memory that redb may use for pages.
const CACHE_BYTES: usize = 16 << 20;

/// The one table that all versions share: the version.
const FORMAT_TABLE: TableDefinition<'_, (), u32> = TableDefinition::new("format");
/// Store id; arrivals, active segment, durable end, events; digest of all rows.
const CHECKPOINT: TableDefinition<'_, (), CheckpointValue> = TableDefinition::new("checkpoint");
/// Host to seq, id of the event that bears it, events.
const HOSTS: TableDefinition<'_, &str, HostValue> = TableDefinition::new("hosts");
/// Segment number to path, root, events, bytes.
const SEGMENTS: TableDefinition<'_, u64, SegmentValue> = TableDefinition::new("segments");

type CheckpointValue = ([u8; 16], u64, u64, u64, u64, [u8; 32]);
type HostValue = (u64, &'static str, u64);
type SegmentValue = (&'static str, [u8; 32], u64, u64);

/// What was found at opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// There was none, or one without a checkpoint.
    Fresh,
    /// There was one that cannot be used; it was removed.
    Rebuilt {
        /// Why.
        reason: RebuildReason,
    },
    /// There is one with a whole checkpoint of this store.
    Loaded,
}

/// Why an index was made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RebuildReason {
    /// Its tables are of another version, or its database is.
    Version,
    /// It belongs to another store.
    Foreign,
    /// It is not what was written; the text says what was noticed.
    Damaged(&'static str),
}

impl fmt::Display for RebuildReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => f.write_str("the index is of another version"),
            Self::Foreign => f.write_str("the index belongs to another store"),
            Self::Damaged(what) => write!(f, "the index is damaged: {what}"),
        }
    }
}

/// The open index database.
///
/// After a failed call the index must be opened again; the log is not concerned.
pub struct Index {
    /// Taken at the end of life only.
    database: Option<Database>,
    cause: FirstCause,
    path: PathBuf,
}

impl Index {
    /// Opens the index, or makes an empty one where there is none that can be used.
    ///
    /// Reads the whole index once, to check it.
    ///
    /// # Errors
    /// `Io`: the file cannot be opened, read, made or removed.
    pub fn open(vfs: &dyn Vfs, path: &Path, store_id: &[u8; 16]) -> Result<(Self, IndexState)> {
        let file = match vfs.open(path, OpenMode::Write) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok((Self::create(vfs, path)?, IndexState::Fresh));
            }
            Err(e) => return Err(Error::io("cannot open the index", e).at_path(path)),
        };
        let index = Self::attach(file, path).and_then(|index| match index.read()? {
            Some(held) if held.checkpoint.store_id != *store_id => {
                Err(Fault::Unusable(RebuildReason::Foreign))
            }
            held => Ok((index, held.is_some())),
        });
        match index {
            Ok((index, true)) => Ok((index, IndexState::Loaded)),
            Ok((index, false)) => Ok((index, IndexState::Fresh)),
            Err(Fault::Io(e)) => Err(Error::io("cannot read the index", e).at_path(path)),
            Err(Fault::Unusable(reason)) => Ok((Self::recreate(vfs, path)?, IndexState::Rebuilt { reason })),
        }
    }

    /// Removes the index and makes an empty one.
    ///
    /// # Errors
    /// `Io`: the file cannot be removed or made.
    pub fn recreate(vfs: &dyn Vfs, path: &Path) -> Result<Self> {
        match vfs.remove(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("cannot remove the index", e).at_path(path))
            }
            _ => Self::create(vfs, path),
        }
    }

    /// Makes everything the index holds what the batch says, in one transaction. Durable on return.
    ///
    /// Rows that are there already are not written again. Costs a read of all rows and a few syncs.
    ///
    /// # Errors
    /// `Io` and `Corrupt`: what is held is the checkpoint before, or this one.
    pub fn write_checkpoint(&self, batch: &CheckpointBatch) -> Result<()> {
        self.run(|database| write(database, batch))
            .map_err(|fault| fault.into_error("cannot write the index", &self.path))
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last checkpoint, if there is one.
    ///
    /// # Errors
    /// `Io` and `Corrupt`.
    pub fn load(&self) -> Result<Option<CheckpointBatch>> {
        self.read().map_err(|fault| fault.into_error("cannot read the index", &self.path))
    }

    /// Closes the database. Dropping it does the same and tells of no error.
    ///
    /// # Errors
    /// `Io` and `Corrupt`: the next open takes longer, or rebuilds.
    pub fn close(mut self) -> Result<()> {
        let Some(database) = self.database.take() else { return Ok(()) };
        guarded(&self.cause, || Ok(database.close()?))
            .map_err(|fault| fault.into_error("cannot close the index", &self.path))
    }

    fn create(vfs: &dyn Vfs, path: &Path) -> Result<Self> {
        let file = vfs
            .open(path, OpenMode::Create)
            .map_err(|e| Error::io("cannot create the index", e).at_path(path))?;
        Self::attach(file, path).map_err(|fault| fault.into_error("cannot create the index", path))
    }

    fn attach(file: Arc<dyn VfsFile>, path: &Path) -> Result<Self, Fault> {
        let cause = FirstCause::default();
        let database = guarded(&cause, || {
            let blocks = Blocks::open(file, cause.clone()).map_err(redb::Error::from)?;
            // After a kill or a power cut redb verifies every page, rather than trust the medium.
            let unclean = blocks.is_unclean();
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(unclean);
            Ok(builder.create_with_backend(blocks)?)
        })?;
        Ok(Self { database: Some(database), cause, path: path.to_path_buf() })
    }

    fn read(&self) -> Result<Option<CheckpointBatch>, Fault> {
        let found = self.run(read)?;
        match found {
            Some((_, version)) if version != FORMAT => Err(Fault::Unusable(RebuildReason::Version)),
            Some((None, _)) => Err(Fault::Unusable(RebuildReason::Damaged("a row is not one it can hold"))),
            Some((Some((batch, digest)), _)) if batch.digest() != digest => {
                Err(Fault::Unusable(RebuildReason::Damaged("its rows do not belong together")))
            }
            Some((Some((batch, _)), _)) => Ok(Some(batch)),
            None => Ok(None),
        }
    }

    fn run<T>(&self, work: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, Fault> {
        guarded(&self.cause, || match &self.database {
            Some(database) => work(database),
            None => Err(redb::Error::DatabaseClosed),
        })
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            // Closing can fail or panic like all else, and nobody is left to be told.
            let _ = guarded(&self.cause, || {
                drop(database);
                Ok(())
            });
        }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Why a call into the database failed.
#[derive(Debug)]
enum Fault {
    Io(io::Error),
    Unusable(RebuildReason),
}

impl Fault {
    fn into_error(self, what: &str, path: &Path) -> Error {
        match self {
            Self::Io(e) => Error::io(what, e),
            Self::Unusable(reason) => Error::corrupt(format!("{what}: {reason}")),
        }
        .at_path(path)
    }
}

/// Calls into redb, and finds out what a failure means.
fn guarded<T>(cause: &FirstCause, work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Fault> {
    // Nothing of ours is left half changed by a panic: the caller gives the database up.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let error = match outcome {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    Err(match (cause.lock().take(), error) {
        (Some(Cause::Io(e)), _) => Fault::Io(e),
        (Some(Cause::Damage(what)), _) => Fault::Unusable(RebuildReason::Damaged(what)),
        (None, None) => Fault::Unusable(RebuildReason::Damaged("the database failed on it")),
        (None, Some(error)) => match error {
            // The table of that name has other types, or the file another layout.
            redb::Error::UpgradeRequired(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TypeDefinitionChanged { .. } => Fault::Unusable(RebuildReason::Version),
            redb::Error::Io(e) if e.kind() != io::ErrorKind::InvalidData => Fault::Io(e),
            redb::Error::PreviousIo => Fault::Io(io::Error::other("an earlier call on the index failed")),
            _ => Fault::Unusable(RebuildReason::Damaged("the database does not accept it")),
        },
    })
}

/// A checkpoint and its digest; `None` when a row breaks the contract.
type Found = Option<(CheckpointBatch, [u8; 32])>;

/// Reads everything; `None` when no checkpoint was ever written, else the version as well.
fn read(database: &Database) -> Result<Option<(Found, u32)>, redb::Error> {
    let transaction = database.begin_read()?;
    let version = match transaction.open_table(FORMAT_TABLE) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        table => table?.get(())?.map_or(0, |row| row.value()),
    };
    if version != FORMAT {
        return Ok(Some((None, version)));
    }
    let Some(row) = transaction.open_table(CHECKPOINT)?.get(())? else { return Ok(Some((None, version))) };
    let (store_id, arrivals, active_segment, durable_end, events, digest) = row.value();
    let checkpoint = Checkpoint { store_id, arrivals, active_segment, durable_end, events };
    let mut hosts = BTreeMap::new();
    for row in transaction.open_table(HOSTS)?.iter()? {
        let (host, row) = row?;
        let (seq, last_id, events) = row.value();
        let parsed = (HostId::new(host.value()), Seq::new(seq), EventId::new(last_id));
        let (Ok(host), Ok(seq), Ok(last_id)) = parsed else { return Ok(Some((None, version))) };
        hosts.insert(host, HostRow { seq, last_id, events });
    }
    let mut segments = BTreeMap::new();
    for row in transaction.open_table(SEGMENTS)?.iter()? {
        let (number, row) = row?;
        let (path, root, events, bytes) = row.value();
        segments.insert(number.value(), SegmentRow { path: path.to_owned(), root, events, bytes });
    }
    Ok(Some((Some((CheckpointBatch { checkpoint, hosts, segments }, digest)), version)))
}

fn write(database: &Database, batch: &CheckpointBatch) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    // The header is written after a sync of what it refers to. With one phase, recovery would have
    // to read pages that a power cut tore, and those are errors in `blocks.rs`.
    transaction.set_two_phase_commit(true);
    transaction.open_table(FORMAT_TABLE)?.insert((), FORMAT)?;
    let Checkpoint { store_id, arrivals, active_segment, durable_end, events } = batch.checkpoint;
    let row = (store_id, arrivals, active_segment, durable_end, events, batch.digest());
    transaction.open_table(CHECKPOINT)?.insert((), row)?;

    let mut hosts = transaction.open_table(HOSTS)?;
    // In the order of the database, which is that of bytes.
    let sorted: BTreeMap<&str, &HostRow> =
        batch.hosts.iter().map(|(host, row)| (host.as_str(), row)).collect();
    hosts.retain(|host, _| sorted.contains_key(host))?;
    for (host, row) in sorted {
        row.last_id.as_ref().with_str(|id| {
            let row = (row.seq.get(), id, row.events);
            if hosts.get(host)?.is_none_or(|held| held.value() != row) {
                hosts.insert(host, row)?;
            }
            Ok::<(), redb::Error>(())
        })?;
    }
    drop(hosts);

    let mut segments = transaction.open_table(SEGMENTS)?;
    segments.retain(|number, _| batch.segments.contains_key(&number))?;
    for (number, row) in &batch.segments {
        let row = (row.path.as_str(), row.root, row.events, row.bytes);
        if segments.get(number)?.is_none_or(|held| held.value() != row) {
            segments.insert(number, row)?;
        }
    }
    drop(segments);
    transaction.commit()?;
    Ok(())
}
