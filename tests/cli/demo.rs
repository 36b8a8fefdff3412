//! `demo`.

use std::process::Command;

use crate::bench::{Bench, Said};

#[test]
fn works_twice_and_its_commands_work_as_printed() {
    let bench = Bench::bare();
    let temp = bench.path("temp");
    std::fs::create_dir(&temp).unwrap();
    for _ in 0..2 {
        let said = Said::from(bench.command().arg("demo").env("TMPDIR", &temp).output().unwrap()).ok();
        for needle in ["599 events", "`rm -r ", "verdict: ok", "What to try next", "ext_3f9a1c20#0"] {
            assert!(said.out.contains(needle), "{}", said.out);
        }
        let next: Vec<&str> = said.out.lines().filter(|line| line.contains(" --store ")).collect();
        assert!(next.len() >= 4, "{next:?}");
        #[cfg(unix)]
        for line in next {
            let said = Command::new("sh").args(["-c", line]).current_dir(bench.path(".")).output().unwrap();
            assert!(!Said::from(said).ok().out.is_empty(), "{line}");
        }
    }
    // The store that the environment names is left alone.
    assert!(!bench.store().exists());
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 2);
}

#[test]
fn a_store_of_its_own_is_used_again_and_no_other() {
    let bench = Bench::bare();
    let first = bench.run(&["demo", "--store", "my store", "--json"]).ok().json();
    assert_eq!((&first["import"]["stored"], &first["replay"]["ok"]), (&599.into(), &true.into()));
    let second = bench.run(&["demo", "--store", "my store", "--json"]).ok().json();
    assert_eq!((&second["import"]["duplicates"], &second["replay"]), (&599.into(), &first["replay"]));
    assert!(bench.run(&["demo", "--store", "my store"]).ok().out.contains("--store 'my store' "));

    let real = Bench::new();
    real.run_with(&["import", "-"], crate::bench::line("x", "h", 1, &[])).ok();
    real.run(&["demo", "--store", "store"]).exits(1);
    assert_eq!(real.events(), 1);
}
