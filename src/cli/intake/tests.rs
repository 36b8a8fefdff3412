use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::resolve::Arranged;
use super::*;
use crate::cli::r#gen::{Generator, Plan, Shape};
use crate::contract::{Code, Event, EventFields, EventId, TypeRegistry, UnknownTypes};
use crate::order;

struct Taken {
    dir: tempfile::TempDir,
    faults: Faults,
}

impl Taken {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), faults: Faults::default() }
    }

    fn arrange(&mut self, text: &str) -> Arranged {
        self.arrange_against(text, |_| Held::No)
    }

    fn arrange_against(&mut self, text: &str, held: impl Fn(&Event) -> Held) -> Arranged {
        let rules = Rules::Append { registry: TypeRegistry::v1(), unknown: UnknownTypes::Refuse };
        let intake = read(text.as_bytes(), &rules, self.dir.path(), &mut self.faults).unwrap();
        resolve(intake, self.dir.path(), &mut self.faults, |event| Ok(held(event))).unwrap()
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
    let text = line("x", "a", 1, &["later"], "t")
        + &line("y", "a", 2, &[], "t")
        + &line("late", "a", 3, &["y"], "t")
        + &line("late", "a", 3, &["y"], "t");
    let mut taken = Taken::new();
    let arranged = taken.arrange_against(&text, |event| match event.id.to_string().as_str() {
        "x" => Held::Same,
        "y" => Held::Refused(crate::Error::invalid(Code::Seq, "old")),
        _ => Held::No,
    });
    assert_eq!((taken.faults(), arranged.duplicates), (vec![(2, Code::Seq)], 2));
    assert_eq!(ids(&causal(&arranged)), ["late"]);
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
