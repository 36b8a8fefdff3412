//! Whole numbers in as few bytes as they need: LEB128, the shortest form only.

/// Writes a number: seven bits a byte, the lowest first.
pub fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [lowest, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(lowest);
            return;
        }
        out.push(0x80 | lowest);
    }
}

/// Takes a number off the front; `None`, and nothing said about how much was taken, where the bytes end too early, hold
/// more than 64 bits, or are not the shortest form.
pub fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if (bits << shift) >> shift != bits || (byte == 0 && shift > 0) {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes a number of at most 32 bits, as [`take_u64`] does.
pub fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take_u64(bytes)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_u64(&mut out, value);
        out
    }

    proptest! {
        #[test]
        fn what_was_put_is_taken(value: u64, bits in 0..64_u32) {
            let value = value >> bits;
            let bytes = bytes_of(value);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(take_u64(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
            for cut in 0..bytes.len() {
                prop_assert_eq!(take_u64(&mut &bytes[..cut]), None);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_the_only_form(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            if let Some(value) = take_u64(&mut rest) {
                prop_assert_eq!(&bytes[..bytes.len() - rest.len()], bytes_of(value));
            }
        }
    }

    #[test]
    fn too_many_bits_are_refused() {
        assert_eq!(take_u64(&mut bytes_of(u64::MAX).as_slice()), Some(u64::MAX));
        assert_eq!(take_u64(&mut [0xff; 10].as_slice()), None);
        assert_eq!(
            take_u64(&mut [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02].as_slice()),
            None
        );
        assert_eq!(take_u32(&mut bytes_of(1 << 32).as_slice()), None);
    }
}
