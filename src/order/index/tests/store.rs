//! Nodes in memory, and numbers to draw from.

use std::sync::{Arc, Mutex};

use crate::contract::{Error, Result};
use crate::order::tree::{NodeAt, Shape, Shelf, Sink, Source};

/// Node files in memory. Clones are the same files.
#[derive(Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    files: Vec<Vec<Vec<u8>>>,
    /// Files below this one are gone.
    oldest: usize,
    /// How many reads go well until one fails.
    fails_after: Option<u64>,
    /// Whether all later ones fail as well.
    for_good: bool,
}

impl Memory {
    pub(super) fn shelf(&self, cache_bytes: usize, shape: Shape) -> Shelf {
        Shelf::new(Arc::new(self.clone()), cache_bytes, shape)
    }

    /// Starts the next file.
    pub(super) fn next_file(&self) {
        self.0.lock().unwrap().files.push(Vec::new());
    }

    /// The newest file alone, as another store.
    pub(super) fn newest_alone(&self) -> Self {
        let files = self.0.lock().unwrap();
        let oldest = files.files.len() - 1;
        Self(Arc::new(Mutex::new(Files { files: files.files.clone(), oldest, ..Files::default() })))
    }

    pub(super) fn fail_after(&self, reads: Option<u64>, for_good: bool) {
        let mut files = self.0.lock().unwrap();
        files.fails_after = reads;
        files.for_good = for_good;
    }

    /// Whether the failure is still to come.
    pub(super) fn is_armed(&self) -> bool {
        self.0.lock().unwrap().fails_after.is_some()
    }
}

impl Source for Memory {
    fn read(&self, at: NodeAt) -> Result<Vec<u8>> {
        let mut files = self.0.lock().unwrap();
        if let Some(left) = files.fails_after {
            match left.checked_sub(1) {
                Some(left) => files.fails_after = Some(left),
                None => {
                    if !files.for_good {
                        files.fails_after = None;
                    }
                    return Err(Error::io("read failed", std::io::Error::other("made to")));
                }
            }
        }
        let file = usize::try_from(at.file).unwrap();
        assert!(file >= files.oldest, "a node of a file that is gone");
        Ok(files.files[file][usize::try_from(at.offset).unwrap()].clone())
    }
}

impl Sink for Memory {
    fn append(&mut self, node: &[u8]) -> Result<NodeAt> {
        let mut files = self.0.lock().unwrap();
        if files.files.is_empty() {
            files.files.push(Vec::new());
        }
        let file = u32::try_from(files.files.len() - 1).unwrap();
        let nodes = files.files.last_mut().unwrap();
        nodes.push(node.to_vec());
        let offset = nodes.len() as u64 - 1;
        Ok(NodeAt { file, offset, bytes: u32::try_from(node.len()).unwrap() })
    }
}

/// `SplitMix64` (Steele, Lea and Flood, 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn one_in(&mut self, chance: u64) -> bool {
        self.below(chance) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}
