//! String comparison by UTF-16 code units, as every JavaScript peer orders strings.

use std::cmp::Ordering;

/// Compares two strings by UTF-16 code units.
///
/// Equal to the order of bytes except where a character beyond U+FFFF meets one from U+E000 to
/// U+FFFF: UTF-16 puts the former first. The first differing byte decides, so the cost is that of
/// comparing bytes; no string is transcoded.
#[must_use]
pub fn cmp_utf16(a: &str, b: &str) -> Ordering {
    match a.bytes().zip(b.bytes()).find(|(p, q)| p != q) {
        None => a.len().cmp(&b.len()),
        // The first differing byte of two UTF-8 texts stands at the same place of the same
        // character, or is the lead byte of each. Only lead bytes can be 0xEE, 0xEF or 0xF0 and
        // up, and there the UTF-16 order is the other way round.
        Some((p, q)) => match (p >= 0xF0, q >= 0xF0) {
            (true, false) if q >= 0xEE => Ordering::Less,
            (false, true) if p >= 0xEE => Ordering::Greater,
            _ => p.cmp(&q),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_comparison_of_code_units(
            a in "[a\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}]{0,4}",
            b in "[a\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}]{0,4}",
        ) {
            let plain = a.encode_utf16().cmp(b.encode_utf16());
            prop_assert_eq!(cmp_utf16(&a, &b), plain);
        }
    }
}
