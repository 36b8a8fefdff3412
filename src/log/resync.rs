//! Finding the frames behind bytes that are none.
//!
//! Invariants:
//! - Every frame that checks is found, wherever the damage before it ends: each multiple of 8 is tried.
//! - The inside of a frame that checks is not searched.

use rkyv::util::AlignedVec;

use super::error::LogError;
use crate::codec::{FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, FrameSeed};
use crate::io::VfsFile;

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Hands out all frames that check between two offsets, the first of which is a multiple of 8. The body of each
/// starts at a multiple of 16 in memory.
///
/// Returns the offset of the last byte that is not zero. Cost: a read for each chunk and one for each frame.
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
    while start < to {
        // A header that starts at the end of one chunk is whole in the next: chunks overlap by one.
        read(file, &mut buffer, start, CHUNK_BYTES + FRAME_HEADER_BYTES)?;
        if let Some(last) = buffer.iter().rposition(|byte| *byte != 0) {
            last_byte = Some(start + last as u64);
            for at in (0..buffer.len().min(CHUNK_BYTES)).step_by(FRAME_ALIGN) {
                let offset = start + at as u64;
                let Some(head) = buffer.get(at..).filter(|_| offset >= skip_to) else { continue };
                let Ok((_, bytes)) = Frame::peek(head) else { continue };
                if bytes as u64 > to.saturating_sub(offset) {
                    continue;
                }
                read(file, &mut body, offset, bytes)?;
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
