//! Names of segment files: ten digits and what stage the segment is in.
//!
//! Invariant: a segment's number is from 1 to [`SEGMENT_MAX`], so that the one behind it is a number as well.

/// Greatest number of a segment.
pub const SEGMENT_MAX: u64 = u64::MAX - 1;

/// What a file of a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Takes appends: `NNNNNNNNNN.active`.
    Active,
    /// A sealed file being written; worthless unless renamed: `NNNNNNNNNN.sealing`.
    Sealing,
    /// Sealed: `NNNNNNNNNN.sealed`.
    Sealed,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Active, Self::Sealing, Self::Sealed];

    const fn extension(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Sealing => "sealing",
            Self::Sealed => "sealed",
        }
    }
}

/// The parts of a segment file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentName {
    /// The segment's number, from 1.
    pub number: u64,
    /// What the file is.
    pub stage: Stage,
}

impl SegmentName {
    /// Reads a file name; `None` when it is not one that [`segment_file`] makes.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (digits, extension) = name.split_once('.')?;
        let stage = Stage::ALL.into_iter().find(|stage| stage.extension() == extension)?;
        let number = number_of(digits)?;
        Some(Self { number, stage })
    }
}

/// Returns the name of a segment's file. Names sort as numbers do, up to ten digits.
#[must_use]
pub fn segment_file(number: u64, stage: Stage) -> String {
    format!("{number:010}.{}", stage.extension())
}

/// Reads a segment's number as `{:010}` writes it.
pub(super) fn number_of(digits: &str) -> Option<u64> {
    let number = digits.parse().ok()?;
    ((1..=SEGMENT_MAX).contains(&number) && format!("{number:010}") == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for number in [1, 42, 9_999_999_999, 10_000_000_000, SEGMENT_MAX] {
            for stage in Stage::ALL {
                assert_eq!(
                    SegmentName::parse(&segment_file(number, stage)),
                    Some(SegmentName { number, stage })
                );
            }
        }
        assert_eq!(segment_file(7, Stage::Sealed), "0000000007.sealed");
    }

    #[test]
    fn other_names_are_none() {
        for name in [
            "7.sealed",
            "0000000007",
            "0000000007.old",
            "+000000007.active",
            "00000000007.active",
            ".active",
            "0000000000.active",
            "18446744073709551615.sealed",
            "",
        ] {
            assert_eq!(SegmentName::parse(name), None, "{name}");
        }
    }
}
