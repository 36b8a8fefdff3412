//! Merges sorted runs into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::sorter::{Key, Records, Run, append, ranked};
use super::spill::{Spill, SpillWriter};
use crate::contract::Result;

/// Most runs that are merged at once; more take several passes.
pub(super) const FAN_IN: usize = 128;

/// Least and greatest window of a run.
const WINDOW_BYTES: std::ops::RangeInclusive<usize> = (1 << 12)..=(1 << 20);

/// Merges `runs` of `from` to the end of `to`.
///
/// Memory: the budget shared out to the runs' windows. Only the value being copied is in memory, so
/// great records do not add up.
pub(super) fn merge(
    from: &Arc<Spill>,
    runs: &[Run],
    rank: impl Fn(u64) -> u64,
    to: &mut SpillWriter,
    budget_bytes: usize,
) -> Result<()> {
    let window_bytes = (budget_bytes / runs.len().max(1)).clamp(*WINDOW_BYTES.start(), *WINDOW_BYTES.end());
    let mut sources: Vec<Records> =
        runs.iter().map(|run| Records::new(Arc::clone(from), run.start, run.end, window_bytes)).collect();
    // Ranked key, source, key as it is written.
    let mut heads: BinaryHeap<Reverse<(Key, usize, Key)>> = BinaryHeap::with_capacity(sources.len());
    for (number, source) in sources.iter_mut().enumerate() {
        if let Some(record) = source.header()? {
            heads.push(Reverse((ranked(record.key, &rank), number, record.key)));
        }
    }
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((_, number, key)) = *head;
        let Some(source) = sources.get_mut(number) else { break };
        append(to, key, source.value()?)?;
        match source.header()? {
            Some(record) => *head = Reverse((ranked(record.key, &rank), number, record.key)),
            None => {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
    }
    Ok(())
}
