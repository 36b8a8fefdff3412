//! Every query of a sealed segment gives what a plain model gives.

use proptest::prelude::*;
use rkyv::util::AlignedVec;

use super::fixture::{Fixture, HOSTS, Plain, TYPES, events, file_order, fingerprint, with_source};
use crate::codec::{Form, Frame, FrameSeed};
use crate::contract::ErrorKind;
use crate::io::{CountingVfs, OpenMode};
use crate::log::record::{Record, TableSizes};
use crate::log::seal::{SealSource, seal};
use crate::log::sealed::SealedSegment;
use std::sync::Arc;

fn assert_is(record: &Record, event: &Plain, ordinal: usize) {
    let read = record.get();
    assert_eq!(record.ordinal() as usize, ordinal);
    assert_eq!((read.host.to_native(), read.seq.to_native()), (event.host, event.seq));
    assert_eq!(read.kind.to_native(), event.kind);
    assert_eq!(read.id.get(), event.id.as_ref());
    assert_eq!(&*read.payload, event.payload.as_str());
    assert_eq!(read.causes.len(), event.causes.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_query_equals_the_model(events in events(80)) {
        let fixture = Fixture::new();
        let segment = fixture.sealed(7, &events);
        let order = file_order(&events);

        prop_assert_eq!((segment.number(), segment.events()), (7, events.len() as u64));
        let (header, state) = with_source(7, &events, |source| (source.header, source.state_after));
        prop_assert_eq!(segment.header().unwrap(), header);
        prop_assert_eq!(segment.state_after().unwrap(), state);

        for host in 0..=HOSTS.len() as u32 {
            let of_host: Vec<usize> = order.iter().copied().filter(|i| events[*i].host == host).collect();
            let entry = segment.host_entry(host).map(|entry| (entry.first_seq, entry.last_seq, entry.events as usize));
            let expected = of_host.first().zip(of_host.last())
                .map(|(first, last)| (events[*first].seq, events[*last].seq, of_host.len()));
            prop_assert_eq!(entry, expected);
            let seqs = of_host.iter().map(|i| events[*i].seq);
            let asked: Vec<u64> = seqs.flat_map(|seq| [seq, seq + 1]).chain([0, u64::MAX]).collect();
            for from in asked {
                let found: Vec<Record> = segment.seek(host, from).unwrap().collect::<Result<_, _>>().unwrap();
                let expected: Vec<usize> = of_host.iter().copied().filter(|i| events[*i].seq >= from).collect();
                prop_assert_eq!(found.len(), expected.len());
                for (record, index) in found.iter().zip(expected) {
                    assert_is(record, &events[index], index);
                }
            }
        }

        for (index, event) in events.iter().enumerate() {
            let found: Vec<Record> = segment.candidates(fingerprint(event.id.as_ref())).unwrap()
                .map(|offset| segment.record_at(offset).unwrap()).collect();
            prop_assert_eq!(found.len(), 1);
            assert_is(&found[0], event, index);
            let offset = segment.arrival(index as u32).unwrap().unwrap();
            prop_assert_eq!(Some(offset), segment.candidates(fingerprint(event.id.as_ref())).unwrap().next());
            for (cause, _) in &event.causes {
                let naming: Vec<u32> = segment.unresolved(fingerprint(cause.as_ref())).unwrap()
                    .map(|offset| segment.record_at(offset).unwrap().ordinal()).collect();
                let expected: Vec<u32> = order.iter().copied()
                    .filter(|i| events[*i].causes.contains(&(cause.clone(), false))).map(|i| i as u32).collect();
                prop_assert_eq!(naming, expected);
            }
        }
        prop_assert_eq!(segment.arrival(events.len() as u32).unwrap(), None);
        let arrived: Vec<u32> = segment.arrivals().unwrap()
            .map(|offset| segment.record_at(offset).unwrap().ordinal()).collect();
        prop_assert_eq!(arrived, (0..events.len() as u32).collect::<Vec<_>>());

        for kind in 0..=TYPES.len() as u32 {
            let found: Vec<usize> = segment.of_kind(kind).unwrap()
                .map(|offset| segment.record_at(offset).unwrap().ordinal() as usize).collect();
            let expected: Vec<usize> = order.iter().copied().filter(|i| events[*i].kind == kind).collect();
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(segment.verify(&mut |_| {}).unwrap().len(), 0);
        segment.verify_root().unwrap();
    }

    #[test]
    fn the_same_source_gives_the_same_bytes(events in events(30)) {
        let (a, b) = (Fixture::new(), Fixture::new());
        let (first, second) = (a.seal(7, &events), b.seal(7, &events));
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(a.read(&first.path), b.read(&second.path));
        prop_assert_eq!(a.read(&first.path).len() as u64, first.bytes);
    }

    #[test]
    fn records_outlive_their_segment(events in events(20)) {
        let fixture = Fixture::new();
        let segment = fixture.sealed(1, &events);
        let records: Vec<Record> = segment.arrivals().unwrap().map(|offset| segment.record_at(offset).unwrap()).collect();
        drop(segment);
        for (index, record) in records.iter().enumerate() {
            assert_is(&record.clone(), &events[index], index);
        }
    }

    #[test]
    fn a_frame_read_into_a_buffer_gives_the_same_record(events in events(20)) {
        let fixture = Fixture::new();
        let segment = fixture.sealed(1, &events);
        let bytes = fixture.read(segment.path());
        let seed = FrameSeed::new(&segment.trailer().store, 1, Form::Sealed.code());
        for (index, event) in events.iter().enumerate() {
            let offset = segment.arrival(index as u32).unwrap().unwrap();
            let frame = &bytes[offset as usize..];
            let (_, length) = Frame::peek(frame).unwrap();
            let aligned = |bytes: &[u8]| {
                let mut buffer = AlignedVec::<16>::new();
                buffer.extend_from_slice(bytes);
                buffer
            };
            let read = |bytes, offset, sizes| Record::from_buffer(aligned(bytes), offset, seed, sizes);
            assert_is(&read(&frame[..length], offset, segment.sizes()).unwrap(), event, index);
            // Cut short, elsewhere, or under a state that defines less, it is none.
            prop_assert!(read(&frame[..length - 8], offset, segment.sizes()).is_err());
            prop_assert!(read(&frame[..length], offset + 8, segment.sizes()).is_err());
            let fewer = TableSizes { hosts: event.host, ..segment.sizes() };
            let refused = read(&frame[..length], offset, fewer).unwrap_err().in_segment(1);
            prop_assert_eq!(refused.place().offset, Some(offset));
        }
    }
}

#[test]
fn opening_reads_under_one_percent() {
    let fixture = Fixture::new();
    let payload = "p".repeat(320);
    let events: Vec<Plain> = (0..40_000u64)
        .map(|n| Plain {
            host: (n % 4) as u32,
            seq: n,
            id: crate::contract::EventId::from_uuid_bytes(
                u128::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15_1234_5678_9ABC_DEF1).to_be_bytes(),
            ),
            kind: (n % 3) as u32,
            causes: Vec::new(),
            payload: payload.clone(),
        })
        .collect();
    let summary = fixture.seal(1, &events);
    assert!(summary.bytes > 16 << 20, "{} bytes", summary.bytes);
    let counting = Arc::new(CountingVfs::new(fixture.vfs.clone()));
    let vfs: Arc<dyn crate::io::Vfs> = counting.clone();
    let segment = Arc::new(SealedSegment::open(&vfs, &summary.path, &fixture.budget).unwrap());
    let opened = counting.counters();
    assert!(opened.read_bytes < 8192, "{} bytes read", opened.read_bytes);
    assert_eq!((opened.reads, opened.maps), (3, 0));
    assert_eq!(segment.seek(2, 39_000).unwrap().count(), 250);
    assert_eq!(segment.seek(2, 39_000).unwrap().count(), 250);
    assert_eq!((counting.counters().maps, counting.counters().reads), (1, 3));
    let frames: usize = events.iter().map(|_| 16 + 72 + 320).sum();
    let overhead = (summary.bytes as f64 - frames as f64) / 40_000.0;
    assert!(overhead < 24.0, "{overhead} bytes an event beside the frames");
}

type Spoil = fn(&mut SealSource<'_>);

#[test]
fn a_source_that_is_wrong_leaves_no_file() {
    let fixture = Fixture::new();
    let events: Vec<Plain> = (0..4)
        .map(|n| Plain {
            host: 0,
            seq: n,
            id: crate::contract::EventId::new(&format!("id {n}")).unwrap(),
            kind: 0,
            causes: Vec::new(),
            payload: "{}".to_owned(),
        })
        .collect();
    let spoils: [(&str, Spoil); 6] = [
        ("another seq", |source| source.entries[1].seq = 9),
        ("another host", |source| source.entries[1].host = 1),
        ("no such host", |source| source.entries[1].host = 99),
        ("an ordinal twice", |source| source.entries[1].ordinal = 0),
        ("an ordinal too high", |source| source.entries[1].ordinal = 4),
        ("an event twice", |source| source.entries[1] = source.entries[0]),
    ];
    for (what, spoil) in spoils {
        let refused = with_source(1, &events, |mut source| {
            spoil(&mut source);
            seal(&fixture.vfs, &fixture.dir, source)
        });
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Corrupt, "{what}");
        assert_eq!(fixture.vfs.list(&fixture.dir).unwrap(), Vec::<String>::new(), "{what}");
    }
    // A leftover of a crash is in nobody's way.
    let leftover = fixture.dir.join("0000000001.sealing");
    fixture.vfs.open(&leftover, OpenMode::Create).unwrap().write_at(&[1; 1 << 13], 0).unwrap();
    let segment = fixture.sealed(1, &events);
    assert_eq!(segment.verify(&mut |_| {}).unwrap().len(), 0);
    assert_eq!(fixture.vfs.list(&fixture.dir).unwrap(), ["0000000001.sealed"]);
}
