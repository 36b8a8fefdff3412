//! What opening a store found.

use serde::Serialize;

use crate::blob::TornPack;
use crate::index::IndexState;
use crate::log::{Finding, Recovered, Torn};

/// What opening a store found and did.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpenReport {
    /// The store's identity.
    #[serde(skip)]
    pub store: [u8; 16],
    /// Events that were lost to damage and repaired around, ever.
    pub lost: u64,
    /// A torn tail. A writer cut it; a reader left it out.
    pub torn: Option<Torn>,
    /// Damage; the store is then open for reading alone.
    pub damage: Vec<Finding>,
    /// Why the store is open for reading alone although writing was asked for.
    pub read_only: Option<String>,
    /// What became of the index database; `None` where it was not opened.
    #[serde(skip)]
    pub index: Option<IndexState>,
    /// Why the order's index was made anew from the log; `None` where the stored one was used, or none was opened.
    pub order_rebuilt: Option<String>,
    /// Damage of content and its keys. The store takes events all the same.
    pub content_damage: Vec<Finding>,
    /// The end of a pack of content that was never confirmed and was cut.
    pub torn_content: Option<TornPack>,
    /// Frames that had to be read one by one: those behind the newest checkpoint.
    pub frames_read: u64,
}

impl OpenReport {
    pub(super) fn of(recovered: &Recovered) -> Self {
        Self {
            store: recovered.store,
            lost: recovered.state.lost(),
            torn: recovered.torn.clone(),
            damage: recovered.damage.clone(),
            read_only: None,
            index: None,
            order_rebuilt: None,
            content_damage: Vec::new(),
            torn_content: None,
            frames_read: recovered.frames_read,
        }
    }
}
