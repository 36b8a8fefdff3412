//! Writing JSON text by hand: a generator that goes through a serializer is three times slower.

use super::random::Random;

/// The text of a UUID.
pub(super) type IdText = [u8; 36];

const HEX: &[u8; 16] = b"0123456789abcdef";

fn hex_digit(nibble: u64) -> u8 {
    usize::try_from(nibble & 15).ok().and_then(|at| HEX.get(at)).copied().unwrap_or(b'0')
}

/// Appends `digits` random hexadecimal digits.
pub(super) fn push_hex(out: &mut Vec<u8>, random: &mut Random, digits: usize) {
    let mut word = 0;
    for n in 0..digits {
        if n % 16 == 0 {
            word = random.next();
        }
        out.push(hex_digit(word));
        word >>= 4;
    }
}

/// Appends a number in decimal.
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let start = out.len();
    loop {
        out.push(hex_digit(number % 10));
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

/// Draws a UUID of version 4. Random ids are what the other implementations write, and the harder case
/// for an index of ids than ids that grow with time.
pub(super) fn new_id(random: &mut Random) -> IdText {
    let high = (random.next() & 0xffff_ffff_ffff_0fff) | 0x4000;
    let low = (random.next() & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    let mut text = [b'-'; 36];
    let mut shift = 128_u32;
    for (place, byte) in text.iter_mut().enumerate() {
        if !matches!(place, 8 | 13 | 18 | 23) {
            shift -= 4;
            let word = if shift >= 64 { high >> (shift - 64) } else { low >> shift };
            *byte = hex_digit(word);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_are_well_formed() {
        let mut out = Vec::new();
        push_number(&mut out, 0);
        out.push(b' ');
        push_number(&mut out, u64::MAX);
        assert_eq!(out, format!("0 {}", u64::MAX).as_bytes());

        let mut random = Random::new(1);
        for _ in 0..1000 {
            let text = String::from_utf8(new_id(&mut random).to_vec()).unwrap();
            let id = uuid::Uuid::parse_str(&text).unwrap();
            assert_eq!(id.get_version_num(), 4);
            assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
            assert_eq!(id.hyphenated().to_string(), text);
        }
    }
}
