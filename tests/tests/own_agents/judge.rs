//! A program as the judge: one word and an exit of 0 are a yes, everything else is none.

use std::fs;

use pinfold_tests::output::describe;
use pinfold_tests::{Who, each};
use serde_json::{Value, json};

use super::{Runs, bash};

/// A run of one command in the mode `auto`, with this judge. What it said of the command.
fn judged(who: Who, judge: &Value, mode: &str) -> (Runs, String) {
    let turns =
        [json!({"calls": [bash("make -v > made.txt || echo > made.txt")]}), json!({"say": "{{results}}"})];
    let runs = Runs::new(who, &turns);
    runs.settings(&json!({"judge": judge, "bash": "ask"}));
    let output = runs.run(&["--allow-bash", "--permission-mode", mode, "--prompt", "go"]);
    assert_eq!(output.status.code(), Some(0), "{judge}: {}", describe(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let was_run = runs.bed.folder().join("made.txt").exists();
    assert_eq!(was_run, said.contains("ALLOWED"), "{judge}: {said}");
    (runs, said)
}

fn program(command: &str) -> Value {
    json!({"command": command, "timeout": 2})
}

#[each(user)]
fn only_the_one_word_and_a_good_end_are_a_yes(who: Who) {
    for yes in ["echo ALLOW", "printf ALLOW", "cat > /dev/null; echo ' ALLOW '", "echo no >&2; echo ALLOW"] {
        let (_, said) = judged(who, &program(yes), "auto");
        assert!(said.contains("ALLOWED"), "{yes}: {said}");
    }
    for no in [
        "echo ASK",
        "echo allow",
        "echo 'ALLOW.'",
        "echo ALLOW; echo ASK",
        "true",
        // Crashes, with and without the word.
        "echo ALLOW; exit 1",
        "echo ALLOW; exit 2",
        "echo ALLOW; kill -SEGV $$",
        "no-such-program-at-all",
        // Hangs, with the word said before.
        "echo ALLOW; sleep 1000",
        "echo ALLOW; exec >&-; sleep 1000",
        // Garbage, and much of it.
        "printf 'ALLOW\\000'",
        "printf 'ALLOW\\377'",
        "head -c 300 /dev/urandom",
        "echo ALLOW; yes ALLOW | head -c 3000000",
        "yes",
        "{\"decision\":\"ALLOW\"}",
    ] {
        let (_, said) = judged(who, &program(no), "auto");
        assert!(said.contains("DENIED"), "{no}: {said}");
    }
    let who = Who::present()[0];
    let args = json!({"command": "echo", "args": ["ALLOW"], "timeout": 5});
    assert!(judged(who, &args, "auto").1.contains("ALLOWED"), "a program with arguments");
    let missing = json!({"command": "/no/such/program", "args": [], "timeout": 5});
    assert!(judged(who, &missing, "auto").1.contains("DENIED"));
    for mode in ["default", "acceptEdits"] {
        let (_, said) = judged(who, &program("touch ../asked; echo ALLOW"), mode);
        assert!(said.contains("DENIED"), "it has no say in {mode}: {said}");
    }
}

#[test]
fn it_reads_the_request_and_leaves_nothing_running() {
    let who = Who::present()[0];
    let command =
        "cat > ../heard.json; (while :; do date +%s%N >> ../beat; sleep 0.05; done) & echo ALLOW; sleep 1000";
    let (runs, said) = judged(who, &program(command), "auto");
    assert!(said.contains("DENIED"), "{said}");
    let heard = fs::read_to_string(runs.bed.folder().join("../heard.json")).expect("it was told");
    let heard: Value = serde_json::from_str(&heard).expect("JSON");
    assert_eq!(heard["tool"], "Bash");
    assert!(heard.to_string().contains("made.txt"), "{heard}");
    let beat = || fs::read_to_string(runs.bed.folder().join("../beat")).expect("a file");
    let last = beat();
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(beat(), last);
}

#[test]
fn an_agent_cannot_write_its_judge_and_a_project_cannot_name_one() {
    let who = Who::present()[0];
    // In the folder that the agent writes.
    let write = json!({"tool": "Write", "input": {"file_path": "judge.sh", "content": "echo ALLOW\n"}});
    let turns = [
        json!({"calls": [{"tool": "Read", "input": {"file_path": "judge.sh"}}, write, bash("make -v > made.txt || echo > made.txt")]}),
        json!({"say": "{{results}}"}),
    ];
    let runs = Runs::new(who, &turns);
    fs::write(runs.bed.folder().join("judge.sh"), "echo ASK\n").expect("a file");
    runs.settings(&json!({"judge": {"command": "sh ./judge.sh", "timeout": 5}, "bash": "ask"}));
    let output = runs.run(&["--allow-bash", "--permission-mode", "auto", "--prompt", "go"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.matches("DENIED").count(), 2, "{}", describe(&output));
    assert_eq!(fs::read_to_string(runs.bed.folder().join("judge.sh")).expect("a file"), "echo ASK\n");

    let runs =
        Runs::new(who, &[json!({"calls": [bash("make -v > made.txt")]}), json!({"say": "{{results}}"})]);
    fs::create_dir_all(runs.bed.folder().join(".pinfold")).expect("a folder");
    runs.settings(&json!({"bash": "ask"}));
    let settings = json!({"judge": program("echo ALLOW")}).to_string();
    fs::write(runs.bed.folder().join(".pinfold/settings.json"), &settings).expect("a file");
    fs::write(runs.bed.folder().join(".pinfold/settings.local.json"), settings).expect("a file");
    runs.bed.give();
    let output = runs.run(&["--allow-bash", "--permission-mode", "auto", "--prompt", "go"]);
    assert!(!runs.bed.folder().join("made.txt").exists(), "{}", describe(&output));
}
