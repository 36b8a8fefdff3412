//! Whose are the files of a log?
//!
//! Invariants:
//! - Segments are the truth: the store that most of them name counts. The mark file, which is derived, decides where as
//!   many name one as another, or none can be read; it cannot outvote segments.
//! - Opening and repairing ask this one rule.

use std::collections::BTreeMap;

/// Returns the store that most segments name; where several are named as often, the one among them that the mark file
/// is of; `None` where that does not tell either.
pub fn owner_of(mark: Option<[u8; 16]>, named: impl IntoIterator<Item = [u8; 16]>) -> Option<[u8; 16]> {
    let mut votes: BTreeMap<[u8; 16], u64> = BTreeMap::new();
    for store in named {
        *votes.entry(store).or_default() += 1;
    }
    let Some(most) = votes.values().max().copied() else { return mark };
    let leaders: Vec<[u8; 16]> =
        votes.into_iter().filter(|(_, count)| *count == most).map(|(store, _)| store).collect();
    match (leaders.as_slice(), mark) {
        ([only], _) => Some(*only),
        (several, Some(mark)) if several.contains(&mark) => Some(mark),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_segments_count_and_the_mark_breaks_ties() {
        let (a, b, c) = ([1; 16], [2; 16], [3; 16]);
        assert_eq!(owner_of(Some(b), [a, a, b]), Some(a));
        assert_eq!(owner_of(Some(c), [a]), Some(a), "a mark of another store cannot outvote a head");
        assert_eq!(owner_of(Some(b), [a, b]), Some(b));
        assert_eq!(owner_of(Some(c), [a, b]), None);
        assert_eq!(owner_of(None, [a, b]), None);
        assert_eq!((owner_of(Some(a), []), owner_of(None, [])), (Some(a), None));
    }
}
