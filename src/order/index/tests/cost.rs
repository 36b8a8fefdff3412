//! What it costs: nodes looked at, and memory of snapshots.

use super::*;
use crate::order::tree::{Shape, Shelf};

/// Facts of a history in which nothing is late: never asked.
struct Nothing;

impl Facts for Nothing {
    fn causes(&mut self, _: EventKey, _: &mut Vec<Cause>) -> Result<()> {
        panic!("nothing is late")
    }

    fn fingerprint(&mut self, _: EventKey) -> Result<u64> {
        panic!("nothing is late")
    }
}

/// A log of hosts that each follow themselves and sometimes another one.
struct Log {
    index: OrderIndex,
    shelf: Shelf,
    ranks: Ranks,
    last: Vec<u64>,
    random: Random,
}

const HOSTS: u32 = 8;

impl Log {
    fn new(events: u64) -> Self {
        let shelf = Memory::default().shelf(1 << 20, Shape::default());
        let ranks = Ranks::new(vec![4, 1, 7, 0, 2, 6, 5, 3]);
        let last = vec![0; HOSTS as usize];
        let mut log = Self { index: OrderIndex::default(), shelf, ranks, last, random: Random(11) };
        for _ in 0..events {
            log.add();
        }
        log
    }

    fn host(&mut self) -> u32 {
        u32::try_from(self.random.below(u64::from(HOSTS))).unwrap()
    }

    fn cause(&self, host: u32, back: u64) -> Option<Cause> {
        let seq = self.last[host as usize].checked_sub(back).filter(|seq| *seq > 0)?;
        Some(Cause { fingerprint: 0, at: Some(EventKey::new(host, seq)) })
    }

    fn add(&mut self) {
        let host = self.host();
        let mut causes: Vec<Cause> = self.cause(host, 0).into_iter().collect();
        if self.random.one_in(5) {
            let (other, back) = (self.host(), self.random.below(50));
            causes.extend(self.cause(other, back));
        }
        self.put(host, &causes);
    }

    fn put(&mut self, host: u32, causes: &[Cause]) {
        let last = &mut self.last[host as usize];
        *last += 1;
        let key = EventKey::new(host, *last);
        let new = NewEvent { key, fingerprint: 0, causes, namers: &[], follows: false };
        let placing = self.index.add(&self.shelf, &self.ranks, &new, &mut Nothing).unwrap();
        assert_eq!(placing, Placing::Placed);
    }
}

#[test]
fn placing_an_event_looks_at_few_nodes() {
    let events = if std::env::var_os("CAUSELOG_FULL").is_some() { 1_000_000 } else { 200_000 };
    let mut log = Log::new(events);
    let (mut sum, mut most, mut middle, mut many) = (0, 0, 0u64, 0);
    const COUNT: u64 = 2_000;
    for _ in 0..COUNT {
        let (before, generation) = (log.shelf.visits(), log.index.generation());
        log.add();
        let visits = log.shelf.visits() - before;
        middle += u64::from(log.index.changed_since(generation).is_some());
        sum += visits;
        most = most.max(visits);
        many += u64::from(visits > 60);
    }
    println!(
        "{} runs of {events} events: {} nodes an event, at most {most}; {middle} of {COUNT} in the middle",
        log.index.runs_len(),
        sum / COUNT
    );
    assert!(middle > COUNT / 2);
    assert!(sum / COUNT <= 40, "{} nodes an event", sum / COUNT);
    // Those that have to make room look at more.
    assert!(many <= COUNT / 100, "{many} events looked at more than 60 nodes");
    assert!(most <= 1_500, "{most} nodes for one event");
    // In the middle of the order, where nothing was added for long.
    let mut most = 0;
    for step in 1..50 {
        let host = log.host();
        let far = log.index.at(&log.shelf, events / 50 * step).unwrap();
        let causes = [Cause { fingerprint: 0, at: far }];
        let before = log.shelf.visits();
        log.put(host, &causes);
        most = most.max(log.shelf.visits() - before);
    }
    println!("far in the middle at most {most} nodes");
    assert!(most <= 60, "{most} nodes for an event in the middle");
}

#[test]
fn snapshots_share_nodes() {
    let mut log = Log::new(if cfg!(debug_assertions) { 50_000 } else { 200_000 });
    let mut memory = Memory::default();
    log.shelf = memory.shelf(64 << 20, Shape::default());
    log.index.flush(&log.shelf, &mut memory).unwrap();
    let mut snapshots = Vec::new();
    for _ in 0..1_000 {
        snapshots.push(log.index.clone());
        log.add();
    }
    let bytes = log.index.fresh_bytes();
    assert!(bytes < 4 << 20, "{bytes} bytes of nodes for 1,000 events");
    for (number, snapshot) in (0u64..).zip(&snapshots) {
        assert_eq!(snapshot.len() + 1_000 - number, log.index.len());
        assert_eq!(snapshot.generation() + 1_000 - number, log.index.generation());
    }
    snapshots[0].check(&log.shelf, &log.ranks).unwrap();
    snapshots[999].check(&log.shelf, &log.ranks).unwrap();
}

/// What arrives makes room again and again in the same place.
#[test]
fn room_is_made_wherever_it_runs_out() {
    const EVENTS: u64 = 20_000;
    let shelf = Memory::default().shelf(1 << 20, Shape::default());
    // Hosts with falling ranks: each one's event goes before that of the host before it; then rising; then in between.
    let ranks: [fn(u32) -> u32; 3] = [
        |host| u32::MAX - 1 - host,
        |host| host,
        |host| if host % 2 == 0 { host } else { u32::MAX - 1 - host },
    ];
    for rank in ranks {
        let ranks =
            Ranks::new((0..u32::try_from(EVENTS).unwrap()).map(|host| u64::from(rank(host))).collect());
        let mut index = OrderIndex::default();
        let before = shelf.visits();
        for host in 0..u32::try_from(EVENTS).unwrap() {
            let key = EventKey::new(host, 1);
            let new = NewEvent { key, fingerprint: 0, causes: &[], namers: &[], follows: false };
            assert_eq!(index.add(&shelf, &ranks, &new, &mut Nothing).unwrap(), Placing::Placed);
        }
        let each = (shelf.visits() - before) / EVENTS;
        println!("{each} nodes an event");
        assert!(each <= 400, "{each} nodes an event");
        assert_eq!(index.runs_len(), EVENTS);
        index.check(&shelf, &ranks).unwrap();
        let mut keys: Vec<EventKey> =
            (0..u32::try_from(EVENTS).unwrap()).map(|host| EventKey::new(host, 1)).collect();
        keys.sort_by_key(|key| ranks.of(*key));
        for (position, key) in (0..).zip(keys) {
            assert_eq!(index.at(&shelf, position).unwrap(), Some(key));
        }
    }
}
