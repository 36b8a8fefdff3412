//! Reading vectors and counting what they show.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use causelog::{Error, Result};
use serde_json::Value;

/// Differences shown in full before the rest are only counted.
const SHOWN_MAX: usize = 20;

/// Returns the path of a file of vectors; `None`, with a line that says so, in a packaged crate, which has no vectors.
pub(crate) fn path(file: &str) -> Option<PathBuf> {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let named = std::env::var_os("CAUSELOG_CONFORMANCE").map(PathBuf::from);
    if named.is_none() && !bundled.exists() {
        say(&format!("skipped: conformance {file}, which a packaged crate does not hold\n"));
        return None;
    }
    Some(named.unwrap_or_else(|| bundled.join("conformance")).join(file))
}

/// Says something past the capture of test output.
fn say(line: &str) {
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
}

/// Reads the cases of a file, one a line.
pub(crate) fn cases(file: &str) -> Vec<Value> {
    let Some(path) = path(file) else { return Vec::new() };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

/// Reports whether a case carries a tag.
pub(crate) fn tagged(case: &Value, tag: &str) -> bool {
    case["tags"].as_array().is_some_and(|tags| tags.iter().any(|found| found == tag))
}

/// Spells an outcome as the vectors do: the error's code, or what `ok` makes of the value.
pub(crate) fn outcome<T>(result: Result<T>, ok: impl FnOnce(T) -> Value) -> Value {
    result.map_or_else(|error| refusal(&error), ok)
}

/// Spells a refusal as the vectors do.
pub(crate) fn refusal(error: &Error) -> Value {
    serde_json::json!({ "error": error.code().as_str() })
}

/// What the cases of one file showed.
#[derive(Debug)]
pub(crate) struct Tally {
    file: String,
    matched: usize,
    deviated: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

impl Tally {
    /// Starts to count.
    pub(crate) fn new(file: &str) -> Self {
        Self { file: file.into(), matched: 0, deviated: BTreeMap::new(), differences: Vec::new() }
    }

    /// Counts a case that the vectors and this crate must answer alike.
    pub(crate) fn compare(&mut self, case: &Value, ours: &Value, expected: &Value) {
        if ours == expected {
            self.matched += 1;
        } else {
            self.differ(case, ours, expected);
        }
    }

    /// Counts a case where this crate answers otherwise by design, for a reason that
    /// `docs/conformance.md` names: `ours` must be the answer stated there.
    pub(crate) fn deviate(&mut self, reason: &'static str, case: &Value, ours: &Value, stated: &Value) {
        if ours == stated {
            *self.deviated.entry(reason).or_default() += 1;
        } else {
            self.differ(case, ours, stated);
        }
    }

    fn differ(&mut self, case: &Value, ours: &Value, expected: &Value) {
        let case: String = case.to_string().chars().take(600).collect();
        self.differences.push(format!("ours {ours}, expected {expected}: {case}"));
    }

    /// Prints the counts, past the capture of test output, and fails on any difference.
    pub(crate) fn finish(self) {
        let by_design: usize = self.deviated.values().sum();
        let ran = self.matched + by_design + self.differences.len();
        let reasons: Vec<String> =
            self.deviated.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        let line = format!(
            "conformance {}: {ran} ran, {} matched, {by_design} deviated by design{reasons}\n",
            self.file, self.matched
        );
        say(&line);
        assert!(ran > 0 || path(&self.file).is_none(), "{} holds no case", self.file);
        let shown: Vec<_> = self.differences.iter().take(SHOWN_MAX).collect();
        assert!(shown.is_empty(), "{} unexplained: {shown:#?}", self.differences.len());
    }
}
