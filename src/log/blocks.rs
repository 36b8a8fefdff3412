//! The block index of a sealed segment: where in a host's frames a `seq` is.

use crate::codec::{BLOCK_ENTRY_BYTES, BlockEntry, HostEntry};

/// The block index, in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks<'a>(&'a [[u8; BLOCK_ENTRY_BYTES]]);

impl<'a> Blocks<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = BlockEntry> + 'a {
        self.0.iter().map(BlockEntry::from_bytes)
    }

    /// Checks that each host's blocks follow one another and cover its frames, its range of `seq` and its
    /// count of events.
    ///
    /// # Errors
    /// What does not hold.
    pub(super) fn check(self, hosts: &[HostEntry]) -> Result<(), &'static str> {
        let mut blocks = self.iter();
        for host in hosts {
            let mut end = host.start;
            let mut events = 0u64;
            let mut last_seq: Option<u64> = None;
            while end < host.end {
                let block = blocks.next().ok_or("blocks are missing")?;
                if block.host != host.host || block.start != end || block.end <= block.start {
                    return Err("blocks do not follow one another");
                }
                let rises = last_seq.map_or(block.first_seq == host.first_seq, |last| last < block.first_seq);
                if !rises || block.last_seq < block.first_seq || block.frames == 0 {
                    return Err("a block's range of seq");
                }
                end = block.end;
                events += u64::from(block.frames);
                last_seq = Some(block.last_seq);
            }
            if end != host.end || last_seq != Some(host.last_seq) || events != u64::from(host.events) {
                return Err("a host's blocks are not what the directory says");
            }
        }
        if blocks.next().is_some() { Err("there are more blocks than hosts have") } else { Ok(()) }
    }

    /// Returns the place of the first block of a host that can hold a `seq` of at least `from_seq`; the end
    /// of the host's frames when there is none.
    pub(super) fn start_of(self, host: &HostEntry, from_seq: u64) -> u32 {
        let found = self.0.partition_point(|bytes| {
            let block = BlockEntry::from_bytes(bytes);
            block.start < host.start || (block.end <= host.end && block.last_seq < from_seq)
        });
        self.0.get(found).map_or(host.end, |bytes| BlockEntry::from_bytes(bytes).start.min(host.end))
    }
}
