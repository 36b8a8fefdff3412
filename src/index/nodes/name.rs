//! Names of node files: eight digits and `.nodes`.

/// Returns the name of a node file.
pub(super) fn node_file(number: u32) -> String {
    format!("{number:08}.nodes")
}

/// Reads a file name; `None` when it is not one that [`node_file`] makes.
pub(super) fn number_of(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".nodes")?.parse().ok()?;
    (node_file(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_takes_no_other_spelling() {
        for number in [1, 99_999_999, u32::MAX] {
            assert_eq!(number_of(&node_file(number)), Some(number));
        }
        for name in ["1.nodes", "+0000001.nodes", "00000001.node", "4294967296.nodes", ".nodes", "x"] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }
}
