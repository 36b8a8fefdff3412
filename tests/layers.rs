//! The shape of the source tree, checked on its text: layers, `unsafe`, files, sizes, and the map of it.
//!
//! `docs/architecture.md` says why. `cli -> replay -> store -> {log, blob, index} -> {codec, order, io} -> contract`:
//! a layer uses what stands to its right, never what stands beside it or to its left.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy's settings for tests do not reach")]

use std::fs;
use std::path::{Path, PathBuf};

/// Layers and how far left they stand. A layer uses those of a lower rank.
const RANKS: [(&str, u8); 10] = [
    ("cli", 5),
    ("replay", 4),
    ("store", 3),
    ("log", 2),
    ("blob", 2),
    ("index", 2),
    ("codec", 1),
    ("order", 1),
    ("io", 1),
    ("contract", 0),
];

/// Files that stand above all layers.
const ABOVE: [&str; 3] = ["lib.rs", "fuzzing.rs", "bin"];

/// The only file with `unsafe` in it.
const UNSAFE_FILE: &str = "io/mmap.rs";

/// Layers that may touch the operating system's files: `cli` for the files that users name.
const FILE_LAYERS: [&str; 2] = ["io", "cli"];

/// Past this, two ideas share a file.
const LINES_MAX: usize = 600;

struct Source {
    /// Path below `src`, with `/`.
    name: String,
    text: String,
}

impl Source {
    fn layer(&self) -> &str {
        self.name.split('/').next().unwrap()
    }

    fn is_above(&self) -> bool {
        ABOVE.contains(&self.layer())
    }

    /// The text without comments. A `//` in a string cuts its line too: less is checked then, never more.
    fn code(&self) -> String {
        let code = |line: &str| line.split("//").next().unwrap().to_owned() + "\n";
        self.text.lines().map(code).collect()
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(files.len() > 50, "only {} files below {}", files.len(), root.display());
    let read = |file: PathBuf| {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        Source { name, text: fs::read_to_string(&file).unwrap() }
    };
    files.into_iter().map(read).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first names behind each `crate::` in code.
fn uses(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| is_word(c) || c == '$') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(first_names(group)),
            None => found.push(rest.chars().take_while(|c| is_word(*c)).collect()),
        }
    }
    found
}

/// The first name of each member of a group, up to the brace that closes it.
fn first_names(group: &str) -> Vec<String> {
    let (mut names, mut name, mut depth, mut fresh) = (Vec::new(), String::new(), 0u32, true);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                fresh = true;
            }
            _ if depth == 0 && fresh && is_word(c) => name.push(c),
            _ if c.is_whitespace() && name.is_empty() => {}
            _ => fresh = false,
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// How many directories below `src` the module of a file stands.
fn depth(name: &str) -> usize {
    let path = name.strip_suffix(".rs").unwrap();
    path.strip_suffix("/mod").unwrap_or(path).split('/').count()
}

/// Paths that climb out of their layer to a sibling of it: `super` once for each module above, and once more. Modules
/// that stand in the file itself are one deeper, which `nested` allows for.
fn escapes(name: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut nested: Vec<usize> = Vec::new();
    let mut braces = 0usize;
    for line in code.lines() {
        let opens_module = line.trim_end().ends_with('{')
            && line.split(|c| !is_word(c)).find(|word| !["", "pub", "crate", "in"].contains(word))
                == Some("mod");
        if opens_module {
            nested.push(braces);
        }
        let mut rest = line;
        while let Some(at) = rest.find("super::") {
            let fresh = rest[..at].chars().next_back().is_none_or(|c| !is_word(c));
            let mut climbs = 0;
            rest = &rest[at..];
            while let Some(further) = rest.strip_prefix("super::") {
                climbs += 1;
                rest = further;
            }
            if fresh && climbs >= depth(name) + nested.len() {
                found.push(rest.chars().take_while(|c| is_word(*c)).collect());
            }
        }
        braces += line.matches('{').count();
        braces = braces.saturating_sub(line.matches('}').count());
        nested.retain(|outside| braces > *outside);
    }
    found
}

