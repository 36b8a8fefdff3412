//! A process that appends, puts content and shreds some is killed at random moments; nothing it acknowledged is lost,
//! and nothing it said was shredded can be read.
//!
//! `CAUSELOG_KILL_ROUNDS` sets how many rounds there are, `CAUSELOG_KILL_SEED` what the moments are drawn from.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy's settings for tests do not reach"
)]

#[path = "it/support.rs"]
#[allow(dead_code, reason = "shared with the other integration tests")]
mod support;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use causelog::{
    Address, AddressKind, Appended, BatchMode, BlobState, Durability, Event, EventId, JsonText, Options,
    SegmentForm, Store, verify,
};

use support::{Random, env_number, held, ids, in_order, named};

const THREADS: u64 = 3;
const DIR: &str = "CAUSELOG_KILL_DIR";
const SEED: &str = "CAUSELOG_KILL_CHILD_SEED";

/// The one event of a host and a `seq`: it names a host's event half as far, held or not, so some causes come late.
fn event_at(host: u64, seq: u64) -> Event {
    let id = |host: u64, seq: u64| EventId::new(&format!("h{host}-{seq}")).unwrap();
    let causes = if seq == 0 { Vec::new() } else { vec![id((host + 1) % THREADS, seq / 2)] };
    let event = named(id(host, seq), &format!("h{host}"), seq, causes);
    match content_at(host, seq) {
        None => event,
        Some(content) => Event {
            payload: JsonText::parse(&format!(
                r#"{{"turnId":"t{seq}","content":"blake3:{}"}}"#,
                blake3::hash(&content).to_hex()
            ))
            .unwrap(),
            ..event
        },
    }
}

/// The content that such an event names, if it is one of the two in 22 that do: 1 to 5,000 bytes. One is what all hosts
/// name, so that it is held already; some of the other is greater than packs share.
fn content_at(host: u64, seq: u64) -> Option<Vec<u8>> {
    let bytes = match seq % 22 {
        0 if seq.is_multiple_of(176) && host == 0 => (4 << 20) + 7,
        0 | 11 => usize::try_from(1 + seq * 37 % 5000).unwrap(),
        _ => return None,
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&if seq.is_multiple_of(22) { host.to_le_bytes() } else { u64::MAX.to_le_bytes() });
    hasher.update(&seq.to_le_bytes());
    let mut content = vec![0; bytes];
    hasher.finalize_xof().fill(&mut content);
    Some(content)
}

fn address_of(content: &[u8]) -> Address {
    Address::new(AddressKind::Blake3, *blake3::hash(content).as_bytes())
}

/// Whether a host shreds the content of its event: of what no other names, a third.
fn is_shredded_at(seq: u64) -> bool {
    seq.is_multiple_of(22) && seq.is_multiple_of(3)
}

fn options(seed: u64) -> Options {
    let millis = Duration::from_millis(3);
    let durability = match seed % 4 {
        0 => Durability::Interval(millis),
        1 => Durability::Os,
        _ => Durability::Durable,
    };
    Options::new()
        .segment_bytes_max(if seed.is_multiple_of(7) { 3 << 20 } else { 64 << 10 })
        .checkpoint_interval(millis)
        .idle_after(millis)
        .background(!seed.is_multiple_of(5))
        .durability(durability)
        .lock_wait(Duration::from_secs(10))
}

