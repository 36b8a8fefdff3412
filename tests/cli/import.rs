//! `import` of good files, and of files that contradict themselves or the store.

use std::io::Write;

use serde_json::json;

use crate::bench::{Bench, SAMPLE, chain, counts, line};

#[test]
fn takes_lines_in_any_order() {
    let text = std::fs::read_to_string(SAMPLE).unwrap();
    let sorted = Bench::sample();
    for turn in [1, 7, 100, 598] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.rotate_left(turn);
        lines.reverse();
        let bench = Bench::new();
        let report = bench.run_with(&["import", "-", "--json"], lines.join("\n")).ok().json();
        assert_eq!(
            report,
            json!({"lines": 599, "stored": 599, "duplicates": 0, "refused": 0, "heldBack": 0, "dryRun": false})
        );
        assert_eq!(bench.export(), sorted.export());
        assert_eq!(bench.run(&["log"]).out, sorted.run(&["log"]).out);
    }
}

#[test]
fn the_orders_first_and_last_are_those_of_the_sample() {
    let expected = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sample/expected.json");
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(expected).unwrap()).unwrap();
    let log = Bench::sample().run(&["log", "--json"]).ok().json_lines();
    let ids: Vec<&serde_json::Value> = log.iter().map(|event| &event["id"]).collect();
    assert_eq!(ids, expected["order"].as_array().unwrap().iter().collect::<Vec<_>>());
}

/// Case C023: one event by every way in, and again after reopening.
#[test]
fn the_same_event_again_is_a_duplicate() {
    let bench = Bench::new();
    let one = bench.file("one.jsonl", line("x", "h", 1, &[]));
    let spelled = line("x", "h", 1, &[]).replace("\"at\":0", "\"at\": 0.0").replace("\"v\":1,", "") + " ";
    let spelled = bench.file("spelled.jsonl", spelled.replace("{\"id\"", "{ \"v\" : 1e0 , \"id\""));
    assert_eq!(counts(&bench.run(&["import", &one, "--json"]).ok().json()), [1, 1, 0, 0]);
    for ways in [
        &["import", &one][..],
        &["import", &spelled],
        &["import", &one, "--stream"],
        &["import", &spelled, "--stream"],
    ] {
        for more in [&[][..], &["--lenient"]] {
            let report = bench.run(&[ways, more, &["--json"]].concat()).ok().json();
            assert_eq!(counts(&report), [1, 0, 1, 0], "{ways:?}");
        }
    }
    assert_eq!(bench.export(), line("x", "h", 1, &[]) + "\n");
    // Twice in one file, spelled differently.
    let fresh = Bench::new();
    let both = [std::fs::read_to_string(&spelled).unwrap(), line("x", "h", 1, &[])].join("\n");
    assert_eq!(counts(&fresh.run_with(&["import", "-", "--json"], both).ok().json()), [2, 1, 1, 0]);
}

/// Case C025: line 500 repeats the id of line 499 with another payload.
#[test]
fn a_repeated_id_with_other_content_names_both_lines() {
    let mut lines = chain("h", 1000);
    lines[499] = lines[498].replace("\"turnId\":\"t\"", "\"turnId\":\"other\"");
    let bench = Bench::new();
    let file = bench.file("run.jsonl", lines.join("\n"));

    let said = bench.run(&["import", &file, "--json"]).exits(1);
    assert_eq!(counts(&said.json()), [1000, 0, 0, 1]);
    let error = said.error();
    assert_eq!(
        (&error["code"], &error["kind"], &error["line"]),
        (&"ID".into(), &"equivocation".into(), &500.into())
    );
    assert!(error["message"].as_str().unwrap().contains("line 499"), "{error}");
    assert_eq!(bench.events(), 0);

    let said = bench.run(&["import", &file, "--json", "--lenient"]).exits(1);
    assert_eq!(counts(&said.json()), [1000, 999, 0, 1]);
    assert_eq!(said.error()["line"], 500);
    assert_eq!(bench.events(), 999);
}

