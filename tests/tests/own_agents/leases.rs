//! Runs in one folder, each a process of its own: one writes at a time, and nobody waits for the dead.

use std::fs;
use std::process::{Child, Output};
use std::thread;
use std::time::Duration;

use pinfold_tests::output::describe;
use pinfold_tests::processes::{signal, until};
use pinfold_tests::{Who, each};
use serde_json::json;

use super::{Runs, bash, write};

/// Says that it has begun, and works until it is told to end.
const WORKS: &str = "echo > began; while ! test -e end; do sleep 0.05; done";

impl Runs {
    /// A run that works until `end` is there, or it is killed.
    fn at_work(&self) -> Child {
        let child = self.spawned(&["--allow-bash", "--prompt", "go"], "works.jsonl");
        let began = self.bed.folder().join("began");
        until("it works", || began.exists());
        child
    }

    fn let_end(&self, child: Child) -> Output {
        fs::write(self.bed.folder().join("end"), "").expect("a file");
        let output = child.wait_with_output().expect("it ends");
        fs::remove_file(self.bed.folder().join("end")).expect("a file");
        output
    }

    fn leases(&self) -> Vec<String> {
        let place = self.bed.home().join(".local/state/pinfold/agents/leases");
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Runs that write a file, and one that works for a while.
fn two(who: Who) -> Runs {
    let runs = Runs::new(who, &[json!({"calls": [write("second.txt")]}), json!({"say": "written"})]);
    let works = json!({"calls": [bash(WORKS), write("first.txt")]}).to_string();
    fs::write(runs.bed.outside().join("works.jsonl"), works).expect("a script");
    fs::create_dir_all(runs.bed.folder().join("below")).expect("a folder");
    runs.bed.give();
    runs
}

#[each(user)]
fn a_second_run_in_a_folder_is_told_who_holds_it_and_comes_after(who: Who) {
    let runs = two(who);
    let first = runs.at_work();
    let holder = format!("(process {})", first.id());
    for folder in [".", "below"] {
        let refused = runs.run(&["--folder", folder, "--wait", "0", "--prompt", "go"]);
        assert_eq!(refused.status.code(), Some(1), "{folder}: {}", describe(&refused));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("is held by agent-") && said.contains(&holder), "{folder}: {said}");
    }
    let reads = runs.run(&["--read-only", "--wait", "0", "--prompt", "go"]);
    assert_eq!(reads.status.code(), Some(0), "one that only reads waits for nobody: {}", describe(&reads));
    let outside = runs.bed.outside();
    let beside = outside.to_str().expect("plain");
    let other = runs.run(&["--folder", beside, "--wait", "0", "--prompt", "go"]);
    assert_eq!(other.status.code(), Some(0), "nor one in another folder: {}", describe(&other));

    let second = runs.spawned(&["--prompt", "go"], "script.jsonl");
    let ended = runs.let_end(first);
    assert_eq!(ended.status.code(), Some(0), "{}", describe(&ended));
    let second = second.wait_with_output().expect("it ends");
    assert_eq!(second.status.code(), Some(0), "{}", describe(&second));
    assert!(runs.bed.folder().join("second.txt").exists());
    assert_eq!(runs.leases(), ["table"], "nothing is left");
}

#[test]
fn whoever_waits_says_for_whom() {
    let runs = two(Who::present()[0]);
    let first = runs.at_work();
    let holder = format!("(process {})", first.id());
    let second = runs.spawned(&["--wait", "1s", "--prompt", "go"], "script.jsonl");
    let second = second.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("waits for agent-") && said.matches(&holder).count() == 2, "{said}");
    assert_eq!(second.status.code(), Some(1));
    assert!(!runs.bed.folder().join("second.txt").exists());
    runs.let_end(first);
}

#[each(user)]
fn a_run_that_is_killed_holds_nothing_any_more(who: Who) {
    let runs = two(who);
    let mut first = runs.at_work();
    assert_eq!(runs.leases().len(), 2, "the control: it holds one");
    signal(&first, "KILL");
    first.wait().expect("it is gone");
    let second = runs.run(&["--wait", "30s", "--prompt", "go"]);
    assert_eq!(second.status.code(), Some(0), "{}", describe(&second));
    assert!(runs.bed.folder().join("second.txt").exists() && !runs.bed.folder().join("first.txt").exists());
    assert_eq!(runs.leases(), ["table"], "what it left is taken away");
}

#[test]
fn many_runs_that_are_killed_and_not_never_work_at_one_time() {
    let who = Who::present()[0];
    // Each says that it works, and looks whether another one has said so meanwhile.
    let alone = "me=$(date +%s%N); echo $me > who; sleep 0.1; test $me = $(cat who) || echo > met";
    let runs = Runs::new(who, &[json!({"calls": [bash(alone)]}), json!({"say": "done"})]);
    let words = ["--allow-bash", "--wait", "2m", "--prompt", "go"];
    let mut children: Vec<Child> = (0..6).map(|_| runs.spawned(&words, "script.jsonl")).collect();
    // One is killed that waits, or looks, or works.
    thread::sleep(Duration::from_millis(300));
    let mut killed = children.swap_remove(3);
    killed.kill().expect("a child");
    killed.wait().expect("it is gone");
    let outputs: Vec<Output> =
        children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", describe(output));
    }
    assert!(runs.bed.folder().join("who").exists(), "the control");
    assert!(!runs.bed.folder().join("met").exists(), "two worked at one time");
}
