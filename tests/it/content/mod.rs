//! Content: put, read, forget; beside a model, under faults, and with files that were tampered with.

mod basics;
mod budget;
mod crash;
mod mended;
mod model;
mod nth_call;
mod repair;
mod replayed;
mod tamper;

use std::path::Path;
use std::sync::Arc;

use causelog::vfs::{MemoryVfs, Vfs};
use causelog::{Address, AddressKind, Options, Store};

use crate::support::small;

/// Where the stores of these tests are.
const AT: &str = "/s";

/// Opens or makes a store of small packs in memory.
fn store_on(vfs: &MemoryVfs) -> Store {
    Store::open_or_create(AT, options_on(vfs)).unwrap()
}

fn options_on(vfs: &MemoryVfs) -> Options {
    small().pack_bytes_max(64 << 10).vfs(Arc::new(vfs.clone()))
}

/// Content that nothing else holds, and that does not compress to a pattern.
fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    let mut out = vec![0; bytes];
    hasher.finalize_xof().fill(&mut out);
    out
}

fn blake3_of(content: &[u8]) -> Address {
    Address::new(AddressKind::Blake3, *blake3::hash(content).as_bytes())
}

fn sha256_of(content: &[u8]) -> Address {
    use sha2::Digest;
    Address::new(AddressKind::Sha256, sha2::Sha256::digest(content).into())
}

/// The files of a directory of a store.
fn files(vfs: &MemoryVfs, dir: &str) -> Vec<String> {
    vfs.list(&Path::new(AT).join(dir)).unwrap()
}
