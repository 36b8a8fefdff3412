//! Random histories with everything that makes an order hard: late causes, dangling ones, gaps, cycles.

use causelog::{Event, EventId};
use proptest::prelude::*;

use crate::support::named;

/// One event to come: host, step of `seq`, and its causes as draws.
pub(crate) type Draw = (u8, u8, Vec<(u16, u8)>);

/// Draws histories over up to so many hosts.
pub(crate) fn draws(hosts: u8, events: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Draw>> {
    let cause = (any::<u16>(), 0u8..16);
    prop::collection::vec((0..hosts, 0u8..10, prop::collection::vec(cause, 0..4)), events)
}

fn id(number: usize) -> EventId {
    EventId::new(&format!("e{number}")).unwrap()
}

/// Makes the events. Most causes are earlier ones, some come later, some never; a later event's cause can close a cycle.
pub(crate) fn history(draws: &[Draw]) -> Vec<Event> {
    let mut next = [0u64; 256];
    let mut events = Vec::new();
    for (number, (host, step, causes)) in draws.iter().enumerate() {
        let seq = &mut next[usize::from(*host)];
        *seq += 1 + u64::from(step.saturating_sub(7));
        let cause = |(any, kind): &(u16, u8)| match kind {
            0 => EventId::new(&format!("nobody{}", any % 5)).unwrap(),
            1 => id(number + 1 + usize::from(*any) % 9),
            2..=6 => id(usize::from(*any) % (number + 1)),
            _ => id(number.saturating_sub(1 + usize::from(*any) % 6)),
        };
        let mut causes: Vec<EventId> = causes.iter().map(cause).collect();
        // Naming itself is a cycle of its own; a few are enough.
        if number % 16 != 0 {
            causes.retain(|cause| *cause != id(number));
        }
        events.push(named(id(number), &format!("host{host}"), *seq, causes));
    }
    events
}
