//! Every kind of bad line: named with its number and the reason, and never taken halfway.

use serde_json::Value;

use crate::bench::{Bench, counts, line};

/// A bad line, and the code it is refused with.
fn bad() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = || line("bad", "bad", 1, &[]);
    let payload = |text: &str| good().replace("{\"turnId\":\"t\"}", text);
    let nested = |depth: usize| {
        payload(&format!("{{\"turnId\":\"t\",\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth)))
    };
    let raw = |bytes: &[u8]| {
        let text = good();
        let (before, after) = text.split_once("\"t\"").unwrap();
        [before.as_bytes(), b"\"", bytes, b"\"", after.as_bytes()].concat()
    };
    vec![
        ("a cut line", good()[..50].into(), "JSON"),
        ("text", "hello".into(), "JSON"),
        ("NUL bytes", vec![0; 300], "JSON"),
        ("a NUL in a string", raw(b"a\0b"), "JSON"),
        ("a vertical tab in a string", raw(b"a\x0bb"), "JSON"),
        ("no UTF-8", raw(b"\xed\xa0\x80"), "JSON"),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec(), "JSON"),
        ("a second mark of the byte order", ["\u{feff}", &good()].concat().into(), "JSON"),
        ("a lone surrogate", payload(r#"{"turnId":"\ud83d"}"#).into(), "JSON"),
        ("a lone low surrogate", payload(r#"{"turnId":"\udc00"}"#).into(), "JSON"),
        ("a swapped pair", payload(r#"{"turnId":"\udc00\ud800"}"#).into(), "JSON"),
        ("a lone surrogate as a name", payload(r#"{"turnId":"t","\ud800":1}"#).into(), "JSON"),
        ("a name twice", payload(r#"{"turnId":"t","a":1,"a":1}"#).into(), "JSON"),
        ("a number out of range", payload(r#"{"turnId":"t","a":1e400}"#).into(), "JSON"),
        ("two values", [good(), good()].concat().into(), "JSON"),
        ("two values with a gap", [good(), good()].join(" ").into(), "JSON"),
        ("a comma at the end", (good() + ",").into(), "JSON"),
        ("an array of events", format!("[{},{}]", good(), good()).into(), "VERSION"),
        ("an array", "[]".into(), "VERSION"),
        ("null", "null".into(), "SHAPE"),
        ("an empty object", "{}".into(), "VERSION"),
        ("129 levels", nested(127).into(), "LIMIT"),
        ("10,000 levels", nested(10_000).into(), "LIMIT"),
        ("1,000,000 open levels", "[".repeat(1_000_000).into(), "LIMIT"),
        ("17 MB", payload(&format!("{{\"turnId\":\"{}\"}}", "x".repeat(17 << 20))).into(), "LIMIT"),
        ("an unknown type", good().replace("turn.started", "nobody.knows").into(), "TYPE"),
        ("a bad payload", payload("{}").into(), "PAYLOAD"),
        ("a newer version", good().replace("\"v\":1", "\"v\":2").into(), "VERSION"),
        ("a seq of 2^53", good().replace("\"seq\":1", "\"seq\":9007199254740992").into(), "SHAPE"),
        ("a seq of 2^64", good().replace("\"seq\":1", "\"seq\":18446744073709551616").into(), "SHAPE"),
        ("a negative seq", good().replace("\"seq\":1", "\"seq\":-1").into(), "SHAPE"),
        ("half a seq", good().replace("\"seq\":1", "\"seq\":1.5").into(), "SHAPE"),
        ("no id", good().replace("\"id\":\"bad\",", "").into(), "SHAPE"),
        ("an empty host", good().replace("\"host\":\"bad\"", "\"host\":\"\"").into(), "SHAPE"),
        ("causes that are no list", good().replace("[]", "{}").into(), "SHAPE"),
    ]
}

/// The bad line stands third, between good ones; lines end in every way.
fn file(bad: &[u8]) -> Vec<u8> {
    let good = |n: u64| line(&format!("g-{n}"), "g", n, &[]);
    [
        "\u{feff}".as_bytes(),
        good(1).as_bytes(),
        b"\r\n\n",
        bad,
        b"\n",
        good(2).as_bytes(),
        b"\r\n   \n",
        good(3).as_bytes(),
    ]
    .concat()
}

fn check(error: &Value, name: &str, code: &str) {
    assert_eq!((&error["code"], &error["line"]), (&code.into(), &3.into()), "{name}: {error}");
    let message = error["message"].as_str().unwrap();
    assert!(!message.is_empty() && message.len() < 400 && !message.contains('\n'), "{name}: {message}");
}

#[test]
fn by_default_nothing_is_stored() {
    let bench = Bench::new();
    for (name, text, code) in bad() {
        for mode in [&[][..], &["--dry-run"]] {
            let said = bench.run_with(&[&["import", "-", "--json"], mode].concat(), file(&text)).exits(1);
            check(&said.error(), name, code);
            assert_eq!(counts(&said.json()), [4, 0, 0, 1], "{name}");
        }
        let people = bench.run_with(&["import", "-"], file(&text)).exits(1);
        assert!(people.err.contains("line 3") && people.err.contains(code), "{name}: {}", people.err);
    }
    assert_eq!(bench.events(), 0);
}

#[test]
fn lenient_leaves_out_exactly_the_bad_lines() {
    for (name, text, code) in bad() {
        let bench = Bench::new();
        for (mode, stored) in
            [(&["--dry-run"][..], [4, 3, 0, 1]), (&[], [4, 3, 0, 1]), (&["--dry-run"], [4, 0, 3, 1])]
        {
            let said = bench
                .run_with(&[&["import", "-", "--json", "--lenient"], mode].concat(), file(&text))
                .exits(1);
            check(&said.error(), name, code);
            assert_eq!(counts(&said.json()), stored, "{name}");
        }
        assert_eq!(bench.events(), 3, "{name}");
    }
}

#[test]
fn a_stream_stops_at_the_bad_line_or_leaves_it_out() {
    for (name, text, code) in bad() {
        let bench = Bench::new();
        let said = bench.run_with(&["import", "-", "--json", "--stream"], file(&text)).exits(1);
        check(&said.error(), name, code);
        assert_eq!((counts(&said.json()), bench.events()), ([2, 1, 0, 1], 1), "{name}");
        let said = bench.run_with(&["import", "-", "--json", "--stream", "--lenient"], file(&text)).exits(1);
        check(&said.error(), name, code);
        assert_eq!((counts(&said.json()), bench.events()), ([4, 2, 1, 1], 3), "{name}");
    }
}

/// Where two values stand on one line, the column says where the first one ends.
#[test]
fn columns_are_named() {
    let bench = Bench::new();
    let good = line("x", "h", 1, &[]);
    for text in [format!("{good}{good}"), format!("{good} {good}"), format!("{good},")] {
        let said = bench.run_with(&["import", "-"], &text).exits(1);
        assert!(said.err.contains(&format!("column {}", good.len())), "{}", said.err);
    }
}

/// Case C031: what a line may hold although other readers split at it.
#[test]
fn lines_end_at_line_feeds_alone() {
    let bench = Bench::new();
    let strings = ["\u{2028}", "\u{2029}", "\u{85}", "\\u000b", "\\u000c", "\\u001e"];
    let mut text = String::new();
    for (seq, inside) in (1..).zip(strings) {
        text += &line(&format!("x{seq}"), "h", seq, &[]).replace("\"t\"", &format!("\"a{inside}b\""));
        text += "\n";
    }
    text += &line("x7", "h", 7, &[]).replace(",\"seq\"", ",\r\"seq\"");
    let report = bench.run_with(&["import", "-", "--json"], &text).ok().json();
    assert_eq!(counts(&report), [7, 7, 0, 0]);
    let export = bench.export();
    assert_eq!(export.split('\n').count(), 8);
    assert!(export.contains("a\u{2028}b") && export.contains("a\\u000bb"));
}

/// Case C033: numbers come out as they went in.
#[test]
fn numbers_keep_their_text() {
    let numbers = [
        "9007199254740993",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "0.1234567890123456789",
        "-0",
        "1E2",
        "100",
        "1.0",
    ];
    let text: Vec<String> = (1..)
        .zip(numbers)
        .map(|(seq, number)| {
            line(&format!("n{seq}"), "h", seq, &[]).replace("\"t\"}", &format!("\"t\",\"n\":{number}}}"))
        })
        .collect();
    let bench = Bench::new();
    bench.run_with(&["import", "-"], text.join("\n")).ok();
    assert_eq!(bench.export(), text.join("\n") + "\n");
    assert!(bench.run(&["log", "--payload", "--json"]).ok().out.contains("\"n\":0.1234567890123456789}"));
}

/// Case C035: depth up to the limit goes in and comes out.
#[test]
fn deep_nesting_up_to_the_limit_is_fine() {
    let bench = Bench::new();
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    // The envelope and the payload are two of 128 levels.
    let payload = line("x", "h", 1, &[]).replace("\"t\"}", &format!("\"t\",\"x\":{}}}", nest(126)));
    let extra = line("y", "h", 2, &[]).replace("{\"v\"", &format!("{{\"more\":{},\"v\"", nest(127)));
    bench.run_with(&["import", "-"], format!("{payload}\n{extra}")).ok();
    let over = line("z", "h", 3, &[]).replace("{\"v\"", &format!("{{\"more\":{},\"v\"", nest(128)));
    assert_eq!(bench.run_with(&["import", "-", "--json"], over).exits(1).error()["code"], "LIMIT");
    assert_eq!(bench.events(), 2);
    bench.run(&["replay"]).ok();
}

/// A line of 60 MB is refused by its number, and not read into memory.
#[cfg(target_os = "linux")]
#[test]
fn a_line_of_60_mb_takes_no_memory() {
    use std::io::Write;
    let bench = Bench::new();
    // Data of the process is capped far below the line's length.
    let mut command = std::process::Command::new("bash");
    let limited =
        format!("ulimit -v 200000; exec {} import - --json --lenient", env!("CARGO_BIN_EXE_causelog"));
    command.args(["-c", &limited]).env("CAUSELOG_STORE", bench.store());
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all((line("x", "h", 1, &[]) + "\n").as_bytes()).unwrap();
    let megabyte = vec![b'x'; 1 << 20];
    for _ in 0..60 {
        stdin.write_all(&megabyte).unwrap();
    }
    stdin.write_all(("\n".to_owned() + &line("y", "h", 2, &[])).as_bytes()).unwrap();
    drop(stdin);
    let said = crate::bench::Said::from(child.wait_with_output().unwrap()).exits(1);
    assert_eq!((&said.error()["code"], &said.error()["line"]), (&"LIMIT".into(), &2.into()));
    assert_eq!(counts(&said.json()), [3, 2, 0, 1]);
}

/// No error repeats what a user typed, whatever is wrong with the line.
#[test]
fn errors_keep_payloads_to_themselves() {
    let bench = Bench::new();
    let secret = |text: &str| line("x", "h", 1, &[]).replace("{\"turnId\":\"t\"}", text);
    let mut texts = vec![
        secret("{\"turnId\":\"sesame"),
        secret("{\"sesame\":1,\"sesame\":2}"),
        secret("{\"turnId\":[\"sesame\"]}"),
        secret("{\"turnId\":\"sesame\\ud800\"}"),
        secret("{\"turnId\":sesame}"),
        secret("\"sesame\""),
        "sesame".to_owned(),
    ];
    texts.push(secret("{\"turnId\":\"t\"}") + "\n" + &secret("{\"turnId\":\"sesame\"}"));
    for text in texts {
        for mode in [&[][..], &["--json"], &["--stream"], &["--dry-run"]] {
            let said = bench.run_with(&[&["import", "-"], mode].concat(), &text).exits(1);
            assert!(!said.err.contains("sesame") && !said.out.contains("sesame"), "{said:?}");
        }
    }
}