/// The process that is killed: appends for ever, and notes what was acknowledged.
#[test]
#[ignore = "started by the other test"]
fn child() {
    let (Ok(dir), seed) = (std::env::var(DIR), env_number(SEED, 0)) else { return };
    let dir = Path::new(&dir);
    let store = Store::open_or_create(dir.join("store"), options(seed)).unwrap();
    std::thread::scope(|scope| {
        for host in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                let mut acks = OpenOptions::new().append(true).create(true).open(dir.join("acks")).unwrap();
                let mut shreds =
                    OpenOptions::new().append(true).create(true).open(dir.join("shreds")).unwrap();
                let name = causelog::HostId::new(&format!("h{host}")).unwrap();
                let mut next = store.cursor().unwrap().get(&name).map_or(0, |entry| entry.seq.get() + 1);
                loop {
                    let events: Vec<Event> =
                        (next..next + 1 + 9 * (next % 2)).map(|seq| event_at(host, seq)).collect();
                    let contents: Vec<(u64, Vec<u8>)> = (next..next + events.len() as u64)
                        .filter_map(|seq| Some((seq, content_at(host, seq)?)))
                        .collect();
                    for (_, content) in &contents {
                        store.blobs().put(content).unwrap();
                    }
                    if let [event] = &events[..] {
                        assert_eq!(store.append(event).unwrap(), Appended::Stored);
                    } else {
                        let report = store.append_batch(&events, BatchMode::StopAtFirst).unwrap();
                        assert_eq!(report.stored(), events.len());
                    }
                    next += events.len() as u64;
                    acks.write_all(format!("{host} {next}\n").as_bytes()).unwrap();
                    for (seq, content) in contents.iter().filter(|(seq, _)| is_shredded_at(*seq)) {
                        let address = address_of(content);
                        // Said before and after, as a shredding that was not acknowledged may be or not be.
                        shreds.write_all(format!("{host} {seq} begun\n").as_bytes()).unwrap();
                        store.blobs().shred(&address).unwrap();
                        shreds.write_all(format!("{host} {seq} done\n").as_bytes()).unwrap();
                    }
                    if next.is_multiple_of(31) {
                        store.checkpoint().unwrap();
                    }
                }
            });
        }
    });
}

/// Host to how many events were acknowledged: seqs are used without gaps.
fn acknowledged(dir: &Path) -> BTreeMap<u64, u64> {
    let text = std::fs::read_to_string(dir.join("acks")).unwrap_or_default();
    let mut acked = BTreeMap::new();
    for line in text.lines() {
        let (host, next) = line.split_once(' ').unwrap();
        acked.insert(host.parse().unwrap(), next.parse().unwrap());
    }
    acked
}

/// Host and `seq` of content to whether its shredding was acknowledged; `false` where it was only begun.
fn shredded(dir: &Path) -> BTreeMap<(u64, u64), bool> {
    let text = std::fs::read_to_string(dir.join("shreds")).unwrap_or_default();
    let mut shredded = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let place = (words[0].parse().unwrap(), words[1].parse().unwrap());
        *shredded.entry(place).or_default() |= words[2] == "done";
    }
    shredded
}

/// Checks that the content of acknowledged events is there, and that of acknowledged shreddings is not. Returns how many
/// pieces of each there were.
fn check_content(
    store: &Store,
    acked: &BTreeMap<u64, u64>,
    shredded: &BTreeMap<(u64, u64), bool>,
) -> (u64, u64) {
    assert!(store.opening().content_damage.is_empty(), "{:?}", store.opening());
    let blobs = store.blobs();
    let (mut there, mut gone) = (0, 0);
    for (&host, &next) in acked {
        for seq in 0..next {
            let Some(content) = content_at(host, seq) else { continue };
            let address = address_of(&content);
            match shredded.get(&(host, seq)) {
                None => {
                    assert_eq!(blobs.state(&address).unwrap(), BlobState::Resident, "{host} {seq}");
                    assert!(blobs.get(&address).unwrap().as_ref() == Some(&content), "{host} {seq}");
                    there += 1;
                }
                Some(true) => {
                    assert_eq!(blobs.state(&address).unwrap(), BlobState::Shredded, "{host} {seq}");
                    assert_eq!(blobs.get(&address).unwrap(), None, "{host} {seq}");
                    gone += 1;
                }
                Some(false) => {
                    let held = blobs.get(&address).unwrap();
                    assert!(held.is_none() || held.as_ref() == Some(&content), "{host} {seq}");
                }
            }
        }
    }
    (there, gone)
}

/// Checks what a store holds; `before` is how much it held before the last process was started.
fn check(store: &Store, acked: &BTreeMap<u64, u64>, before: &mut BTreeMap<u64, u64>) -> u64 {
    assert!(store.opening().damage.is_empty(), "{:?}", store.opening());
    assert_eq!(store.opening().torn.as_ref().map_or(0, |torn| torn.missing_bytes), 0);
    let events = held(store);
    for event in &events {
        let host = event.host.as_str()[1..].parse().unwrap();
        assert_eq!(*event, event_at(host, event.seq.get()));
    }
    for host in 0..THREADS {
        let count = events.iter().filter(|event| event.host.as_str()[1..] == host.to_string()).count() as u64;
        let least = acked.get(&host).copied().unwrap_or(0);
        assert!(count >= least, "host {host}: {count} events held, {least} acknowledged");
        let most = least.max(before.insert(host, count).unwrap_or(0)) + 10;
        assert!(count <= most, "host {host}: {count} events held, {most} offered");
        for seq in (0..count).rev().take(20) {
            assert!(store.has(&event_at(host, seq).id).unwrap());
        }
    }
    assert_eq!(ids(store.ordered().unwrap()), in_order(&events));
    events.len() as u64
}

