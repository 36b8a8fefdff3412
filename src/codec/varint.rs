//! Variable-length integers: seven bits a byte, least significant first (LEB128).

/// Appends a number in one to ten bytes.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Takes a number off the front of `bytes`; `None` when they end early or the number is over 64 bits.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7F);
        if shift == 63 && part > 1 {
            return None;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(values in proptest::collection::vec(any::<u64>().prop_flat_map(|v| (0..64u32).prop_map(move |s| v >> s)), 0..20)) {
            let mut out = Vec::new();
            for value in &values {
                put_varint(&mut out, *value);
            }
            let mut rest = &out[..];
            for value in values {
                prop_assert_eq!(take_varint(&mut rest), Some(value));
            }
            prop_assert!(rest.is_empty());
            prop_assert_eq!(take_varint(&mut rest), None);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..16)) {
            let _ = take_varint(&mut &bytes[..]);
        }
    }
}
