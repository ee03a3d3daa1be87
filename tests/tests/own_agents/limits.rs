//! Limits that break off what has begun, and hooks that have an agent go on.

use std::fs;

use pinfold_tests::output::describe;
use pinfold_tests::{Who, each};
use serde_json::json;

use super::{Runs, bash, write};

/// Adds the time to a file for as long as it is let.
const BEATS: &str = "while :; do date +%s%N >> beat; sleep 0.05; done";

/// Whether nobody writes a file any more.
const IS_STILL: &str = "x=$(cat beat); sleep 1; test -n \"$x\" && test \"$x\" = \"$(cat beat)\"";

#[each(user)]
fn a_limit_ends_a_command_that_runs_with_all_that_it_started(who: Who) {
    let command = format!("({BEATS}) & sh -c '{BEATS}'");
    let runs = Runs::new(who, &[json!({"calls": [bash(&command), write("after.txt")]})]);
    let over = runs.run(&["--allow-bash", "--max-time", "4s", "--prompt", "go"]);
    assert_eq!(over.status.code(), Some(5), "{}", describe(&over));
    assert!(!runs.bed.folder().join("after.txt").exists());
    let beat = || fs::read_to_string(runs.bed.folder().join("beat")).expect("it had begun");
    let last = beat();
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(beat(), last, "nothing of it goes on");
}

#[each(user)]
fn what_an_agent_below_left_running_ends_with_it(who: Who) {
    let start = json!({"tool": "run_agent", "input": {"name": "worker", "folder": "a", "task": "go"}});
    let beats = json!({"tool": "Bash", "input": {"command": BEATS, "run_in_background": true}});
    let wait = json!({"tool": "wait_for_agents", "input": {}});
    let turns = [
        json!({"calls": [start, wait, bash(&format!("cd a && {IS_STILL} && echo > ../still"))]}),
        json!({"agent": "worker", "calls": [beats, bash("sleep 1; cat beat")]}),
    ];
    let runs = Runs::new(who, &turns);
    fs::create_dir(runs.bed.folder().join("a")).expect("a folder");
    // The control: while it works, it goes on.
    fs::write(runs.bed.folder().join("a/beat"), "").expect("a file");
    runs.bed.give();
    let output = runs.run(&["--allow-bash", "--allowed-tools", "Agent,Bash(cd *)", "--prompt", "go"]);
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let beat = fs::read_to_string(runs.bed.folder().join("a/beat")).expect("a file");
    assert!(!beat.is_empty() && runs.bed.folder().join("still").exists(), "{}", describe(&output));
}

#[test]
fn a_hook_of_settings_has_an_agent_go_on_until_its_work_is_done() {
    let who = Who::present()[0];
    let turns = [json!({"say": "done"}), json!({"calls": [write("tested.txt")]}), json!({"say": "tested"})];
    let runs = Runs::new(who, &turns);
    let hook = "test -e tested.txt || { echo 'run the tests first' >&2; exit 2; }";
    runs.settings(&json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": hook}]}]}}));
    let output = runs.run(&["--json", "--prompt", "go"]);
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("run the tests first").count(), 1, "{text}");
    assert!(
        runs.bed.folder().join("tested.txt").exists() && text.contains("\"summary\":\"tested\""),
        "{text}"
    );
}
