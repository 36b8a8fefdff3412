//! `completions` and `man`: every verb and option occurs.

use crate::bench::Bench;

/// The verbs and their options, from the help that people read.
fn verbs(bench: &Bench) -> Vec<(String, Vec<String>)> {
    let help = bench.run(&["help"]).ok().out;
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty()).filter_map(|line| {
        // Of a description that goes on, further lines stand deeper.
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    });
    let names: Vec<String> = names.filter(|name| name != "help").collect();
    assert!(names.len() >= 20, "{names:?}");
    let options = |name: &String| {
        let help = bench.run(&["help", name]).ok().out;
        let rows = help.lines().filter(|line| line.trim_start().starts_with('-'));
        let option = |row: &str| {
            let word = row.split_whitespace().find(|word| word.starts_with("--"))?;
            Some(word.trim_matches(['-', ',']).to_owned())
        };
        rows.filter_map(option).collect()
    };
    names.iter().map(|name| (name.clone(), options(name))).collect()
}

#[test]
fn shells_complete_every_verb_and_option() {
    let bench = Bench::bare();
    let verbs = verbs(&bench);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = bench.run(&["completions", shell]).ok().out;
        for (verb, options) in &verbs {
            assert!(script.contains(verb), "{shell} lacks {verb}");
            for option in options {
                // Fish spells options without their dashes.
                let spelt = if shell == "fish" { format!("-l {option}") } else { format!("--{option}") };
                assert!(script.contains(&spelt), "{shell} lacks {spelt} of {verb}");
            }
        }
    }
    bench.run(&["completions", "tcsh"]).exits(2);
    assert!(!bench.store().exists());
}

#[cfg(unix)]
#[test]
fn bash_reads_its_script() {
    let bench = Bench::bare();
    let script = bench.file("causelog.bash", bench.run(&["completions", "bash"]).ok().out);
    let words =
        "COMP_WORDS=(causelog log --gr); COMP_CWORD=2; _causelog causelog --gr log; echo \"${COMPREPLY[@]}\"";
    let Ok(said) =
        std::process::Command::new("bash").args(["-c", &format!("source {script}; {words}")]).output()
    else {
        return;
    };
    assert_eq!(String::from_utf8(said.stdout).unwrap().trim(), "--graph");
}

#[test]
fn the_manual_has_every_verb_and_option() {
    let bench = Bench::bare();
    // Roff spells a dash as an escape.
    let plain = |page: String| page.replace("\\-", "-");
    let whole = plain(bench.run(&["man"]).ok().out);
    let verbs = verbs(&bench);
    for (verb, options) in &verbs {
        assert!(whole.contains(&format!("causelog-{verb}(1)")), "{whole}");
        let page = plain(bench.run(&["man", verb]).ok().out);
        assert!(page.contains(&format!(".TH causelog-{verb} 1")), "{page}");
        for option in options {
            assert!(page.contains(&format!("--{option}")), "{verb} lacks --{option}: {page}");
        }
    }
    let dir = bench.path("made/man1");
    let said = bench.run(&["man", "--dir", dir.to_str().unwrap()]).ok();
    assert_eq!(said.out, format!("wrote {} pages to {}\n", verbs.len() + 1, dir.display()));
    for (verb, _) in &verbs {
        let text = std::fs::read_to_string(dir.join(format!("causelog-{verb}.1"))).unwrap();
        assert_eq!(text, bench.run(&["man", verb]).ok().out);
    }
    assert_eq!(std::fs::read_to_string(dir.join("causelog.1")).unwrap(), bench.run(&["man"]).ok().out);
    bench.run(&["man", "--dir", dir.to_str().unwrap(), "--quiet"]).ok();
    bench.run(&["man", "nothing"]).exits(2);
    bench.run(&["man", "log", "--dir", "x"]).exits(2);
}
