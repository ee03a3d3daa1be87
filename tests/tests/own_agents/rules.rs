//! Rules that are written while a run works: they hold for all its agents, from the next call on.

use std::fs;

use pinfold_tests::Who;
use pinfold_tests::output::describe;
use pinfold_tests::processes::until;
use serde_json::json;

use super::{Runs, bash, write};

const WAITS: &str = "echo > began; while ! test -e go; do sleep 0.05; done";

#[test]
fn a_rule_that_comes_later_holds_for_agents_that_work_already() {
    let who = Who::present()[0];
    let start = |name: &str, folder: &str| json!({"tool": "run_agent", "input": {"name": name, "folder": folder, "task": "go"}});
    // The first starts a second, and that one a third, which waits.
    let turns = [
        json!({"calls": [start("second", "a")]}),
        json!({"say": "all"}),
        json!({"agent": "second", "calls": [start("third", "a/b"), {"tool": "wait_for_agents", "input": {}}, write("a/late.txt")]}),
        json!({"agent": "third", "calls": [bash(WAITS), write("a/b/late.txt"), write("a/b/other.txt")]}),
    ];
    let deny = json!({"permissions": {"allow": ["Agent"], "deny": ["Edit(late.txt)"]}});
    for denied in [false, true] {
        let runs = Runs::new(who, &turns);
        fs::create_dir_all(runs.bed.folder().join("a/b")).expect("a folder");
        runs.settings(&json!({"permissions": {"allow": ["Agent"]}}));
        let definition = "---\nname: second\nallow_tools: [Agent, Write, Bash]\n---\n";
        fs::create_dir_all(runs.bed.home().join(".config/pinfold/agents")).expect("a folder");
        fs::write(runs.bed.home().join(".config/pinfold/agents/second.md"), definition).expect("a file");
        let third = definition.replace("second", "third");
        fs::write(runs.bed.home().join(".config/pinfold/agents/third.md"), third).expect("a file");
        runs.bed.give();
        let child = runs.spawned(&["--allow-bash", "--prompt", "go"], "script.jsonl");
        let began = runs.bed.folder().join("a/b/began");
        until("it works", || began.exists());
        if denied {
            runs.settings(&deny);
        }
        fs::write(runs.bed.folder().join("a/b/go"), "").expect("a file");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
        let there = |below: &str| runs.bed.folder().join(below).exists();
        assert!(there("a/b/other.txt"), "{}", describe(&output));
        assert_eq!(there("a/b/late.txt"), !denied, "{denied}: {}", describe(&output));
        assert_eq!(there("a/late.txt"), !denied, "{denied}: {}", describe(&output));
    }
}
