use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::arranged::Arranged;
use super::*;
use crate::cli::r#gen::{Generator, Plan, Shape};
use crate::contract::{Code, Event, EventFields, EventId, TypeRegistry, UnknownTypes};
use crate::order;
use crate::store::{Appended, Options, Store};

struct Taken {
    dir: tempfile::TempDir,
    faults: Faults,
}

impl Taken {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), faults: Faults::default() }
    }

    fn arrange(&mut self, text: &str) -> Arranged {
        self.arrange_against(text, &Against::nothing())
    }

    fn arrange_against(&mut self, text: &str, against: &Against) -> Arranged {
        let rules = Rules::Append { registry: TypeRegistry::v1(), unknown: UnknownTypes::Refuse };
        let intake = read(text.as_bytes(), &rules, against, self.dir.path(), &mut self.faults).unwrap();
        resolve(intake, self.dir.path(), &mut self.faults, against, || ()).unwrap()
    }

    /// Line and code of every fault.
    fn faults(&self) -> Vec<(u64, Code)> {
        self.faults.kept().map(|error| (error.place().line.unwrap(), error.code())).collect()
    }
}

fn line(id: &str, host: &str, seq: u64, causes: &[&str], note: &str) -> String {
    let causes: Vec<String> = causes.iter().map(|cause| format!("{cause:?}")).collect();
    format!(
        r#"{{"v":1,"id":"{id}","host":"{host}","seq":{seq},"causes":[{}],"at":0,"type":"turn.started","payload":{{"turnId":"{note}"}}}}"#,
        causes.join(",")
    ) + "\n"
}

fn causal(arranged: &Arranged) -> Vec<(u64, Event)> {
    let mut causal = Causal::new(arranged);
    let mut all = Vec::new();
    while let Some(due) = causal.next().unwrap() {
        all.push((due.line, due.event));
    }
    all
}

fn in_memory() -> Store {
    Store::in_memory(Options::new().background(false)).unwrap()
}

fn against(store: &Store) -> Against {
    Against::store(store.snapshot().unwrap()).unwrap()
}

fn ids(events: &[(u64, Event)]) -> Vec<String> {
    events.iter().map(|(_, event)| event.id.to_string()).collect()
}

