//! The commands that the documents show, run as they stand there.
//!
//! Behind `$` in a block of `console`, and where a line of `sh` starts with the program's name, stands a command. All of a
//! document is one session: one directory, in which `run.jsonl` is the sample and `blobs` its content. A comment `# exit N` behind a command says
//! how it ends where that is not with 0.

use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, SAMPLE, copy_blobs};

/// The commands of a text's blocks, in their order, with the code that each exits with.
fn commands(text: &str) -> Vec<(String, i32)> {
    let mut found = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            fence = fence.is_none().then_some(kind);
            continue;
        }
        let command = match fence {
            Some("console") => line.strip_prefix("$ "),
            Some("sh") => Some(line).filter(|line| line.starts_with("causelog ")),
            _ => None,
        };
        let Some(command) = command else { continue };
        let code = command.split_once("# exit ").map_or(0, |(_, code)| code.trim().parse().unwrap());
        found.push((command.to_owned(), code));
    }
    found
}

fn run(document: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    let all = commands(&text);
    assert!(all.len() >= least, "{document} shows {} commands", all.len());
    let bench = Bench::bare();
    std::fs::copy(SAMPLE, bench.path("run.jsonl")).unwrap();
    copy_blobs(&bench.path("blobs"));
    let program = Path::new(env!("CARGO_BIN_EXE_causelog")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    for (command, code) in all {
        // What takes a while at its full size is run at a smaller one.
        let small = command.replace("1000000", "1000");
        let output = Command::new("sh")
            .args(["-c", &small])
            .current_dir(bench.path("."))
            .env("PATH", format!("{}:{path}", program.display()))
            .env("TMPDIR", bench.path("."))
            .env_remove("CAUSELOG_STORE")
            .env_remove("CAUSELOG_KEY_FILE")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{document}: {command}: {output:?}");
    }
}

#[test]
fn the_page_on_the_command_line_is_true() {
    run("docs/cli.md", 30);
}

#[test]
fn the_readme_is_true() {
    run("README.md", 10);
}
