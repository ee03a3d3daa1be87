//! `pinfold rules learn --apply` at a terminal: each rule is asked about, and only a yes writes it.

use std::fs;
use std::process::Command;

use pinfold_tests::product::pinfold;
use pinfold_tests::terminal::Terminal;
use serde_json::{Value, json};

#[test]
fn each_rule_is_written_by_its_own_yes() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (project, state) = (top.join("proj"), top.join("state"));
    fs::create_dir_all(project.join(".pinfold")).unwrap();
    fs::create_dir_all(&state).unwrap();
    let record = top.join("record.jsonl");
    let line = |id: usize, more: Value| {
        let mut line = json!({"v": 2, "session": "call-1", "id": id, "tool": "Bash"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let commands = ["make", "make", "make", "npm test", "npm test"];
    let lines = commands.iter().enumerate().map(|(id, command)| {
        let asked = json!({"kind": "decision", "ruling": "question", "folder": project, "input": {"command": command}});
        line(id, asked) + &line(id, json!({"kind": "answer", "choice": "yes", "by": {"via": "terminal"}}))
    });
    fs::write(&record, lines.collect::<String>()).unwrap();
    let mut learn = Command::new(pinfold());
    learn.args(["rules", "learn", "--apply", "--record"]).arg(&record).current_dir(&project);
    learn.env("HOME", &top).env("XDG_CONFIG_HOME", top.join("config")).env("XDG_STATE_HOME", &state);

    let mut terminal = Terminal::start(&learn);
    terminal.expect("Bash(make)");
    terminal.expect("Add it? [y/N]");
    terminal.type_in("\n");
    terminal.expect("Bash(npm test)");
    terminal.expect("Add it? [y/N]");
    terminal.type_in("y\n");
    terminal.expect("1 of 2 rules added");
    assert!(terminal.end().success());
    let written = fs::read_to_string(project.join(".pinfold/settings.local.json")).unwrap();
    assert!(written.contains("Bash(npm test)") && !written.contains("Bash(make)"), "{written}");
}
