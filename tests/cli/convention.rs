//! What holds for every verb: the store, output, errors, exit codes.

use std::process::Stdio;

use crate::bench::{Bench, SAMPLE, files};

const VERBS: [&str; 19] = [
    "init", "import", "export", "append", "get", "log", "range", "cursor", "since", "ancestry", "replay",
    "verify", "repair", "reindex", "stats", "gen", "demo", "blob", "shred",
];
/// Of no content that is held.
const ADDRESS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// Verbs that read the store, with the arguments they need.
const READING: [&[&str]; 13] = [
    &["export"],
    &["get", "x"],
    &["log"],
    &["range", "h"],
    &["cursor"],
    &["since", "{}"],
    &["ancestry", "x"],
    &["replay"],
    &["verify"],
    &["stats"],
    &["blob", "get", ADDRESS],
    &["blob", "state", ADDRESS],
    &["blob", "list"],
];
const WRITING: [&[&str]; 10] = [
    &["import", SAMPLE],
    &["append", "--host", "h", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#],
    &["repair", "--yes"],
    &["reindex", "--yes"],
    &["blob", "put", SAMPLE],
    &["blob", "import", "."],
    &["blob", "evict", ADDRESS, "--yes"],
    &["blob", "pin", ADDRESS],
    &["blob", "unpin", ADDRESS],
    &["shred", ADDRESS, "--yes"],
];

#[test]
fn every_verb_says_what_it_does() {
    let bench = Bench::bare();
    let help = bench.run(&["--help"]).ok().out;
    for verb in VERBS {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb} is not in the help");
        let own = bench.run(&[verb, "--help"]).ok().out;
        for option in ["--json", "--quiet", "Usage: causelog"] {
            assert!(own.contains(option), "{verb}: {own}");
        }
        // Two verbs do not use the store that others share, and do not say that they do.
        assert_eq!(own.contains("--store <DIR>"), *verb != *"gen", "{verb}: {own}");
        let shared = ["[env: CAUSELOG_STORE]", "[default: ./causelog]"].map(|word| own.contains(word));
        assert_eq!(shared, [!["gen", "demo"].contains(&verb); 2], "{verb}: {own}");
        assert_eq!(bench.run(&["help", verb]).ok().out, own);
    }
    for example in ["causelog demo", "Exit codes:", "6  another process"] {
        assert!(help.contains(example), "{help}");
    }
    for (verb, needle) in [
        ("import", "causelog import run.jsonl --dry-run"),
        ("append", "--wait <SECONDS>"),
        ("export", "--order"),
        ("gen", "- hard:"),
        ("repair", "--dry-run"),
        ("replay", "--from <FILE>"),
        ("since", "causelog cursor --json"),
        // What a verb says beyond its summary.
        ("init", "A store that is there already is left alone: exit 1."),
        ("import", "Memory stays bounded whatever the file's size"),
        ("export", "two stores with the same events export the same bytes"),
        ("append", "safe on disk when the command says where it stands"),
        ("get", "Exit 1 when it is not held."),
        ("log", "Payloads can hold what users typed"),
        ("range", "A host that is not held has none"),
        ("cursor", "one object that `since` takes"),
        ("since", "A cursor from another history"),
        ("ancestry", "Causes that are not held are left out."),
        ("replay", "A reference is exact where its content is still held"),
        ("verify", "Exit 3: the end of the log is torn"),
        ("repair", "What is cut or replaced is copied first"),
        ("reindex", "a damaged store is left as it is"),
        ("stats", "Reads no event."),
        ("gen", "The same options give the same log"),
        ("demo", "it stays there"),
        ("blob", "Events name it by its address, and stay when it goes."),
        ("shred", "Copies of the store's files from before"),
        ("init", "which must not be there yet"),
    ] {
        let own = bench.run(&[verb, "--help"]).ok().out;
        let words = own.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(needle) || own.contains(needle), "{verb}: {needle}: {own}");
    }
    assert!(bench.run(&["--version"]).ok().out.starts_with("causelog "));
}

#[test]
fn a_wrong_command_line_exits_2() {
    let bench = Bench::new();
    for args in [
        &["nonsense"][..],
        &["log", "--nonsense"],
        &["import"],
        &["append", "--host", "h"],
        &["range", "h", "--from", "x"],
        &["gen", "--shape", "round"],
        &["gen", "--hosts", "0"],
        &["gen", "--cross", "2"],
        &["import", "x", "--wait", "-1"],
        &["import", "x", "--stream", "--dry-run"],
        &["since", "{\"h\":"],
        &["since", "{\"h\":1.5}"],
        &["blob"],
        &["blob", "get"],
        &["blob", "get", "sha256:00"],
        &["blob", "get", ADDRESS, "--range", "2..1"],
        &["blob", "put"],
        &["blob", "put", "-", "-"],
        &["blob", "put", "-", "--address", "md5"],
        &["shred", "x", "--yes"],
    ] {
        let said = bench.run(args).exits(2);
        assert!(said.out.is_empty() && !said.err.is_empty(), "{said:?}");
        let with_json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let error = bench.run(&with_json).exits(2).error();
        assert_eq!(
            (&error["code"], &error["kind"], &error["line"]),
            (&"USAGE".into(), &"usage".into(), &().into())
        );
        assert!(!error["message"].as_str().unwrap().contains("Usage:"), "{error}");
    }
    // Nothing at all shows the help.
    assert!(bench.run(&[]).exits(2).err.contains("Commands:"));
}