fn kill_after(dir: &Path, seed: u64, delay: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--test-threads=1"])
        .env(DIR, dir)
        .env(SEED, seed.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), None, "it ended before it was killed: {output:?}");
}

#[test]
fn killed_at_random_moments_it_keeps_what_it_acknowledged() {
    const ROUNDS_A_STORE: u64 = 10;
    let rounds = env_number("CAUSELOG_KILL_ROUNDS", 200);
    let seed = env_number("CAUSELOG_KILL_SEED", 1);
    let mut random = Random(seed);
    let (mut events, mut acked_total, mut torn, mut segments) = (0, 0, 0, 0);
    let (mut opened_rounds, mut sealed) = (0, 0);
    let (mut pieces, mut shredded_pieces) = (0, 0);
    let mut dir = tempfile::tempdir().unwrap();
    let mut before = BTreeMap::new();
    for round in 0..rounds {
        if round % ROUNDS_A_STORE == 0 {
            dir = tempfile::tempdir().unwrap();
            before.clear();
        }
        let child_seed = random.next() >> 32;
        kill_after(dir.path(), child_seed, Duration::from_micros(random.next() % 120_000));
        let acked = acknowledged(dir.path());
        let path = dir.path().join("store");
        let options = options(random.next() >> 32);
        let opened = if round % 2 == 0 {
            // The next process meets what this one left.
            Store::open_read_only(&path, options)
        } else {
            Store::open(&path, options)
        };
        let store = match opened {
            Ok(store) => store,
            Err(error) => {
                assert!(acked.is_empty(), "round {round}: {error:?}");
                continue;
            }
        };
        opened_rounds += u64::from(!acked.is_empty());
        let count = check(&store, &acked, &mut before);
        let content = check_content(&store, &acked, &shredded(dir.path()));
        let parts = store.stats().unwrap().segments;
        sealed += parts.iter().filter(|segment| segment.form == SegmentForm::Sealed).count();
        torn += u64::from(store.opening().torn.is_some());
        if round % 2 == 1 {
            for host in 0..THREADS {
                let name = causelog::HostId::new(&format!("h{host}")).unwrap();
                let next = store.cursor().unwrap().get(&name).map_or(0, |entry| entry.seq.get() + 1);
                if let Some(content) = content_at(host, next) {
                    store.blobs().put(&content).unwrap();
                }
                assert_eq!(store.append(&event_at(host, next)).unwrap(), Appended::Stored);
                let mut acks =
                    OpenOptions::new().append(true).create(true).open(dir.path().join("acks")).unwrap();
                acks.write_all(format!("{host} {}\n", next + 1).as_bytes()).unwrap();
            }
            store.close().unwrap();
        }
        if round % ROUNDS_A_STORE == ROUNDS_A_STORE - 1 {
            let report = verify(&path, &Options::new(), &()).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            segments += report.segments;
            pieces += content.0;
            shredded_pieces += content.1;
            events += count;
            acked_total += acked.values().sum::<u64>();
        }
    }
    // A loop that kills before anything was acknowledged shows nothing.
    if rounds >= ROUNDS_A_STORE {
        assert!(opened_rounds * 4 > rounds, "{opened_rounds} of {rounds} rounds met acknowledged events");
        assert!(acked_total > 0 && events >= acked_total, "{acked_total} acknowledged, {events} held");
        assert!(sealed > 0, "no segment was ever sealed");
        assert!(pieces > 0 && shredded_pieces > 0, "{pieces} pieces of content, {shredded_pieces} shredded");
    }
    println!(
        "{rounds} kills with seed {seed}: {events} events held, {acked_total} of them acknowledged, in {segments} \
         segments; {torn} torn tails; {pieces} pieces of content, {shredded_pieces} shredded"
    );
}
