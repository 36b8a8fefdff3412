//! Calls that fail: reported as what they are, nothing half done, and no sync tried again.

use std::sync::Arc;

use super::fixture::{Fixture, address, data_key, paths, record, shredded, unwrapped};
use crate::blob::keys::{Access, End};
use crate::contract::{ErrorKind, Result};
use crate::io::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs};

type Operation = fn(&Fixture) -> Result<()>;

const OPERATIONS: [(&str, Operation); 6] = [
    ("create", Fixture::create),
    ("subject", |fixture| fixture.try_open(Access::Write)?.subject_or_create(Some("Ada")).map(drop)),
    ("allocate", |fixture| {
        let keys = fixture.try_open(Access::Write)?;
        let slot = keys.allocate(record(2), 1, &data_key(2))?;
        keys.add_wrap(slot, record(2), 1, &data_key(2))?;
        keys.sync()
    }),
    ("end", |fixture| {
        let keys = fixture.try_open(Access::Write)?;
        keys.end(0, record(1), End::Evicted)?;
        keys.sync()
    }),
    ("pin", |fixture| {
        let keys = fixture.try_open(Access::Write)?;
        keys.set_pinned(0, record(1), true)?;
        keys.unwrap(0, record(1))?;
        keys.sync()
    }),
    ("append", |fixture| fixture.try_ledger(Access::Write)?.append(&[shredded(1), shredded(2)])),
];

#[test]
fn each_call_can_fail_and_is_no_damage() {
    for (name, operation) in OPERATIONS {
        for failure in [Failure::MEDIUM, Failure::NO_SPACE] {
            for bytes in [0, 64] {
                for nth in 1.. {
                    let memory = Arc::new(MemoryVfs::new());
                    let before = Fixture::on(memory.clone());
                    if name != "create" {
                        before.create().unwrap();
                        let keys = before.open();
                        keys.allocate(record(1), 1, &data_key(1)).unwrap();
                        keys.sync().unwrap();
                    }
                    let faulty = FaultyVfs::new(memory);
                    let fixture = Fixture::on(Arc::new(faulty.clone()));
                    faulty.arm(Fault::nth(Calls::Any, nth, failure).after_bytes(bytes));
                    let done = operation(&fixture);
                    let failed = faulty.failed() > 0;
                    faulty.disarm();
                    let place = format!("{name}, call {nth}, {bytes} bytes");
                    match done {
                        Ok(()) => assert!(!failed, "{place}: failed in silence"),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{place}: {error}"),
                    }
                    // The next try finds nothing in its way, and all is well.
                    operation(&fixture).unwrap_or_else(|error| panic!("{place}: {error}"));
                    let keys = before.open();
                    keys.verify(&mut |error| panic!("{place}: {error}")).unwrap();
                    if !failed {
                        assert!(nth > 5, "{name}: only {nth} calls");
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_failed_sync_ends_the_writing() {
    let faulty = FaultyVfs::new(Fixture::new().vfs);
    let fixture = Fixture::on(Arc::new(faulty.clone()));
    let (keys, ledger) = (fixture.open(), fixture.ledger());
    keys.allocate(record(1), 1, &data_key(1)).unwrap();
    for _ in 0..2 {
        faulty.arm(Fault::nth(Calls::Only(Call::Sync), 1, Failure::MEDIUM));
    }
    assert_eq!(keys.sync().unwrap_err().kind(), ErrorKind::Io);
    faulty.disarm();
    faulty.arm(Fault::nth(Calls::Only(Call::Sync), 1, Failure::MEDIUM));
    assert_eq!(ledger.append(&[shredded(1)]).unwrap_err().kind(), ErrorKind::Io);
    faulty.disarm();
    let syncs = faulty.calls(Calls::Only(Call::Sync));
    let refused = [
        keys.sync().unwrap_err(),
        keys.allocate(record(2), 1, &data_key(2)).unwrap_err(),
        keys.end(0, record(1), End::Shredded).unwrap_err(),
        keys.set_pinned(0, record(1), true).unwrap_err(),
        keys.subject_or_create(Some("Ada")).unwrap_err(),
        ledger.append(&[shredded(2)]).unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.kind() == ErrorKind::Poisoned), "{refused:?}");
    assert_eq!(faulty.calls(Calls::Only(Call::Sync)), syncs, "a sync was tried again");
    assert!(!ledger.is_shredded(&address(1)), "what is uncertain is not told");
    assert_eq!(unwrapped(&keys, 0, 1), Some(1), "reading goes on");
}

#[test]
fn shredding_works_on_a_full_disk() {
    let faulty = FaultyVfs::new(Fixture::new().vfs);
    let fixture = Fixture::on(Arc::new(faulty.clone()));
    let (keys, ledger) = (fixture.open(), fixture.ledger());
    keys.allocate(record(1), 1, &data_key(1)).unwrap();
    faulty.limit_space(Some(0));
    let reserve = (fixture.read(&paths().erasures()).len() - 4096) / 128;
    for n in 0..reserve {
        ledger.append(&[shredded((n % 250) as u8)]).unwrap_or_else(|error| panic!("{n}: {error}"));
    }
    keys.end(0, record(1), End::Shredded).unwrap();
    keys.sync().unwrap();
    assert_eq!(unwrapped(&keys, 0, 1), None);
    assert_eq!(ledger.append(&[shredded(251)]).unwrap_err().kind(), ErrorKind::Io);
    // Slots are handed out as long as there are free ones, too, and what fails leaves nothing.
    let slots = std::iter::repeat_with(|| keys.allocate(record(2), 1, &data_key(2)));
    let refused = slots.take(100_000).find_map(Result::err).unwrap();
    assert_eq!(refused.kind(), ErrorKind::Io);
    let handed_out = keys.slots();
    assert!(handed_out > 500, "{handed_out} slots");
    faulty.limit_space(None);
    assert_eq!(fixture.open().slots(), handed_out);
    fixture.open().verify(&mut Err).unwrap();
    ledger.append(&[shredded(251)]).unwrap();
    assert_eq!(fixture.ledger().entries().count(), reserve + 1);
    assert_eq!(keys.allocate(record(3), 1, &data_key(3)).unwrap(), handed_out);
}