#[test]
fn the_store_is_named_by_option_environment_or_default() {
    let bench = Bench::sample();
    let other = Bench::bare();
    let store = bench.store();
    let store = store.to_str().unwrap();
    for args in [["--store", store, "stats", "--json"], ["stats", "--store", store, "--json"]] {
        assert_eq!(other.run(&args).ok().json()["events"], 599);
    }
    // The option wins over the environment, and the environment over ./causelog.
    let run = |command: &mut std::process::Command| crate::bench::Said::from(command.output().unwrap());
    run(other.command().env_remove("CAUSELOG_STORE").arg("init")).ok();
    assert!(other.path("causelog").is_dir());
    for unset in ["", "-"] {
        let mut command = other.command();
        if unset == "-" {
            command.env_remove("CAUSELOG_STORE")
        } else {
            command.env("CAUSELOG_STORE", unset)
        };
        assert_eq!(run(command.args(["stats", "--json"])).ok().json()["events"], 0);
    }
}

#[test]
fn only_init_and_demo_make_a_store() {
    for args in READING.iter().chain(&WRITING) {
        let bench = Bench::bare();
        let said = bench.run(args).exits(2);
        assert!(said.err.contains("causelog init"), "{said:?}");
        let said = bench.run(&[*args, &["--json"]].concat()).exits(2);
        assert_eq!(said.error()["kind"], "usage");
        assert!(!bench.store().exists(), "{args:?} left something");
        // A directory without a store is none either.
        std::fs::create_dir(bench.store()).unwrap();
        bench.run(args).exits(2);
        assert_eq!(files(&bench.store()), [], "{args:?}");
    }
    let bench = Bench::bare();
    bench.run(&["init"]).ok();
    let said = bench.run(&["init", "--json"]).exits(1);
    assert_eq!(said.error()["kind"], "invalid");
    assert_eq!(bench.run(&["init", "--json", "--store", "other"]).ok().json()["store"], "other");
}

