//! Search in a node's sorted list.
//!
//! Bisection waits for each look before it knows the next, and in a tree larger than the processor's caches each look is a
//! wait for memory. Here a few places far apart are looked at together, then all of one block: two waits, whatever the list's length. The
//! looks that are too many cost less than one wait up to a few hundred entries, which is more than nodes hold.

/// Entries of a block: about the root of what a node holds.
const BLOCK: usize = 8;

/// Returns how many entries at the start of a list `before` is true of. It is true of none behind one that it is false of.
pub(super) fn count_before<T>(list: &[T], before: impl Fn(&T) -> bool) -> usize {
    let heads = list.get(BLOCK..).unwrap_or_default().iter().step_by(BLOCK);
    let start = BLOCK * heads.map(|head| usize::from(before(head))).sum::<usize>();
    let block = list.get(start..).unwrap_or_default().iter().take(BLOCK);
    start + block.map(|entry| usize::from(before(entry))).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_partition_point() {
        for len in 0..70 {
            let list: Vec<usize> = (0..len).collect();
            for point in 0..=len {
                assert_eq!(count_before(&list, |entry| *entry < point), point);
            }
        }
    }
}
