//! What the tests stand on: a directory with a store, and a way to run commands in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sample/run.jsonl");

/// The content of the sample.
pub(crate) const BLOBS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sample/blobs");

/// Copies the content of the sample to a directory that is not there yet.
pub(crate) fn copy_blobs(to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(BLOBS).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// A directory of its own, `store` in it being the store.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bench {
    /// Makes an empty store.
    pub(crate) fn new() -> Self {
        let bench = Self::bare();
        bench.run(&["init"]).ok();
        bench
    }

    /// Makes no store.
    pub(crate) fn bare() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Makes a store that holds the sample.
    pub(crate) fn sample() -> Self {
        let bench = Self::new();
        bench.run(&["import", SAMPLE]).ok();
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// Writes a file and returns its path as text.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A command in the directory, with the store given by the environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_causelog"));
        command.current_dir(self.dir.path()).env("CAUSELOG_STORE", self.store()).env_remove("NO_COLOR");
        command.env_remove("CAUSELOG_KEY_FILE");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.run_with(args, "")
    }

    /// Runs a command with a text on its standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> Said {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        // From a thread of its own: a command that does not read must not hold up the test.
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let said = Said::from(child.wait_with_output().unwrap());
        writer.join().unwrap();
        said
    }

    /// The bytes of an export.
    pub(crate) fn export(&self) -> String {
        self.run(&["export"]).ok().out
    }

    pub(crate) fn events(&self) -> u64 {
        self.run(&["stats", "--json"]).ok().json()["events"].as_u64().unwrap()
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the command was killed"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Said {
    /// Expects an exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// The one object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.json_lines();
        assert_eq!(lines.len(), 1, "{self:#?}");
        lines.remove(0)
    }

    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The errors on standard error, under `--json`.
    #[track_caller]
    pub(crate) fn errors(&self) -> Vec<Value> {
        let objects = self.err.lines().map(|line| serde_json::from_str::<Value>(line).expect(&self.err));
        let errors: Vec<Value> = objects.filter_map(|object| object.get("error").cloned()).collect();
        for error in &errors {
            let members: Vec<&String> = error.as_object().unwrap().keys().collect();
            assert_eq!(members, ["code", "kind", "line", "message"], "{error}");
        }
        errors
    }

    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let mut errors = self.errors();
        assert_eq!(errors.len(), 1, "{self:#?}");
        errors.remove(0)
    }
}

/// A `turn.started` event as a line without its end.
pub(crate) fn line(id: &str, host: &str, seq: u64, causes: &[&str]) -> String {
    let causes: Vec<String> = causes.iter().map(|cause| format!("{cause:?}")).collect();
    format!(
        r#"{{"v":1,"id":"{id}","host":"{host}","seq":{seq},"causes":[{}],"at":0,"type":"turn.started","payload":{{"turnId":"t"}}}}"#,
        causes.join(",")
    )
}

/// As many events of one host, each naming the one before it, as lines without their ends.
pub(crate) fn chain(host: &str, count: u64) -> Vec<String> {
    (0..count)
        .map(|seq| {
            let before = seq.checked_sub(1).map(|seq| format!("{host}-{seq}"));
            let causes: Vec<&str> = before.as_deref().into_iter().collect();
            line(&format!("{host}-{seq}"), host, seq, &causes)
        })
        .collect()
}

/// What an import counted: lines, stored, duplicates, refused.
pub(crate) fn counts(report: &Value) -> [u64; 4] {
    ["lines", "stored", "duplicates", "refused"].map(|name| report[name].as_u64().unwrap())
}

/// Every file below a directory, with its bytes.
pub(crate) fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            all.push((path, bytes));
        }
    }
    all.sort();
    all
}