#[test]
fn a_file_is_no_store() {
    let bench = Bench::bare();
    let file = bench.file("run.jsonl", "{}");
    for args in READING.iter().chain(&WRITING).chain(&[&["init"][..], &["demo"]]) {
        let said = bench.run(&[*args, &["--store", &file, "--json"]].concat()).exits(2);
        assert!(said.error()["message"].as_str().unwrap().contains("is not a store"), "{args:?}: {said:?}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{}");
}

/// Names of members are in one style, whatever verb writes them.
#[test]
fn members_of_json_are_in_camel_case() {
    fn check(value: &serde_json::Value, of: &[&str]) {
        match value {
            serde_json::Value::Object(members) => {
                for (name, value) in members {
                    assert!(!name.contains('_') || name.starts_with("ext_"), "{of:?}: {name}");
                    check(value, of);
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| check(value, of)),
            _ => {}
        }
    }
    let bench = Bench::sample();
    for args in [
        &["stats"][..],
        &["verify"],
        &["repair", "--dry-run"],
        &["reindex", "--dry-run"],
        &["reindex", "--yes"],
        &["replay"],
        &["import", SAMPLE, "--dry-run"],
        &["demo", "--store", "demo"],
    ] {
        check(&bench.run(&[args, &["--json"]].concat()).ok().json(), args);
    }
}

#[test]
fn reading_writes_nothing() {
    let bench = Bench::sample();
    let before = files(&bench.store());
    for args in READING {
        let code = bench.run(args).code;
        assert!(code == 0 || code == 1, "{args:?}: {code}");
    }
    bench.run(&["import", SAMPLE, "--dry-run"]).ok();
    bench.run(&["repair", "--dry-run"]).ok();
    bench.run(&["reindex", "--dry-run"]).ok();
    assert_eq!(before, files(&bench.store()));
}

#[cfg(unix)]
#[test]
fn reading_needs_no_permission_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::sample();
    let expected = bench.export();
    let set = |mode: u32| {
        for dir in [bench.store(), bench.store().join("log")] {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    let found = bench.export();
    let verified = bench.run(&["verify"]).code;
    set(0o755);
    assert_eq!((found == expected, verified), (true, 0));
}

#[test]
fn json_is_one_object_or_lines_of_them() {
    let bench = Bench::sample();
    let id = bench.run(&["log", "--limit", "1", "--json"]).ok().json()["id"].as_str().unwrap().to_owned();
    for args in
        [&["get", &id][..], &["cursor"], &["replay"], &["verify"], &["stats"], &["reindex", "--dry-run"]]
    {
        let said = bench.run(&[args, &["--json"]].concat()).ok();
        assert!(said.json().is_object(), "{args:?}");
        assert_eq!(said.err, "", "{args:?}");
    }
    for args in [&["log"][..], &["range", "daemon"], &["since", "{}"], &["ancestry", &id], &["export"]] {
        let said = bench.run(&[args, &["--json"]].concat()).ok();
        assert!(said.json_lines().iter().all(serde_json::Value::is_object), "{args:?}");
        assert!(!said.out.is_empty());
    }
}

#[test]
fn quiet_leaves_data_alone() {
    let bench = Bench::new();
    let said = bench.run(&["import", SAMPLE, "--quiet"]).ok();
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let loud = bench.run(&["import", SAMPLE]).ok();
    assert_eq!(loud.out, "stored 0 events of 599 lines, 599 duplicates, 0 refused\n");
    assert_eq!(bench.run(&["export", "-q"]).ok().out, bench.export());
    assert!(!bench.run(&["stats", "-q"]).ok().out.is_empty());
    assert!(!bench.run(&["get", "absent", "-q"]).exits(1).err.is_empty());
}

#[test]
fn nothing_is_coloured_and_no_bar_moves_without_a_terminal() {
    let bench = Bench::sample();
    for args in [&["log"][..], &["stats"], &["replay"], &["import", SAMPLE], &["get", "absent"]] {
        let said = bench.run(args);
        assert!(
            !said.out.contains('\u{1b}') && !said.err.contains('\u{1b}') && !said.err.contains('\r'),
            "{said:?}"
        );
    }
}

/// On a terminal too, lines of data stay whole: no bar is drawn between them.
#[cfg(target_os = "linux")]
#[test]
fn no_bar_moves_among_data_on_a_terminal() {
    let bench = Bench::sample();
    let command = format!("{} export", env!("CARGO_BIN_EXE_causelog"));
    let terminal = std::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("CAUSELOG_STORE", bench.store())
        .stdin(Stdio::null())
        .output();
    let Ok(terminal) = terminal else {
        eprintln!("skipped: `script`, which makes a terminal, is not installed");
        return;
    };
    let said = crate::bench::Said::from(terminal).ok();
    assert_eq!(said.out.replace("\r\n", "\n"), bench.export());
}

/// `causelog log | head -1` is no error.
#[test]
fn a_closed_pipe_ends_quietly() {
    let bench = Bench::sample();
    for args in [&["log"][..], &["export"], &["gen", "--events", "100000"], &["log", "--json"]] {
        let mut child =
            bench.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let said = crate::bench::Said::from(child.wait_with_output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_exits_5() {
    let bench = Bench::sample();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let said = bench.command().arg("export").stdout(full).output().unwrap();
    let said = crate::bench::Said { out: String::new(), ..said.into() };
    assert!(said.exits(5).err.contains("cannot be written"));
}

#[test]
fn a_file_that_is_not_there_exits_5() {
    let bench = Bench::new();
    for args in [
        &["import", "absent.jsonl"][..],
        &["since", "absent.json"],
        &["replay", "--from", "absent.jsonl"],
        &["import", "."],
        &["blob", "put", "absent"],
        &["blob", "put", "."],
        &["blob", "import", "absent"],
    ] {
        let error = bench.run(&[args, &["--json"]].concat()).exits(5).error();
        assert_eq!((&error["code"], &error["kind"]), (&"STORE".into(), &"io".into()), "{args:?}");
    }
}

#[test]
fn a_path_drives_no_terminal() {
    let bench = Bench::new();
    let said = bench.run(&["stats", "--store", "no\u{1b}[31mstore"]).exits(2);
    assert!(!said.err.contains('\u{1b}') && said.err.contains("no\\u{1b}[31mstore"), "{}", said.err);
}

/// A limit on the size of files fails a write, and does not kill.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_files_is_an_error() {
    let bench = Bench::new();
    let payload = format!(r#"{{"turnId":"{}"}}"#, "x".repeat(100_000));
    let append = |host: &str| {
        let program = format!(
            "ulimit -f 40; exec '{}' append --host {host} --type turn.started --payload -",
            env!("CARGO_BIN_EXE_causelog")
        );
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg(program).env("CAUSELOG_STORE", bench.store());
        let file = std::fs::File::open(bench.file("payload", &payload)).unwrap();
        command.stdin(file).output().unwrap()
    };
    let output = append("a");
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    bench.run(&["verify"]).exits(0);
    assert_eq!(bench.events(), 0);
    bench.run_with(&["append", "--host", "a", "--type", "turn.started", "--payload", "-"], &payload).ok();
    assert_eq!(bench.events(), 1);
}
