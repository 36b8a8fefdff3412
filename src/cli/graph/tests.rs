use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::picture::{COLUMNS_MAX, Drawn, Picture};

/// Draws a graph, of which each event lists its causes by place; those behind it stand for ones outside.
fn draw(graph: &[&[usize]]) -> Vec<Drawn> {
    let uses = |event: usize| graph[event + 1..].iter().filter(|causes| causes.contains(&event)).count();
    let mut picture = Picture::default();
    let one = |(event, causes): (usize, &&[usize])| {
        let causes: Vec<u64> = causes.iter().map(|cause| *cause as u64).collect();
        picture.draw(event as u64, &causes, u32::try_from(uses(event)).unwrap())
    };
    graph.iter().enumerate().map(one).collect()
}

fn rows(drawn: &[Drawn]) -> Vec<String> {
    let named = |(event, drawn): (usize, &Drawn)| {
        let node = format!("{} {event}", drawn.node);
        drawn.rows.iter().cloned().chain([node]).collect::<Vec<_>>()
    };
    drawn.iter().enumerate().flat_map(named).collect()
}

fn picture(graph: &[&[usize]], lines: &[&str]) {
    let rows = rows(&draw(graph));
    assert_eq!(rows, lines, "\n{}", rows.join("\n"));
}

#[test]
fn a_chain_is_one_line() {
    picture(&[&[], &[0], &[1]], &["o 0", "* 1", "* 2"]);
}

#[test]
fn events_that_are_alone_stand_below_each_other() {
    picture(&[&[], &[], &[]], &["o 0", "o 1", "o 2"]);
}

#[test]
fn a_fork_opens_columns() {
    picture(&[&[], &[0], &[0], &[0]], &["o 0", r"|\", "| * 1", r"|\", "| * 2", "* 3"]);
}

#[test]
fn a_join_closes_them() {
    picture(&[&[], &[], &[], &[0, 1, 2]], &["o 0", "| o 1", "| | o 2", "|/  |", "|__/", "* 3"]);
}

#[test]
fn a_diamond_opens_and_closes() {
    picture(&[&[], &[0], &[0], &[1, 2]], &["o 0", r"|\", "| * 1", "* | 2", "|/", "* 3"]);
}

#[test]
fn lines_cross_others() {
    picture(
        &[&[], &[], &[], &[0], &[0, 2], &[1, 4]],
        &["o 0", "| o 1", "| | o 2", r"|_|_|\", "| | | * 3", "|_|/", "* | 4", "|/", "* 5"],
    );
}

#[test]
fn a_cause_outside_has_no_line() {
    let drawn = draw(&[&[7], &[0, 8]]);
    assert_eq!(rows(&drawn), ["o 0", "* 1"]);
    assert_eq!((drawn[0].causes_left_out, drawn[1].causes_left_out), (1, 1));
}

#[test]
fn ten_roots_meet() {
    let mut graph: Vec<&[usize]> = vec![&[]; 10];
    graph.push(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    picture(
        &graph,
        &[
            "o 0",
            "| o 1",
            "| | o 2",
            "| | | o 3",
            "| | | | o 4",
            "| | | | | o 5",
            "| | | | | | o 6",
            "| | | | | | | o 7",
            "| | | | | | | | o 8",
            "| | | | | | | | | o 9",
            "|/  | | | | | | | |",
            "|__/  | | | | | | |",
            "|____/  | | | | | |",
            "|______/  | | | | |",
            "|________/  | | | |",
            "|__________/  | | |",
            "|____________/  | |",
            "|______________/  |",
            "|________________/",
            "* 10",
        ],
    );
}

#[test]
fn columns_end_somewhere() {
    let roots = COLUMNS_MAX + 3;
    let mut graph: Vec<&[usize]> = vec![&[]; roots];
    let all: Vec<usize> = (0..roots).collect();
    graph.push(&all);
    let drawn = draw(&graph);
    assert!(drawn[..COLUMNS_MAX].iter().all(|drawn| drawn.uses_left_out == 0));
    assert!(drawn[COLUMNS_MAX..roots].iter().all(|drawn| drawn.uses_left_out == 1));
    assert_eq!((drawn[roots].causes_left_out, drawn[roots].rows.len()), (3, COLUMNS_MAX - 1));
    assert!(rows(&drawn).iter().all(|row| row.len() <= 2 * (COLUMNS_MAX + 1) + 4));
}

/// Reads the edges back from the rows alone.
fn edges(drawn: &[Drawn]) -> BTreeSet<(usize, usize)> {
    let mut lines: HashMap<usize, usize> = HashMap::new();
    let mut edges = BTreeSet::new();
    for (event, drawn) in drawn.iter().enumerate() {
        let at = |row: &str, at: usize| row.as_bytes().get(at).copied().unwrap_or(b' ');
        let own = drawn.node.find(['*', 'o']).unwrap() / 2;
        for row in &drawn.rows {
            let right = row.find(['/', '\\']).unwrap();
            let mut left = right;
            while left >= 2 && at(row, left - 2) == b'_' {
                left -= 2;
            }
            let (left_column, right_column) = ((left - 1) / 2, right.div_ceil(2));
            let is_left = at(row, right) == b'/';
            let (from, to) = if is_left { (right_column, left_column) } else { (left_column, right_column) };
            assert_eq!(to, own, "{row}");
            edges.insert((lines[&from], event));
        }
        let is_root = at(&drawn.node, 2 * own) == b'o';
        assert!(!is_root || drawn.rows.is_empty());
        if !is_root && drawn.rows.first().is_none_or(|row| at(row, 2 * own) == b'|') {
            edges.insert((lines[&own], event));
        }
        lines.retain(|column, _| *column != own && at(&drawn.node, 2 * column) == b'|');
        lines.insert(own, event);
    }
    edges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_edge_can_be_read_back(
        graph in proptest::collection::vec(proptest::collection::btree_set(0usize..40, 0..5), 1..40),
    ) {
        // Cause k of an event is the one k + 1 places before it.
        let graph: Vec<Vec<usize>> = graph
            .iter()
            .enumerate()
            .map(|(event, causes)| causes.iter().filter_map(|back| event.checked_sub(back + 1)).collect())
            .collect();
        let graph: Vec<&[usize]> = graph.iter().map(Vec::as_slice).collect();
        let drawn = draw(&graph);
        let all: BTreeSet<(usize, usize)> =
            graph.iter().enumerate().flat_map(|(event, causes)| causes.iter().map(move |cause| (*cause, event))).collect();
        let left_out: usize = drawn.iter().map(|drawn| drawn.causes_left_out).sum();
        let follow: u32 = drawn.iter().map(|drawn| drawn.uses_left_out).sum();
        let read = edges(&drawn);
        prop_assert!(read.is_subset(&all));
        prop_assert_eq!((read.len() + left_out, left_out), (all.len(), follow as usize));
    }
}
