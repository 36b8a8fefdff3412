//! Names of the files that hold content.
//!
//! Invariant: ten digits, so that names sort as numbers do; a number is given out once.

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Records and a footer; never written again.
    Sealed,
    /// Takes records.
    Active,
    /// The footer of a pack whose records are all dead.
    Gone,
}

/// Greatest number of a pack.
pub(super) const NUMBER_MAX: u64 = 9_999_999_999;

/// Ending of a file that is not complete yet.
pub(super) const PART: &str = ".part";

/// Returns the name of a pack's file.
pub(super) fn pack_file(number: u64, form: Form) -> String {
    let ending = match form {
        Form::Sealed => "pack",
        Form::Active => "active",
        Form::Gone => "gone",
    };
    format!("{number:010}.{ending}")
}

/// Returns the name of the file that keeps how far a damaged pack was durable.
pub(super) fn evidence_file(number: u64) -> String {
    format!("{number:010}.durable")
}

/// Reads the name of a pack's file; `None` for any other file.
pub(super) fn parse(name: &str) -> Option<(u64, Form)> {
    let (digits, ending) = name.split_once('.')?;
    let form = match ending {
        "pack" => Form::Sealed,
        "active" => Form::Active,
        "gone" => Form::Gone,
        _ => return None,
    };
    let number = digits.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))?;
    (pack_file(number, form) == name).then_some((number, form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made() {
        for form in [Form::Sealed, Form::Active, Form::Gone] {
            assert_eq!(parse(&pack_file(42, form)), Some((42, form)));
        }
        for odd in ["1.pack", "0000000000.pack", "0000000001.pack.part", "+000000001.pack", "mark", ""] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }
}
