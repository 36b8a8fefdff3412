//! Where a store keeps the content that its events name, and what opening it found.
//!
//! Invariants:
//! - A store whose content is damaged, or whose key is missing, still appends, lists, orders and replays events.
//! - Content is opened before the log's writer, which has earlier puts synced before each of its own syncs.

use std::path::Path;
use std::sync::Arc;

use super::options::Options;
use super::report::OpenReport;
use crate::blob::{Access, FillRandom, Vault, VaultOptions};
use crate::contract::{Error, ErrorKind, Result};
use crate::log::{BeforeSync, Finding};

/// The content of an open store.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// It can be asked.
    Open(Arc<Vault>),
    /// There never was any, and this handle only reads.
    None,
    /// It cannot be opened.
    Damaged(Finding),
}

impl Content {
    /// Opens the content of a store; damage is told in the report.
    pub(super) fn open(
        path: &Path,
        options: &Options,
        store: &[u8; 16],
        access: Access,
        report: &mut OpenReport,
    ) -> Result<Self> {
        match Vault::open(&options.vfs, path, store, access, vault_options(options)) {
            Ok(None) => Ok(Self::None),
            Ok(Some(vault)) => {
                report.content_damage = findings(vault.damage())?;
                report.torn_content = vault.torn().cloned();
                Ok(Self::Open(Arc::new(vault)))
            }
            Err(error) if error.kind() == ErrorKind::Corrupt || is_no_file(&error) => {
                let error = if is_no_file(&error) { not_a_file(&error) } else { error };
                let finding = Finding::of(error)?;
                report.content_damage.push(finding.clone());
                Ok(Self::Damaged(finding))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the vault; `None` where there never was any content.
    pub(super) fn vault(&self) -> Result<Option<&Arc<Vault>>> {
        match self {
            Self::Open(vault) => Ok(Some(vault)),
            Self::None => Ok(None),
            Self::Damaged(finding) => {
                let error = Error::corrupt(finding.what.clone());
                let error = finding.path.iter().fold(error, Error::at_path);
                Err(finding.offset.iter().fold(error, |error, offset| error.at_byte(*offset)))
            }
        }
    }

    /// Returns what the log has to do before each of its syncs.
    pub(super) fn before_sync(&self) -> Option<BeforeSync> {
        let Self::Open(vault) = self else { return None };
        let vault = Arc::clone(vault);
        Some(BeforeSync::new(move || vault.sync()))
    }

    /// Makes everything that was put durable.
    pub(super) fn sync(&self) -> Result<()> {
        if let Self::Open(vault) = self { vault.sync() } else { Ok(()) }
    }

    /// Syncs, clears away what is dead, and takes no more writes.
    pub(super) fn close(&self) -> Result<()> {
        if let Self::Open(vault) = self { vault.close() } else { Ok(()) }
    }
}

pub(super) fn vault_options(options: &Options) -> VaultOptions {
    let random = Arc::clone(&options.random);
    let fill: FillRandom = Arc::new(move |bytes| random.fill(bytes));
    VaultOptions {
        master_file: options.key_file.clone(),
        default_kind: options.address_kind,
        pack_bytes_max: options.pack_bytes_max,
        budget: options.content_budget,
        fill,
    }
}

/// Tells damage as findings.
pub(super) fn findings(errors: &[Error]) -> Result<Vec<Finding>> {
    errors.iter().map(|error| Finding::of(crate::blob::again(error))).collect()
}

/// Reports whether something else stands where a file should be.
fn is_no_file(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| {
        matches!(source.kind(), std::io::ErrorKind::IsADirectory | std::io::ErrorKind::InvalidInput)
    })
}

fn not_a_file(error: &Error) -> Error {
    let damaged = Error::corrupt("something that is no file stands in the place of a file of content");
    error.place().path.iter().fold(damaged, Error::at_path)
}
