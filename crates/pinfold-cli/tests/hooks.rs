//! `pinfold call` with hooks in settings: they are asked around every call, and only those that somebody stands behind.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::process::{Command, Output};

use pinfold_testkit::output::run_with_input;
use serde_json::{Value, json};

use crate::kit::Bed;

impl Bed {
    fn hooked_command(&self, args: &[&str]) -> Command {
        let mut command = self.command();
        command.args(args).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("PINFOLD_BIN", env!("CARGO_BIN_EXE_pinfold"));
        command
    }

    fn call(&self, tool: &str, input: &Value) -> (Value, String) {
        let output = self.hooked_command(&["call", tool, &input.to_string()]).output().unwrap();
        (
            serde_json::from_slice(&output.stdout).unwrap_or_default(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn lines(&self, calls: &[Value]) -> Vec<Value> {
        let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
        let Output { stdout, .. } = run_with_input(&mut self.hooked_command(&["call", "--lines"]), &input);
        String::from_utf8(stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn in_project(&self, name: &str) -> String {
        self.tree.read_if_there(self.project.join(name)).unwrap_or_default()
    }
}

fn hook(event: &str, line: &str) -> Value {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}})
}

fn write(name: &str) -> Value {
    json!({"file_path": name, "content": "x\n"})
}

#[test]
fn hooks_of_the_person_are_asked_around_each_call() {
    let bed = Bed::new();
    bed.put_settings(&json!({"hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo the build is broken"}]}],
        "PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0"}]}],
        "PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "cat > /dev/null; pwd > where; echo 'line 1 is too long' >&2; exit 2"}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "cat > end.json"}]}],
    }}));
    let (reply, said) = bed.call("Write", &write("a.txt"));
    assert_eq!((reply["ended"].as_str(), &*said), (Some("done"), ""));
    let text = reply["content"].to_string();
    assert!(text.contains("the build is broken") && text.contains("line 1 is too long"), "{text}");
    assert_eq!(
        (bed.in_project("a.txt"), bed.in_project("where").trim()),
        ("x\n".to_owned(), bed.project.to_str().unwrap())
    );
    let end: Value = serde_json::from_str(&bed.in_project("end.json")).unwrap();
    assert_eq!(
        (end["hook_event_name"].as_str(), end["reason"].as_str()),
        (Some("SessionEnd"), Some("other"))
    );

    let (reply, _) = bed.call("Write", &write("secret.txt"));
    assert_eq!(reply["ended"], "refused");
    assert!(reply["structured"]["message"].as_str().unwrap().contains("no secrets"), "{reply}");
    assert!(!bed.project.join("secret.txt").exists());

    let line = |name: &str| json!({"tool": "Write", "input": write(name)});
    let replies = bed.lines(&[line("b.txt"), line("secret"), line("c.txt")]);
    let ends: Vec<_> = replies.iter().map(|reply| reply["ended"].as_str().unwrap()).collect();
    assert_eq!(ends, ["done", "refused", "done"]);
    let started = |reply: &Value| reply["content"].to_string().contains("the build is broken");
    assert_eq!(replies.iter().map(started).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn what_goes_wrong_is_told_to_the_person_and_cannot_draw() {
    let bed = Bed::new();
    bed.put_settings(&hook("PreToolUse", "printf 'a\\033[2Jb' >&2; exit 1"));
    let (reply, said) = bed.call("Write", &write("a.txt"));
    assert_eq!(reply["ended"], "done");
    assert!(said.contains("failed and had no say: it ended with 1: a‹ESC›[2Jb"), "{said}");
    assert!(said.contains("settings.json:1:") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn hooks_of_a_repository_do_not_run_before_it_is_trusted() {
    let bed = Bed::new();
    fs::write(bed.project.join(".pinfold/settings.json"), hook("SessionStart", "touch ran").to_string())
        .unwrap();
    let (reply, said) = bed.call("Write", &write("a.txt"));
    assert_eq!(reply["ended"], "done");
    assert!(!bed.project.join("ran").exists());
    assert!(
        said.contains("the hook `touch ran` of `SessionStart` does not count: this file is not trusted"),
        "{said}"
    );
    // What would run is shown before it is trusted.
    let trusted = bed.hooked_command(&["trust", "--yes"]).output().unwrap();
    assert!(String::from_utf8(trusted.stdout).unwrap().contains("the hook `touch ran` of `SessionStart`"));
    bed.call("Write", &write("b.txt"));
    assert!(bed.project.join("ran").exists());
}

#[test]
fn settings_that_name_a_hook_which_cannot_be_meant_start_nothing() {
    let bed = Bed::new();
    bed.put_settings(&json!({"hooks": {"PreTooluse": []}}));
    let (reply, said) = bed.call("Write", &write("a.txt"));
    assert_eq!(reply, Value::Null);
    assert!(said.contains("`PreTooluse` is no setting here; did you mean `PreToolUse`?"), "{said}");
    assert!(!bed.project.join("a.txt").exists());
}

/// A hook that makes calls of its own has hooks too; that comes to an end.
#[test]
fn hooks_that_make_calls_come_to_an_end() {
    let bed = Bed::new();
    let line = "echo x >> count; \"$PINFOLD_BIN\" call --no-record Glob '{\"pattern\":\"*\"}' > /dev/null 2>&1; exit 0";
    bed.put_settings(&hook("PreToolUse", line));
    let (reply, _) = bed.call("Write", &write("a.txt"));
    assert_eq!(reply["ended"], "done");
    assert_eq!(bed.in_project("count").lines().count(), 3);
}

/// The programs of a hook run outside of every sandbox: an agent does not write them, neither by a tool nor by a shell.
#[test]
fn an_agent_does_not_write_what_a_hook_runs() {
    let bed = Bed::new();
    for name in ["check.sh", "other.sh"] {
        fs::write(bed.project.join(name), "exit 0\n").unwrap();
    }
    let hooks = json!([{"hooks": [{"type": "command", "command": "sh \"$CLAUDE_PROJECT_DIR\"/check.sh"}]}]);
    bed.put_settings(&json!({"allowBash": true, "hooks": {"PreToolUse": hooks}}));
    for (name, ended) in [("check.sh", "refused"), ("other.sh", "done")] {
        let write = json!({"tool": "Write", "input": {"file_path": name, "content": "touch /evil\n"}});
        let read = json!({"tool": "Read", "input": {"file_path": name}});
        assert_eq!(bed.lines(&[read, write])[1]["ended"], ended, "{name}");
    }
    let line = |name: &str| json!({"tool": "Bash", "input": {"command": format!("f={name}; echo evil > $f.sh; cp $f.sh x; mv x $f.sh; true")}});
    let said = bed.lines(&[line("other"), line("check")]);
    let whole = serde_json::to_string(&said).unwrap();
    if said[0]["ended"] == "done" {
        assert_eq!(bed.in_project("other.sh"), "evil\n", "the control: {whole}");
    }
    assert_eq!(bed.in_project("check.sh"), "exit 0\n", "{whole}");
    let own = bed.lines(&[json!({"tool": "Bash", "input": {"command": "echo evil > check.sh"}})]);
    assert_eq!(own[0]["ended"], "refused", "{own:?}");
}
