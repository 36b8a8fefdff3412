//! Records three events of two hosts, reads them in their one order, and replays them to a verdict.
//!
//! `cargo run --example quickstart [DIR]`; without a directory the store is in memory.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use causelog::{
    EventFields, HostId, JsonText, NewEvent, NoResolver, Options, ReplayOptions, Result, Store, replay,
};

fn main() -> Result<()> {
    let store = match std::env::args_os().nth(1) {
        Some(dir) => Store::open_or_create(dir, Options::new())?,
        None => Store::in_memory(Options::new())?,
    };

    // Each host has one writer, which counts `seq` and makes ids. Events name their causes by id.
    let mut gateway = store.appender(HostId::new("gateway")?)?;
    let mut phone = store.appender(HostId::new("phone")?)?;
    let turn = || JsonText::parse(r#"{"turnId":"t1"}"#);
    let started = gateway.append(NewEvent::new("turn.started", turn()?))?;
    let skipped = JsonText::parse(r#"{"turnId":"t1","stepped":false}"#)?;
    let ended = phone.append(NewEvent::new("turn.ended", skipped).with_causes([started.id.clone()]))?;
    gateway.append(NewEvent::new("turn.started", turn()?).with_causes([ended.id.clone()]))?;

    // The order depends on the set of events alone: not on clocks, not on who appended first.
    for event in store.ordered()? {
        let event = event?;
        println!("{}#{} {}", event.host(), event.seq(), event.kind());
    }

    // What an event rests on: itself, then its causes, depth first.
    for event in store.ancestry(&ended.id)? {
        println!("ancestry: {}", event?.id());
    }

    // Is this the one order, and do the invariants hold?
    let report = replay(store.ordered()?, &ReplayOptions::new(), &NoResolver)?;
    println!("{report}");
    assert!(report.ok);

    // Everything is on disk; closing makes the next opening quick.
    store.close()
}