#[test]
fn contradictions_with_the_store_name_the_event() {
    let bench = Bench::new();
    bench.run_with(&["import", "-"], [line("x", "h", 5, &[]), line("y", "h", 9, &[])].join("\n")).ok();
    let before = bench.export();
    for (text, code, kind, needle) in [
        (line("x", "h", 10, &[]), "ID", "equivocation", "h#5"),
        (line("z", "h", 5, &[]), "SEQ", "equivocation", "event x"),
        (line("z", "h", 7, &[]), "SEQ", "invalid", "which is 9"),
    ] {
        for mode in [&["--dry-run"][..], &["--lenient", "--dry-run"], &[], &["--lenient"]] {
            let said = bench.run_with(&[&["import", "-", "--json"], mode].concat(), &text).exits(1);
            let error = said.error();
            assert_eq!(
                (&error["code"], &error["kind"], &error["line"]),
                (&code.into(), &kind.into(), &1.into())
            );
            assert!(error["message"].as_str().unwrap().contains(needle), "{error}");
            assert_eq!(counts(&said.json()), [1, 0, 0, 1]);
        }
        let said = bench.run_with(&["import", "-", "--json", "--stream"], &text).exits(1);
        assert_eq!((said.error()["code"].as_str(), counts(&said.json())), (Some(code), [1, 0, 0, 1]));
    }
    assert_eq!(bench.export(), before);
}

/// A dry run says what the real one then does, whatever is wrong with the file.
#[test]
fn a_dry_run_predicts_the_counts() {
    let held = [line("a-0", "a", 0, &[]), line("a-1", "a", 1, &[])].join("\n");
    let file = [
        line("a-0", "a", 0, &[]),
        line("a-1", "a", 1, &[]).replace("\"t\"", "\"other\""),
        line("new", "a", 1, &[]),
        line("a-2", "a", 2, &["c-1"]),
        line("a-2", "a", 2, &["c-1"]),
        line("a-2", "b", 1, &[]),
        "{\"v\":1".to_owned(),
        line("c-1", "c", 1, &["d-1"]),
        line("d-1", "d", 1, &["c-1"]),
        line("e-1", "e", 1, &["e-1"]),
        line("f-1", "f", 1, &["nobody"]),
        line("g-1", "g", 1, &[]).replace("turn.started", "un.known"),
    ]
    .join("\n");
    for mode in
        [&[][..], &["--lenient"], &["--accept-unknown-types"], &["--lenient", "--accept-unknown-types"]]
    {
        let bench = Bench::new();
        bench.run_with(&["import", "-"], &held).ok();
        let before = bench.events();
        let args = [&["import", "-", "--json"], mode].concat();
        let dry = bench.run_with(&[&args[..], &["--dry-run"]].concat(), &file).exits(1);
        assert_eq!(bench.events(), before);
        let real = bench.run_with(&args, &file).exits(1);
        assert_eq!(dry.errors(), real.errors());
        assert_eq!(counts(&dry.json()), counts(&real.json()));
        assert_eq!(bench.events() - before, counts(&real.json())[1]);
        assert_eq!(real.json()["dryRun"], false);
        assert_eq!(dry.json()["dryRun"], true);
    }
}

/// A held event waits for one of the file that rests on it: nobody can see that in the file alone.
#[test]
fn a_cycle_through_the_store_is_bad_beforehand() {
    let file = [line("z", "z", 1, &[]), line("y", "y", 1, &["x"]), line("w", "w", 1, &["y"])].join("\n");
    for (mode, expected) in [(&[][..], [3, 0, 0, 1]), (&["--lenient"], [3, 2, 0, 1])] {
        let bench = Bench::new();
        bench.run_with(&["import", "-"], line("x", "x", 1, &["y"])).ok();
        let args = [&["import", "-", "--json"], mode].concat();
        let dry = bench.run_with(&[&args[..], &["--dry-run"]].concat(), &file).exits(1);
        let real = bench.run_with(&args, &file).exits(1);
        for said in [&dry, &real] {
            assert_eq!((&said.error()["code"], &said.error()["line"]), (&"CYCLE".into(), &2.into()));
            assert_eq!(counts(&said.json()), expected);
        }
        assert_eq!(bench.events(), 1 + expected[1]);
    }
}

/// A line that is refused for its id takes no seq from a good one, and once is enough.
#[test]
fn lenient_twice_is_lenient_once() {
    let bench = Bench::new();
    let file = [
        line("A", "h", 5, &[]),
        line("A", "h", 6, &[]),
        line("B", "h", 6, &[]),
        line("C", "h", 6, &[]),
        line("C", "h", 6, &[]),
    ]
    .join("\n");
    for expected in [[5, 2, 0, 3], [5, 0, 2, 3]] {
        let said = bench.run_with(&["import", "-", "--lenient", "--json"], &file).exits(1);
        assert_eq!(counts(&said.json()), expected);
        let bad: Vec<_> = said.errors().iter().map(|error| error["line"].as_u64()).collect();
        assert_eq!(bad, [Some(2), Some(4), Some(5)]);
    }
    assert_eq!(bench.export(), [line("A", "h", 5, &[]), line("B", "h", 6, &[]), String::new()].join("\n"));
}

