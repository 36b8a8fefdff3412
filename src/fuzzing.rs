//! Entry points of the fuzz targets and of the test that replays their corpora. No part of the public interface.

use rkyv::util::AlignedVec;

use crate::codec::{
    FRAME_HEADER_BYTES, Frame, FrameError, FrameKind, FrameSeed, GroupMark, check_control, check_event,
};

/// Decodes a stream of frames from any bytes; returns how many events checked. The first byte is a flag: odd makes
/// each frame's checksum right before it is decoded, so that the records behind the checksums are reached.
#[must_use]
pub fn frames(data: &[u8]) -> usize {
    let Some((flag, rest)) = data.split_first() else { return 0 };
    let seed = FrameSeed::new(&[0; 16], 1, 1);
    let mut bytes = AlignedVec::<16>::new();
    bytes.extend_from_slice(rest);
    let (mut start, mut events) = (0, 0);
    while let Some(left) = bytes.get_mut(start..).filter(|left| left.len() >= FRAME_HEADER_BYTES) {
        let offset = start as u64;
        if flag % 2 == 1
            && let Err(FrameError::Checksum { expected, .. }) = Frame::decode(left, seed, offset)
            && let Some(slot) = left.get_mut(4..8)
        {
            slot.copy_from_slice(&expected.to_le_bytes());
        }
        let Ok(frame) = Frame::decode(left, seed, offset) else {
            start += crate::codec::FRAME_ALIGN;
            continue;
        };
        match frame.kind {
            FrameKind::Event => events += usize::from(check_event(frame.body).is_ok()),
            FrameKind::Control => drop(check_control(frame.body)),
            FrameKind::Group | FrameKind::Watermark => drop(GroupMark::from_body(frame.body)),
        }
        start += frame.bytes;
    }
    events
}

/// Returns a whole stream that decodes: a group mark, control records and an event. The seed of the corpus.
///
/// # Errors
/// When a record cannot be archived.
pub fn sample_frames() -> Result<Vec<u8>, String> {
    use crate::codec::{CauseRecord, Control, EventRecord, RecordBuffer, encode_control};
    use crate::contract::IdRef;
    let seed = FrameSeed::new(&[0; 16], 1, 1);
    let mut out = Vec::new();
    let mut put = |kind, body: &[u8]| {
        let offset = out.len() as u64;
        Frame::encode(&mut out, seed, offset, kind, 0, body).map(drop).map_err(|e| e.to_string())
    };
    put(FrameKind::Group, &GroupMark { durable_end: 0, events: 0 }.to_body())?;
    put(FrameKind::Control, &encode_control(&Control::HostDefined { name: "gateway".to_owned() })?)?;
    let causes = [CauseRecord { id: IdRef::new("a cause").into(), host: 0, seq: 1 }];
    let record = EventRecord {
        seq: 2,
        at: 0.5,
        id: IdRef::from_uuid_bytes([7; 16]).into(),
        host: 0,
        kind: 0,
        v: 1,
        causes: &causes,
        payload: r#"{"turnId":"t"}"#,
        extra: "",
    };
    put(FrameKind::Event, RecordBuffer::default().archive(&record)?)?;
    put(FrameKind::Watermark, &GroupMark { durable_end: 64, events: 1 }.to_body())?;
    out.insert(0, 0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_decodes_fully_and_mutated_it_harms_nothing() {
        let sample = sample_frames().unwrap();
        assert_eq!(frames(&sample), 1);
        let mut broken = sample.clone();
        broken[21] ^= 1;
        assert_eq!(frames(&broken), 1, "a broken group mark hides no event behind it");
        let last = sample.len() - 60;
        for at in 1..last {
            let mut mutated = sample.clone();
            mutated[at] ^= 0x5A;
            mutated[0] = 1;
            let _ = frames(&mutated);
        }
    }

    #[test]
    fn the_corpus_runs() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/frame");
        let Ok(inputs) = std::fs::read_dir(&dir) else {
            eprintln!("skipped: a packaged crate has no corpus in {}", dir.display());
            return;
        };
        let inputs = inputs.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        let decoded: Vec<usize> = inputs.map(|input| frames(&input)).collect();
        assert!(decoded.iter().any(|events| *events > 0), "at least one input decodes fully");
    }
}
