//! Positions of subscriptions that were kept before a repair.

use std::sync::Arc;

use causelog::{Event, EventFields, Position, Store, SubscribeFrom};

use super::image::{Image, all_frames};
use super::repaired;

/// Everything from a position on, gaps passed over; and how many events those told of.
fn rest(store: &Store, from: impl Into<SubscribeFrom>) -> (Vec<String>, u64) {
    let mut subscription = store.subscribe(from).unwrap();
    let (mut ids, mut missing) = (Vec::new(), 0);
    loop {
        match subscription.try_next() {
            Ok(Some(event)) => ids.push(event.id().to_string()),
            Ok(None) => return (ids, missing),
            Err(error) => missing += subscription.gap().unwrap_or_else(|| panic!("{error}")).events,
        }
    }
}

#[test]
fn a_repair_passes_nothing_over() {
    for (rolled, which) in [
        (false, &[("0000000001.sealed", [40, 41, 90]), ("0000000004.sealed", [3, 60, 61])][..]),
        (true, &[("0000000002.sealed", [20, 21, 50]), ("0000000005.active", [4, 30, 31])][..]),
    ] {
        let mut image = if rolled { Image::rolled() } else { Image::sealed() };
        let before: Vec<String> = image.events.iter().map(|event: &Event| event.id.to_string()).collect();
        let frames = all_frames(&image);
        for (name, hits) in which {
            let events: Vec<_> =
                frames[*name].iter().copied().filter(|frame| frame.event.is_some()).collect();
            let damaged: Vec<_> = hits.iter().map(|at| events[*at]).collect();
            for frame in &damaged {
                image.flip(name, frame.offset + 20, 8);
            }
            image.lose(&damaged);
        }
        let lost = (before.len() - image.events.len()) as u64;
        assert_eq!(repaired(&image).events_lost, lost);
        let left: Vec<String> = image.events.iter().map(|event| event.id.to_string()).collect();
        let stores = [
            Store::open("/s", image.options()).unwrap(),
            Store::open_read_only("/s", image.options().vfs(Arc::new(image.vfs.fork()))).unwrap(),
        ];
        for store in &stores {
            assert_eq!(rest(store, SubscribeFrom::Start), (left.clone(), lost));
            let (mut exact, mut repeated) = (0, 0);
            for (at, id) in before.iter().enumerate() {
                let id = causelog::EventId::new(id).unwrap();
                let position = Position { arrival: at as u64, id: Some(id) };
                let (ids, _) = rest(store, Some(position));
                let wanted: Vec<&String> = before[at + 1..].iter().filter(|id| left.contains(id)).collect();
                assert!(
                    ids.iter().collect::<Vec<_>>().ends_with(&wanted),
                    "behind {at} something was passed over"
                );
                let more = ids.len() - wanted.len();
                if left.contains(&before[at]) {
                    assert_eq!(more, 0, "behind {at}, which is held, something came again");
                    exact += 1;
                } else {
                    assert!(more < 3, "behind {at}, which is lost, {more} came again");
                    repeated += more;
                }
            }
            assert_eq!(exact, left.len());
            println!("{repeated} came again behind {lost} lost events");
        }
    }
}
