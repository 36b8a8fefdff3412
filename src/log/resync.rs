//! Finding the frames behind bytes that are none.
//!
//! Invariants:
//! - Every frame that checks is found, wherever the damage before it ends: each multiple of 8 is tried.
//! - The inside of a frame that checks is not searched.
//! - The work is bounded by the region, whatever headers claim. What a header claims is read again to be checked; once
//!   that adds up to more than honest damage asks for, only marks are tried, which are short. All marks are found in any
//!   case, so a verdict that rests on them is exact; other frames may then be missed.

use rkyv::util::AlignedVec;

use super::error::LogError;
use crate::codec::{FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, FrameKind, FrameSeed, GroupMark};
use crate::io::VfsFile;

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// So many times the region may be read again, and a few of the longest frames besides.
const AGAIN_TIMES: u64 = 64;
const AGAIN_BYTES: u64 = 64 << 20;

/// Bytes of a group mark's or a watermark's frame.
const MARK_BYTES: usize = Frame::bytes_for(GroupMark::BODY_BYTES);

/// Hands out all frames that check between two offsets, the first of which is a multiple of 8. The body of each
/// starts at a multiple of 16 in memory.
///
/// Returns the offset of the last byte that is not zero. Cost: a read for each chunk and one for each frame that ends
/// behind its chunk; at most some 64 times the region in all.
///
/// # Errors
/// System calls.
pub fn each_frame(
    file: &dyn VfsFile,
    seed: FrameSeed,
    from: u64,
    to: u64,
    mut visit: impl FnMut(u64, &Frame<'_>),
) -> Result<Option<u64>, LogError> {
    let mut last_byte = None;
    let mut buffer = AlignedVec::<16>::new();
    let mut body = AlignedVec::<16>::new();
    let (mut start, mut skip_to) = (from, from);
    let mut again = to.saturating_sub(from).saturating_mul(AGAIN_TIMES).saturating_add(AGAIN_BYTES);
    while start < to {
        // A header that starts at the end of one chunk is whole in the next: chunks overlap by one.
        read(file, &mut buffer, start, CHUNK_BYTES + FRAME_HEADER_BYTES)?;
        if let Some(last) = buffer.iter().rposition(|byte| *byte != 0) {
            last_byte = Some(start + last as u64);
            for at in (0..buffer.len().min(CHUNK_BYTES)).step_by(FRAME_ALIGN) {
                let offset = start + at as u64;
                let Some(head) = buffer.get(at..).filter(|_| offset >= skip_to) else { continue };
                let Ok((kind, bytes)) = Frame::peek(head) else { continue };
                if bytes as u64 > to.saturating_sub(offset) {
                    continue;
                }
                let is_mark = matches!(kind, FrameKind::Group | FrameKind::Watermark) && bytes == MARK_BYTES;
                match again.checked_sub(bytes as u64) {
                    Some(left) => again = left,
                    None if is_mark => {}
                    None => continue,
                }
                if let Some(held) = head.get(..bytes) {
                    body.clear();
                    body.extend_from_slice(held);
                } else {
                    read(file, &mut body, offset, bytes)?;
                }
                if let Ok(frame) = Frame::decode(&body, seed, offset) {
                    visit(offset, &frame);
                    skip_to = offset + bytes as u64;
                }
            }
        }
        start += CHUNK_BYTES as u64;
    }
    Ok(last_byte)
}

fn read(file: &dyn VfsFile, buffer: &mut AlignedVec<16>, offset: u64, bytes: usize) -> Result<(), LogError> {
    buffer.clear();
    buffer.resize(bytes, 0);
    let read = file.read_at(buffer, offset).map_err(LogError::io("read a segment"))?;
    buffer.resize(read, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::io::{CountingVfs, MemoryVfs, OpenMode, Vfs};

    #[test]
    fn headers_that_claim_much_cost_little_and_hide_no_mark() {
        let seed = FrameSeed::new(&[1; 16], 1, 1);
        let encode = |out: &mut Vec<u8>, kind, body: &[u8]| {
            let offset = out.len() as u64;
            Frame::encode(out, seed, offset, kind, 0, body).unwrap();
        };
        let mut bytes = Vec::new();
        encode(&mut bytes, FrameKind::Event, b"an event that checks");
        let whole = bytes.clone();
        // Each of these says that two megabytes follow, and two follow.
        while bytes.len() < 4 << 20 {
            let mut head = whole[..FRAME_HEADER_BYTES].to_vec();
            head[..4].copy_from_slice(&(2u32 << 20).to_le_bytes());
            bytes.extend_from_slice(&head);
        }
        encode(&mut bytes, FrameKind::Event, b"another one");
        encode(&mut bytes, FrameKind::Watermark, &[7; 16]);
        let vfs = CountingVfs::new(Arc::new(MemoryVfs::new()));
        let file = vfs.open(Path::new("/f"), OpenMode::Create).unwrap();
        file.write_at(&bytes, 0).unwrap();
        let mut found = Vec::new();
        let size = bytes.len() as u64;
        let last = each_frame(&*file, seed, 0, size, |_, frame| found.push(frame.kind)).unwrap();
        assert!(last.is_some_and(|last| last < size));
        assert_eq!((found.first(), found.last()), (Some(&FrameKind::Event), Some(&FrameKind::Watermark)));
        let read = vfs.counters().read_bytes;
        assert!(read <= size * (AGAIN_TIMES + 2) + AGAIN_BYTES, "{read} bytes of {size} were read");
    }
}
