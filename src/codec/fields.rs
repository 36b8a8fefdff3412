//! Fields at fixed offsets, and checksums that are bound to a place.

/// Reads `N` bytes at an offset; what lies behind the end is zeros.
pub(super) fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    let there = bytes.get(at..).unwrap_or_default();
    for (to, from) in out.iter_mut().zip(there) {
        *to = *from;
    }
    out
}

pub(super) fn take_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(take(bytes, at))
}

pub(super) fn take_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(take(bytes, at))
}

pub(super) fn take_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(take(bytes, at))
}

/// Writes a field at an offset inside of `bytes`.
pub(super) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    let there = bytes.get_mut(at..).unwrap_or_default();
    for (to, from) in there.iter_mut().zip(field) {
        *to = *from;
    }
}

/// The CRC-32C of the store's identity, a place, and bytes: the same bytes at another place have another one.
pub(super) fn seeded_crc(store: &[u8; 16], place: u64, parts: &[&[u8]]) -> u32 {
    let seed = crc32c::crc32c_append(crc32c::crc32c(store), &place.to_le_bytes());
    parts.iter().fold(seed, |crc, part| crc32c::crc32c_append(crc, part))
}

pub(super) fn is_zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