/// Counts add up to the lines, and people are told what to do.
#[test]
fn a_bad_file_stores_nothing_and_says_why() {
    let bench = Bench::new();
    bench.run_with(&["import", "-"], line("held", "h", 0, &[])).ok();
    let mut lines = [line("a", "h", 1, &[]), "{".to_owned(), line("b", "h", 2, &[]), "[".to_owned()];
    let said = bench.run_with(&["import", "-"], lines.join("\n")).exits(1);
    assert_eq!(said.out, "nothing stored: 2 of 4 lines are bad; --lenient stores the other 2\n");
    let said = bench.run_with(&["import", "-", "--dry-run"], lines.join("\n")).exits(1);
    assert_eq!(said.out, "would store nothing: 2 of 4 lines are bad; --lenient stores the other 2\n");
    lines[3] = line("held", "h", 0, &[]);
    let said = bench.run_with(&["import", "-"], lines.join("\n")).exits(1);
    assert_eq!(
        said.out,
        "nothing stored: 1 of 4 lines is bad; --lenient stores 2 and passes over 1 duplicates\n"
    );
    let report = bench.run_with(&["import", "-", "--json"], lines.join("\n")).exits(1).json();
    assert_eq!((counts(&report), report["heldBack"].as_u64()), ([4, 0, 1, 1], Some(2)));
    assert_eq!(bench.events(), 1);
}

/// What is held is a duplicate, whatever this build knows of its type.
#[test]
fn an_export_goes_back_in_whatever_its_types() {
    let bench = Bench::new();
    let file =
        [line("a", "h", 1, &[]), line("b", "h", 2, &[]).replace("turn.started", "app.opened")].join("\n");
    let said = bench.run_with(&["import", "-"], &file).exits(1);
    assert!(said.err.contains("TYPE") && said.err.contains("--accept-unknown-types"), "{}", said.err);
    bench.run_with(&["import", "-", "--accept-unknown-types"], &file).ok();
    for mode in [&[][..], &["--dry-run"], &["--stream"], &["--lenient"], &["--stream", "--lenient"]] {
        let report = bench.run_with(&[&["import", "-", "--json"], mode].concat(), bench.export()).ok().json();
        assert_eq!(counts(&report), [2, 0, 2, 0], "{mode:?}");
    }
    // The same id with other content is no duplicate, and a type has two parts.
    for text in [file.replace("\"t\"", "\"u\""), line("c", "h", 3, &[]).replace("turn.started", "nodot")] {
        let said = bench.run_with(&["import", "-", "--json", "--stream", "--lenient"], &text).exits(1);
        assert_eq!(said.errors().last().unwrap()["code"], "TYPE");
    }
    let nodot = line("c", "h", 3, &[]).replace("turn.started", "nodot");
    let said = bench.run_with(&["import", "-", "--json", "--accept-unknown-types"], nodot).exits(1);
    assert_eq!(said.error()["code"], "TYPE");
    assert_eq!(bench.events(), 2);
}

/// Events that were stored are reported, also where the store cannot be closed as it should be.
#[test]
fn a_store_that_cannot_leave_a_checkpoint_says_what_it_stored() {
    for mode in [&[][..], &["--stream"]] {
        let bench = Bench::new();
        let checkpoint = bench.store().join("log/0000000001.checkpoint");
        std::fs::remove_file(&checkpoint).unwrap();
        // Nothing can be renamed onto a directory that is not empty.
        std::fs::create_dir_all(checkpoint.join("in the way")).unwrap();
        let said = bench.run_with(&[&["import", "-"], mode].concat(), chain("h", 3).join("\n")).ok();
        assert_eq!(said.out, "stored 3 events of 3 lines, 0 duplicates, 0 refused\n");
        assert!(said.err.starts_with("warning: the events are safe"), "{}", said.err);
        assert_eq!(bench.events(), 3);
    }
}

