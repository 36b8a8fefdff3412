//! Id look-ups over the sealed segments (stand-in until the tiers are merged).
use super::sealed::SealedSegment;
use crate::codec::Fingerprint;
use crate::contract::Result;
use crate::io::Vfs;
use std::path::Path;
use std::sync::Arc;
#[derive(Debug, Default)]
pub struct IdTables {
    sealed: Vec<Arc<SealedSegment>>,
}
impl IdTables {
    pub fn open(
        _: &Arc<dyn Vfs>,
        _: &Path,
        _: &[u8; 16],
        sealed: &[Arc<SealedSegment>],
        _: bool,
    ) -> Result<Self> {
        Ok(Self { sealed: sealed.to_vec() })
    }
    pub fn with(&self, segment: &Arc<SealedSegment>) -> Self {
        let mut sealed = self.sealed.clone();
        sealed.push(Arc::clone(segment));
        Self { sealed }
    }
    pub fn without(&self, number: u64) -> Self {
        Self { sealed: self.sealed.iter().filter(|s| s.number() != number).cloned().collect() }
    }
    pub fn candidates(&self, id: Fingerprint) -> Result<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        for segment in self.sealed.iter().rev() {
            found.extend(segment.candidates(id)?.map(|at| (segment.number(), at)));
        }
        Ok(found)
    }
}