fn rank(layer: &str) -> Option<u8> {
    RANKS.iter().find(|(name, _)| *name == layer).map(|(_, rank)| *rank)
}

#[test]
fn layers_use_only_what_stands_to_their_right() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| !source.is_above()) {
        let layer = source.layer();
        let Some(own) = rank(layer) else {
            wrong.push(format!("{}: `{layer}` is no layer", source.name));
            continue;
        };
        for used in uses(&source.code()).iter().filter(|used| *used != layer) {
            match rank(used) {
                Some(other) if other < own => {}
                Some(_) => wrong.push(format!("{}: `{layer}` uses `{used}`", source.name)),
                // Tests may use the names that users have.
                None if source.name.contains("tests") => {}
                // Names at the root are re-exports for users, and hide what is really used.
                None => wrong.push(format!("{}: `crate::{used}` names no layer", source.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nobody_climbs_out_of_a_layer() {
    let climbs = |source: &Source| -> Vec<String> {
        let paths = escapes(&source.name, &source.code());
        paths.iter().map(|used| format!("{}: `super` leads to `{used}`", source.name)).collect()
    };
    let wrong: Vec<String> = sources().iter().filter(|source| !source.is_above()).flat_map(climbs).collect();
    assert!(wrong.is_empty(), "say `crate::`, which is checked:\n{}", wrong.join("\n"));
}

#[test]
fn climbing_is_found() {
    let code = "use super::super::store::Store;\nuse super::view;\nfn f() { super::super::io::x() }";
    assert_eq!(escapes("log/a.rs", code), ["store", "io"]);
    assert!(escapes("log/repair/a.rs", code).is_empty());
    assert_eq!(escapes("log/mod.rs", "use super::store;"), ["store"]);
    let inside = "mod tests {\n    use super::super::tail;\n    fn f() { super::super::super::codec::x(); }\n}\n\
                  use super::super::io;";
    assert_eq!(escapes("log/a.rs", inside), ["codec", "io"]);
}

#[test]
fn unsafe_code_stands_in_one_file() {
    let has_unsafe = |source: &&Source| source.code().split(|c| !is_word(c)).any(|word| word == "unsafe");
    let files: Vec<String> = sources().iter().filter(has_unsafe).map(|source| source.name.clone()).collect();
    assert_eq!(files, [UNSAFE_FILE]);
}

#[test]
fn files_are_opened_through_the_seam() {
    // Tests of the layers set the stage as they like; they stand in files or modules of that name.
    let code = |source: &Source| source.code().split("#[cfg(test)]\nmod ").next().unwrap().to_owned();
    let opens = |source: &&Source| {
        let code = code(source);
        !FILE_LAYERS.contains(&source.layer())
            && !source.name.contains("tests")
            && ["std::fs", "fs::File", "File::open", "OpenOptions"].iter().any(|word| code.contains(word))
    };
    let files: Vec<String> = sources().iter().filter(opens).map(|source| source.name.clone()).collect();
    assert!(files.is_empty(), "{files:?} open files beside `io`");
}

#[test]
fn no_file_is_too_long() {
    let long = |source: &&Source| source.text.lines().count() > LINES_MAX;
    let files: Vec<String> = sources().iter().filter(long).map(|source| source.name.clone()).collect();
    assert!(files.is_empty(), "{files:?} have more than {LINES_MAX} lines");
}

/// The files that the code map names: headings give the directory, rows the file.
fn mapped() -> Vec<String> {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let (mut dir, mut files) = (None, Vec::new());
    for line in fs::read_to_string(map).unwrap().lines() {
        if line.starts_with('#') {
            dir = line.strip_prefix("### `src/").and_then(|rest| rest.strip_suffix('`')).map(str::to_owned);
        } else if let (Some(dir), Some(row)) = (&dir, line.strip_prefix("| `")) {
            let file = row.split('`').next().unwrap();
            let is_source = Path::new(file).extension().is_some_and(|extension| extension == "rs");
            files.extend(is_source.then(|| format!("{dir}/{file}")));
        }
    }
    files
}

#[test]
fn the_code_map_leads_to_files() {
    let sources = sources();
    let files = mapped();
    assert!(files.len() > 100, "only {} files in docs/architecture.md", files.len());
    // A directory that a build's tree leaves out is no dead path.
    let is_dead = |file: &&String| {
        let (dir, _) = file.rsplit_once('/').unwrap();
        let is_there = |source: &Source| source.name.rsplit_once('/').is_some_and(|(other, _)| other == dir);
        sources.iter().any(is_there) && sources.iter().all(|source| source.name != **file)
    };
    let dead: Vec<&String> = files.iter().filter(is_dead).collect();
    assert!(dead.is_empty(), "docs/architecture.md names files that do not exist: {dead:?}");
    // Tests stand beside what they test, a `mod.rs` is a list of modules, and one row stands for all verbs.
    let needs_no_row = |name: &str| {
        let is_verb = name.strip_prefix("cli/commands/").is_some_and(|file| !file.contains('/'));
        name.contains("tests") || name.ends_with("/mod.rs") || is_verb
    };
    let is_unmapped =
        |source: &&Source| !source.is_above() && !needs_no_row(&source.name) && !files.contains(&source.name);
    let unmapped: Vec<&str> = sources.iter().filter(is_unmapped).map(|source| &*source.name).collect();
    assert!(unmapped.is_empty(), "docs/architecture.md has no row for {unmapped:?}");
}

/// The lines of the first block that a fence opens, without those that are hidden or empty.
fn example<'t>(lines: impl Iterator<Item = &'t str>, fence: &str) -> Vec<&'t str> {
    let fenced = lines.skip_while(|line| *line != fence).skip(1).take_while(|line| *line != "```");
    fenced.filter(|line| !line.is_empty() && !line.starts_with("# ")).collect()
}

#[test]
fn the_readme_shows_what_the_docs_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let docs = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let docs = docs.lines().filter_map(|line| line.strip_prefix("//!"));
    let docs = example(docs.map(|line| line.strip_prefix(' ').unwrap_or(line)), "```");
    let shown = example(readme.lines(), "```rust");
    assert!(shown.len() > 10, "the README shows {} lines", shown.len());
    assert_eq!(shown, docs);
}

#[test]
fn the_promises_lead_to_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/durability.md")).unwrap();
    let promises = docs.lines().skip_while(|line| *line != "| promise | shown by |").skip(2);
    let rows: Vec<&str> = promises.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20, "{} promises", rows.len());
    let exists = |test: &str| {
        let (file, name) = test.rsplit_once("::").unwrap();
        let file = format!("{}.rs", file.replace("::", "/"));
        let text = |dir: &str| fs::read_to_string(root.join(dir).join(&file)).ok();
        text("tests").or_else(|| text("src")).is_some_and(|text| text.contains(&format!("fn {name}")))
    };
    for row in rows {
        let mut tests = row.split('`').skip(1).step_by(2).filter(|word| word.contains("::")).peekable();
        assert!(tests.peek().is_some() || row.contains("not yet (issue on "), "{row}");
        assert!(tests.clone().all(exists), "no such test: {row}");
    }
}

#[test]
fn names_are_found_in_every_form() {
    let code = "use crate::io::Vfs;\nuse crate::{codec::Frame, log::{self, View}, order,\n    contract};\n\
                fn f(_: crate::store::Store) { $crate::cli!(); mycrate::replay(); }\npub(in crate::index) mod a;";
    assert_eq!(uses(code), ["io", "codec", "log", "order", "contract", "store", "index"]);
    let source =
        Source { name: "log/a.rs".to_owned(), text: "// crate::store\nuse a; // crate::cli".to_owned() };
    assert!(uses(&source.code()).is_empty());
}
