//! Content: encrypted records in packs, and the keys that make forgetting them real.

mod active;
mod budget;
mod cipher;
mod clear;
mod count;
mod erase;
mod footing;
mod hashing;
mod key;
mod keys;
mod ledger;
mod mark;
mod names;
mod packs;
mod place;
mod put;
mod read;
mod recover;
mod repair;
mod scan;
mod sealed;
mod stream;
mod trouble;
mod vault;
mod verify;

pub use count::BlobStats;
pub use key::FillRandom;
pub use keys::{Access, Holding};
pub use put::{Put, PutReport};
pub use read::BlobState;
pub use recover::TornPack;
pub use trouble::again;
pub use vault::{BudgetPolicy, KEYS_DIR, PACKS_DIR, Vault, VaultOptions};
