//! `pinfold check` and `pinfold why`, as a person and a program call them.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinfold"));
        command.args(args).current_dir(self.folder.path()).env_clear().env("HOME", self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = self.command(args).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        (status.code(), text)
    }
}

#[test]
fn one_call_is_told_with_an_exit_code_for_each_decision() {
    let bed = Bed::new();
    for (input, flags, code, words) in [
        (
            r#"{"command":"git push"}"#,
            &["--allowedTools", "Bash(git push)"][..],
            0,
            "rule     Bash(git push)",
        ),
        (r#"{"command":"git push"}"#, &[], 4, "an allow rule, such as `Bash(git push)`"),
        (r#"{"command":"git push"}"#, &["--disallowedTools", "Bash"], 3, "take the rule `Bash` away"),
        (r#"{"command":"git push -f"}"#, &["--permission-mode", "bypassPermissions"], 4, "force-push"),
        (r#"{"command":"ls"}"#, &["--headless"], 3, "--allow-bash"),
        (r#"{"command":"#, &[], 2, "is not JSON"),
        (r#"{"command":"ls"}"#, &["--permission-mode", "yolo"], 2, "did you mean"),
    ] {
        let (ended, text) = bed.run(&[&["check", "--no-settings", "Bash", input], flags].concat());
        assert_eq!(ended, Some(code), "{input} {flags:?}: {text}");
        assert!(text.contains(words), "{input} {flags:?}: {text}");
    }
}

#[test]
fn lines_are_answered_in_order_and_as_they_come() {
    let bed = Bed::new();
    let mut command = bed.command(&["check", "--no-settings"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        // Each answer comes before the next line is said.
        serde_json::from_str(&output.next().unwrap().unwrap()).unwrap()
    };
    assert_eq!(say(r#"{"id":"a","tool":"Read","input":{"file_path":"a"}}"#)["decision"], "allow");
    let bad = say("nonsense");
    assert_eq!((&bad["id"], &bad["line"]), (&Value::Null, &2.into()));
    assert_eq!(say(r#"{"id":"b","tool":"Write","input":{"file_path":"a"}}"#)["decision"], "ask");
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn settings_stand_behind_lines_unless_they_are_left_out() {
    let bed = Bed::new();
    std::fs::create_dir_all(bed.folder.path().join("p/.pinfold")).unwrap();
    let settings = r#"{"permissions": {"deny": ["Read(./secret)"]}}"#;
    std::fs::write(bed.folder.path().join("p/.pinfold/settings.json"), settings).unwrap();
    let read = ["--folder", "p", "Read", r#"{"file_path":"secret"}"#];
    let (code, text) = bed.run(&[&["check"], &read[..]].concat());
    assert!(code == Some(3) && text.contains("project .pinfold/settings.json:1:27"), "{text}");
    assert_eq!(bed.run(&[&["check", "--no-settings"], &read[..]].concat()).0, Some(0));
}

#[test]
fn why_tells_every_step_and_what_the_record_has() {
    let bed = Bed::new();
    let (code, text) = bed.run(&["why", "git", "push", "--force"]);
    assert_eq!(code, Some(4), "{text}");
    for part in ["Bash", "deny-rule      no opinion", "safeguard      ask: it rewrites", "<- decides"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text) = bed.run(&["why", "~/.ssh/id_rsa"]);
    assert!(text.contains("Read ") && text.contains("Write "), "{text}");

    std::fs::create_dir(bed.folder.path().join("p")).unwrap();
    let input = r#"{"file_path":"/srv/x","content":""}"#;
    assert_eq!(bed.run(&["call", "--folder", "p", "Write", input]).0, Some(3));
    let (code, text) = bed.run(&["why", "last"]);
    assert!(code == Some(4) && text.contains("it would be the same now\n"), "{code:?} {text}");
    let (_, text) = bed.run(&["why", "--json", "last"]);
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&told[0]["same"], &told[0]["answer"]["step"]), (&true.into(), &"scope".into()));
    // Names are shortened as one likes, and those of sessions are random: no session has an `o` in its name.
    let (code, text) = bed.run(&["why", "call-o:1"]);
    assert!(code == Some(2) && text.contains("has nothing called `call-o:1`"), "{code:?} {text}");
}