/// A disk that is full in the middle: what was stored until then is counted, and importing again goes on.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_what_was_stored() {
    let bench = Bench::new();
    let file = bench.file("run.jsonl", chain("h", 5000).join("\n"));
    // Files end at 300 KiB: writes fail, as on a full disk.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 300; exec {} import {file} --stream --json",
        env!("CARGO_BIN_EXE_causelog")
    );
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &limited]).env("CAUSELOG_STORE", bench.store());
    let said = crate::bench::Said::from(command.output().unwrap()).exits(5);
    let stored = counts(&said.json())[1];
    assert!((1000..5000).contains(&stored), "{said:?}");
    assert_eq!((counts(&said.json()), bench.events()), ([stored, stored, 0, 0], stored));
    assert_eq!(said.error()["kind"], "io");
    assert!(said.err.contains(&format!("{stored} of its events are stored")), "{}", said.err);
    let report = bench.run(&["import", &file, "--json"]).ok().json();
    assert_eq!(counts(&report), [5000, 5000 - stored, stored, 0]);
}

/// A file of 160 MB, last line first, with less memory than that for data.
#[cfg(target_os = "linux")]
#[test]
fn a_file_may_be_greater_than_memory() {
    let bench = Bench::new();
    let text = "x".repeat(8000);
    let (count, padded) = (20_000, |n: u64| {
        let before = n.checked_sub(1).map(|before| format!("h-{before}"));
        let causes: Vec<&str> = before.as_deref().into_iter().collect();
        line(&format!("h-{n}"), "h", n, &causes).replace("\"t\"", &format!("\"{text}\""))
    });
    let path = bench.path("run.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for n in (0..count).rev() {
        writeln!(file, "{}", padded(n)).unwrap();
    }
    file.into_inner().unwrap();
    // Kilobytes of data: heap and stacks, and no mapped files.
    let limited = format!(
        "ulimit -d 140000 && exec {} import {} --json",
        env!("CARGO_BIN_EXE_causelog"),
        path.display()
    );
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &limited]).env("CAUSELOG_STORE", bench.store());
    let said = crate::bench::Said::from(command.output().unwrap()).ok();
    assert_eq!(counts(&said.json()), [count, count, 0, 0]);
}

#[test]
fn a_cycle_within_a_file_is_refused_where_it_closes() {
    let bench = Bench::new();
    let file = [line("a", "a", 1, &["b"]), line("b", "b", 1, &["a"]), line("c", "c", 1, &["b"])].join("\n");
    let said = bench.run_with(&["import", "-", "--json"], &file).exits(1);
    assert_eq!((&said.error()["code"], &said.error()["line"]), (&"CYCLE".into(), &2.into()));
    assert_eq!(bench.events(), 0);
    let said = bench.run_with(&["import", "-", "--json", "--lenient"], &file).exits(1);
    assert_eq!(counts(&said.json()), [3, 2, 0, 1]);
    // The one that stays out is the only one refused when the rest is imported again.
    let said = bench.run_with(&["import", "-", "--json", "--lenient"], &file).exits(1);
    assert_eq!(counts(&said.json())[2], 2);
}

#[test]
fn an_empty_file_is_fine() {
    let bench = Bench::new();
    for text in ["", "\n", "\u{feff}", " \t\r\n\n\n"] {
        for mode in [&[][..], &["--stream"], &["--dry-run"], &["--lenient"]] {
            let report = bench.run_with(&[&["import", "-", "--json"], mode].concat(), text).ok().json();
            assert_eq!(counts(&report), [0, 0, 0, 0]);
        }
    }
}

#[test]
fn temporary_files_go_where_they_are_told_and_vanish() {
    let bench = Bench::new();
    bench.run(&["import", SAMPLE, "--temp-dir", "absent"]).exits(5);
    std::fs::create_dir(bench.path("scratch")).unwrap();
    bench.run(&["import", SAMPLE, "--temp-dir", "scratch"]).ok();
    assert_eq!(std::fs::read_dir(bench.path("scratch")).unwrap().count(), 0);
}

/// Many errors are counted; the first lines are named.
#[test]
fn a_file_full_of_errors_does_not_flood_the_terminal() {
    let bench = Bench::new();
    let said = bench.run_with(&["import", "-", "--json"], "{\n".repeat(5000)).exits(1);
    assert_eq!(counts(&said.json()), [5000, 0, 0, 5000]);
    let lines: Vec<u64> = said.errors().iter().map(|error| error["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, (1..=20).collect::<Vec<u64>>());
    assert!(said.err.contains("4980 more"), "{}", said.err);
}