fn synthetic(shape: Shape, events: u64, hosts: usize) -> Vec<String> {
    let mut generator = Generator::new(Plan { events, hosts, seed: 3, shape, cross_per_mille: Some(300) });
    let mut out = Vec::new();
    while generator.next_line(&mut out) {}
    String::from_utf8(out).unwrap().lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn any_order_of_lines_goes_in_causally() {
    for shape in [Shape::Chain, Shape::Star, Shape::Wide, Shape::Runs, Shape::Hard] {
        for hosts in [1, 3, 40] {
            let mut lines = synthetic(shape, 600, hosts);
            lines.sort();
            let mut taken = Taken::new();
            let arranged = taken.arrange(&lines.concat());
            let events = causal(&arranged);
            assert_eq!((events.len(), taken.faults.count(), arranged.duplicates), (600, 0, 0));
            let mut held = HashSet::new();
            let mut last: HashMap<_, _> = HashMap::new();
            for (number, event) in events {
                assert!(event.causes.iter().all(|cause| held.contains(cause)));
                assert!(last.insert(event.host.clone(), event.seq).is_none_or(|seq| seq < event.seq));
                let text = &lines[usize::try_from(number).unwrap() - 1];
                assert!(text.contains(&event.id.to_string()));
                held.insert(event.id);
            }
        }
    }
}

#[test]
fn hosts_that_wait_for_each_other_all_go_in() {
    // a1 waits for b2 and b1 for a2: no cycle, yet somebody has to go first.
    let text = line("a1", "a", 1, &["b2"], "")
        + &line("a2", "a", 2, &[], "")
        + &line("b1", "b", 1, &["a2"], "")
        + &line("b2", "b", 2, &["nobody"], "");
    let text = text.replace(r#""turnId":"""#, r#""turnId":"t""#);
    let mut taken = Taken::new();
    assert_eq!(ids(&causal(&taken.arrange(&text))), ["a1", "a2", "b1", "b2"]);
    assert_eq!(taken.faults(), []);
}

#[test]
fn repeated_lines_are_duplicates_and_contradictions_name_both_lines() {
    let text = line("x", "a", 1, &[], "t")
        + &line("x", "a", 1, &[], "t").replace(r#""at":0"#, r#""at":0.0"#)
        + &line("x", "a", 1, &[], "other")
        + &line("y", "a", 1, &[], "t")
        + &line("x", "b", 9, &[], "t")
        + &line("z", "b", 9, &["x"], "t").replace("\"b\",\"seq\":9", "\"b\",\"seq\":10");
    let mut taken = Taken::new();
    let arranged = taken.arrange(&text);
    assert_eq!(taken.faults(), [(3, Code::Id), (4, Code::Seq), (5, Code::Id)]);
    for error in taken.faults.kept() {
        assert!(error.message().contains("line 1"), "{error}");
    }
    assert_eq!((arranged.events(), arranged.duplicates), (6, 1));
    assert_eq!(ids(&causal(&arranged)), ["x", "z"]);
}

#[test]
fn what_the_store_says_counts() {
    let x = line("x", "a", 1, &["later"], "t");
    let store = in_memory();
    for held in [&x, &line("w", "a", 2, &[], "t")] {
        store.append(&crate::codec::parse_event(held.trim().as_bytes()).unwrap()).unwrap();
    }
    let text = x.clone()
        + &line("y", "a", 2, &[], "t")
        + &line("w", "a", 2, &[], "other")
        + &line("late", "a", 3, &["y"], "t")
        + &line("late", "a", 3, &["y"], "t")
        + &line("y", "a", 2, &[], "t");
    let mut taken = Taken::new();
    let arranged = taken.arrange_against(&text, &against(&store));
    // A repeat of what is refused is refused as well.
    assert_eq!(taken.faults(), [(2, Code::Seq), (3, Code::Id), (6, Code::Seq)]);
    assert_eq!(arranged.duplicates, 2);
    assert_eq!(ids(&causal(&arranged)), ["late"]);
}

#[test]
fn a_refused_line_takes_no_place() {
    // The second line repeats an id, so seq 6 is free for the third.
    let text = line("a", "h", 5, &[], "t") + &line("a", "h", 6, &[], "t") + &line("b", "h", 6, &[], "t");
    let mut taken = Taken::new();
    let arranged = taken.arrange(&text);
    assert_eq!(taken.faults(), [(2, Code::Id)]);
    assert_eq!(ids(&causal(&arranged)), ["a", "b"]);
}

#[test]
fn a_repeat_of_what_closes_a_cycle_is_refused() {
    let text = line("a", "a", 1, &["b"], "t") + &line("b", "b", 1, &["a"], "t").repeat(2);
    let mut taken = Taken::new();
    let arranged = taken.arrange(&text);
    assert_eq!(taken.faults(), [(2, Code::Cycle), (3, Code::Cycle)]);
    assert_eq!(arranged.duplicates, 0);
}

#[test]
fn a_cycle_through_the_store_is_found() {
    // x waits for y and comes after it; where segments end makes no difference.
    for held_between in [0, 2000] {
        let store = Store::in_memory(Options::new().background(false).segment_bytes_max(1 << 16)).unwrap();
        let append = |text: String| {
            store.append(&crate::codec::parse_event(text.trim().as_bytes()).unwrap()).unwrap();
        };
        append(line("x", "x", 1, &["y"], "t"));
        for n in 0..held_between {
            let before = if n == 0 { "x".to_owned() } else { format!("m{}", n - 1) };
            append(line(&format!("m{n}"), "m", n, &[&before], "t"));
        }
        let last = if held_between == 0 { "x".to_owned() } else { format!("m{}", held_between - 1) };
        let text = line("z", "z", 1, &["y"], "t")
            + &line("y", "y", 1, &[&last], "t")
            + &line("w", "w", 1, &["z", "x"], "t");
        let mut taken = Taken::new();
        let arranged = taken.arrange_against(&text, &against(&store));
        assert_eq!(taken.faults(), [(2, Code::Cycle)]);
        let events = causal(&arranged);
        assert_eq!(events.len(), 2);
        for (_, event) in events {
            assert_eq!(store.append(&event).unwrap(), Appended::Stored);
        }
        // Now that there are late causes, the answer is the same.
        let mut again = Taken::new();
        again.arrange_against(&text, &against(&store));
        assert_eq!(again.faults(), [(2, Code::Cycle)]);
    }
}

/// What becomes of each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stored,
    Duplicate,
    Refused,
}

/// The rule over events that name no causes, as plainly as it can be said.
fn by_the_rule(held: &[Event], lines: &[Event]) -> Vec<Fate> {
    let mut fates: Vec<Fate> = Vec::new();
    for (n, event) in lines.iter().enumerate() {
        let high = held.iter().filter(|other| other.host == event.host).map(|other| other.seq).max();
        let first = lines.iter().position(|other| other.id == event.id).unwrap();
        let same = |other: &Event| if other == event { Fate::Duplicate } else { Fate::Refused };
        fates.push(if let Some(other) = held.iter().find(|other| other.id == event.id) {
            same(other)
        } else if first < n {
            // A repeat fares as the first line did.
            if fates[first] == Fate::Stored { same(&lines[first]) } else { Fate::Refused }
        } else if high.is_some_and(|high| event.seq <= high) {
            Fate::Refused
        } else {
            let taken = lines[..n].iter().zip(&fates).any(|(other, fate)| {
                *fate == Fate::Stored && (&other.host, other.seq) == (&event.host, event.seq)
            });
            if taken { Fate::Refused } else { Fate::Stored }
        });
    }
    fates
}

/// Imports leniently. Whatever is not refused beforehand, the store takes.
fn import(store: &Store, lines: &[Event]) -> Vec<Fate> {
    let mut taken = Taken::new();
    let arranged = taken.arrange_against(&text_of(lines), &against(store));
    let mut fates = vec![Fate::Duplicate; lines.len()];
    for (line, event) in causal(&arranged) {
        assert_eq!(store.append(&event).unwrap(), Appended::Stored);
        fates[usize::try_from(line).unwrap() - 1] = Fate::Stored;
    }
    for (line, _) in taken.faults() {
        let fate = &mut fates[usize::try_from(line).unwrap() - 1];
        assert_eq!(*fate, Fate::Duplicate);
        *fate = Fate::Refused;
    }
    let duplicates = fates.iter().filter(|fate| **fate == Fate::Duplicate).count();
    assert_eq!(arranged.duplicates, u64::try_from(duplicates).unwrap());
    fates
}

/// Events that contradict and repeat each other: number of the id, host, seq, payload, causes.
fn quarrelling(causes: usize) -> impl Strategy<Value = Vec<Event>> {
    let one = (0..7, 0..3, 0..5_u64, 0..6, proptest::collection::vec(0..9, 0..=causes)).prop_map(
        |(id, host, seq, note, causes)| {
            let causes: Vec<String> = causes.iter().map(|cause| format!("e{cause}")).collect();
            let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
            let note = if note == 0 { "other" } else { "t" };
            let text = line(&format!("e{id}"), &format!("h{host}"), seq, &causes, note);
            crate::codec::parse_event(text.trim().as_bytes()).unwrap()
        },
    );
    // Some lines come again.
    (proptest::collection::vec(one, 0..10), proptest::collection::vec(0_usize..10, 0..6)).prop_map(
        |(mut events, again)| {
            for (n, from) in again.into_iter().enumerate() {
                if let Some(event) = events.get(from).cloned() {
                    events.insert((n * 3).min(events.len()), event);
                }
            }
            events
        },
    )
}

#[test]
fn bad_lines_are_named_and_the_rest_is_taken() {
    let good = line("x", "a", 1, &[], "t");
    let text = format!(
        "\u{feff}{good}\r\n\r\n{{\n{}",
        good.replace('x', "y").replace("\"seq\":1", "\"seq\":2").trim()
    );
    let mut taken = Taken::new();
    let arranged = taken.arrange(&text);
    assert_eq!(taken.faults(), [(4, Code::Json)]);
    assert_eq!(causal(&arranged).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 5]);
}

/// Events over a few hosts; `links` are pairs of event numbers, the first of which names the second.
fn tangled(hosts: usize, count: usize, links: &[(usize, usize)]) -> Vec<Event> {
    (0..count)
        .map(|n| {
            let causes: Vec<String> =
                links.iter().filter(|link| link.0 == n).map(|link| format!("e{}", link.1)).collect();
            let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
            let host = format!("h{}", n % hosts);
            let text = line(&format!("e{n}"), &host, u64::try_from(n).unwrap(), &causes, "t");
            crate::codec::parse_event(text.trim().as_bytes()).unwrap()
        })
        .collect()
}

fn text_of(events: &[Event]) -> String {
    let mut out = Vec::new();
    for event in events {
        crate::codec::write_event(event, &mut out);
        out.push(b'\n');
    }
    String::from_utf8(out).unwrap()
}

/// Whether some path of causes leads from an event back to it, among events held.
fn closes(event: &Event, held: &HashMap<EventId, Event>) -> bool {
    let mut open = event.causes.clone();
    let mut seen = HashSet::new();
    while let Some(id) = open.pop() {
        if id == event.id {
            return true;
        }
        if let Some(cause) = held.get(&id)
            && seen.insert(id)
        {
            open.extend(cause.causes.iter().cloned());
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Events that stay out are the ones at which a cycle closes, and no others.
    #[test]
    fn cycles_are_found_where_they_close(
        hosts in 1_usize..5,
        links in proptest::collection::vec((0_usize..14, 0_usize..16), 0..26),
    ) {
        let events = tangled(hosts, 14, &links);
        let mut taken = Taken::new();
        let arranged = taken.arrange(&text_of(&events));
        let refused: HashSet<u64> = taken.faults().into_iter().map(|(line, code)| {
            assert_eq!(code, Code::Cycle);
            line
        }).collect();

        let mut held = HashMap::new();
        let mut schedule = schedule::Schedule::new(&arranged);
        let mut expected = HashSet::new();
        let by_rank = {
            let mut sorted: Vec<(u64, &Event)> = (1..).zip(&events).collect();
            sorted.sort_by_key(|(_, event)| (event.host.clone(), event.seq));
            sorted
        };
        while let Some(turn) = schedule.next().unwrap() {
            let (line, event) = by_rank[usize::try_from(turn.rank).unwrap()];
            if closes(event, &held) {
                expected.insert(line);
            } else {
                held.insert(event.id.clone(), event.clone());
            }
        }
        prop_assert_eq!(&refused, &expected);
        prop_assert_eq!(causal(&arranged).len(), held.len());
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// What goes in is what the rule says.
    #[test]
    fn lines_are_judged_by_the_rule(held in quarrelling(0), lines in quarrelling(0)) {
        let store = in_memory();
        import(&store, &held);
        let before: Vec<Event> =
            store.events().unwrap().map(|event| event.unwrap().to_event().unwrap()).collect();
        prop_assert_eq!(import(&store, &lines), by_the_rule(&before, &lines));
    }

    /// Once is enough: the same file again stores nothing, and refuses the same lines. Whatever cycles there
    /// are, through the store or not, each event that is not refused beforehand is one that the store takes.
    #[test]
    fn importing_again_changes_nothing(held in quarrelling(2), lines in quarrelling(2)) {
        let store = in_memory();
        import(&store, &held);
        let first = import(&store, &lines);
        let len = store.snapshot().unwrap().len();
        let expected: Vec<Fate> = first
            .into_iter()
            .map(|fate| if fate == Fate::Stored { Fate::Duplicate } else { fate })
            .collect();
        prop_assert_eq!(import(&store, &lines), expected);
        prop_assert_eq!(store.snapshot().unwrap().len(), len);
    }

    /// A cycle through the store is refused where the store would.
    #[test]
    fn cycles_through_the_store_are_found_where_they_close(
        hosts in 1_usize..5,
        held in 0_usize..14,
        links in proptest::collection::vec((0_usize..14, 0_usize..16), 0..26),
    ) {
        let events = tangled(hosts, 14, &links);
        let store = in_memory();
        for event in &events[..held] {
            // What closes a cycle there is not held.
            let _ = store.append(event);
        }
        let lines = &events[held..];
        let mut taken = Taken::new();
        let arranged = taken.arrange_against(&text_of(lines), &against(&store));
        let refused: HashSet<u64> = taken.faults().into_iter().map(|(line, _)| line).collect();
        let mut sorted: Vec<(u64, &Event)> = (1..).zip(lines).collect();
        sorted.sort_by_key(|(_, event)| (event.host.clone(), event.seq));
        let mut schedule = schedule::Schedule::new(&arranged);
        let mut expected = HashSet::new();
        while let Some(turn) = schedule.next().unwrap() {
            let (line, event) = sorted[usize::try_from(turn.rank).unwrap()];
            if let Err(error) = store.append(event) {
                prop_assert_eq!(error.code(), Code::Cycle);
                expected.insert(line);
            }
        }
        prop_assert_eq!(refused, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file is put in the order that its set has.
    #[test]
    fn the_order_is_that_of_the_set(
        hosts in 1_usize..5,
        links in proptest::collection::vec((0_usize..20, 0_usize..22), 0..30),
        repeat in 0_usize..20,
    ) {
        // Causes among earlier numbers alone: no cycles.
        let links: Vec<(usize, usize)> = links.into_iter().filter(|(from, to)| from != to)
            .map(|(from, to)| if to >= 20 { (from, to) } else { (from.max(to), from.min(to)) }).collect();
        let events = tangled(hosts, 20, &links);
        let mut text = text_of(&events);
        text.push_str(&text_of(&events[repeat..=repeat]));
        let mut taken = Taken::new();
        let arranged = taken.arrange(&text);
        let found: Vec<Event> = Ordered::new(&arranged).unwrap().map(Result::unwrap).collect();
        let expected: Vec<Event> =
            order::linearize(&events).unwrap().into_iter().map(|at| events[at].clone()).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(arranged.duplicates, 1);
    }
}

#[test]
fn a_file_with_a_cycle_has_no_order() {
    let mut taken = Taken::new();
    let arranged = taken.arrange(&(line("a", "a", 1, &["b"], "t") + &line("b", "b", 1, &["a"], "t")));
    assert_eq!(taken.faults(), [(2, Code::Cycle)]);
    assert_eq!(Ordered::new(&arranged).unwrap_err().code(), Code::Cycle);
}

#[test]
fn an_event_says_nothing_of_its_payload_when_it_is_refused() {
    let text =
        line("x", "a", 1, &[], "secret-one") + &line("x", "a", 1, &[], "secret-two") + "{\"secret-three\n";
    let mut taken = Taken::new();
    taken.arrange(&text);
    assert_eq!(taken.faults.count(), 2);
    for error in taken.faults.kept() {
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
}

#[test]
fn many_hosts_share_the_windows() {
    let lines = synthetic(Shape::Hard, 9000, 3000);
    let mut taken = Taken::new();
    let arranged = taken.arrange(&lines.concat());
    assert_eq!(causal(&arranged).len(), 9000);
    let mut ordered = Ordered::new(&arranged).unwrap();
    let mut schedule = schedule::Schedule::new(&arranged);
    for _ in 0..9000 {
        assert_eq!(ordered.next().unwrap().unwrap().v(), 1);
        assert!(schedule.next().unwrap().is_some());
        assert!(ordered.windows_bytes() <= 4 << 10, "{}", ordered.windows_bytes());
        assert!(schedule.windows_bytes() <= 4 << 10, "{}", schedule.windows_bytes());
    }
    assert!(ordered.next().is_none() && schedule.next().unwrap().is_none());
    assert_eq!((ordered.windows_bytes(), schedule.windows_bytes()), (0, 0));
}
