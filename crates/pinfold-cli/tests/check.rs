//! `pinfold check` and `pinfold why`, as a person and a program call them.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use pinfold_testkit::TempTree;
use pinfold_testkit::output::both;
use serde_json::Value;

use crate::kit::Bed;

/// A home that is the folder, too.
fn bed() -> Bed {
    Bed::in_tree(TempTree::new(), "", "")
}

impl Bed {
    fn exit_and_text(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.pinfold(args);
        (output.status.code(), both(&output))
    }
}

#[test]
fn one_call_is_told_with_an_exit_code_for_each_decision() {
    let bed = bed();
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
        let (ended, text) = bed.exit_and_text(&[&["check", "--no-settings", "Bash", input], flags].concat());
        assert_eq!(ended, Some(code), "{input} {flags:?}: {text}");
        assert!(text.contains(words), "{input} {flags:?}: {text}");
    }
}

#[test]
fn lines_are_answered_in_order_and_as_they_come() {
    let bed = bed();
    let mut command = bed.command();
    command.args(["check", "--no-settings"]);
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
    let bed = bed();
    bed.put("p/.pinfold/settings.json", r#"{"permissions": {"deny": ["Read(./secret)"]}}"#);
    let read = ["--folder", "p", "Read", r#"{"file_path":"secret"}"#];
    let (code, text) = bed.exit_and_text(&[&["check"], &read[..]].concat());
    assert!(code == Some(3) && text.contains("project .pinfold/settings.json:1:27"), "{text}");
    assert_eq!(bed.exit_and_text(&[&["check", "--no-settings"], &read[..]].concat()).0, Some(0));
}

#[test]
fn why_tells_every_step_and_what_the_record_has() {
    let bed = bed();
    let (code, text) = bed.exit_and_text(&["why", "git", "push", "--force"]);
    assert_eq!(code, Some(4), "{text}");
    for part in ["Bash", "deny-rule      no opinion", "safeguard      ask: it rewrites", "<- decides"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text) = bed.exit_and_text(&["why", "~/.ssh/id_rsa"]);
    assert!(text.contains("Read ") && text.contains("Write "), "{text}");

    bed.tree.make_dir("p");
    let input = r#"{"file_path":"/srv/x","content":""}"#;
    assert_eq!(bed.exit_and_text(&["call", "--folder", "p", "Write", input]).0, Some(3));
    let (code, text) = bed.exit_and_text(&["why", "last"]);
    assert!(code == Some(4) && text.contains("it would be the same now\n"), "{code:?} {text}");
    let (_, text) = bed.exit_and_text(&["why", "--json", "last"]);
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&told[0]["same"], &told[0]["answer"]["step"]), (&true.into(), &"scope".into()));
    // Names are shortened as one likes, and those of sessions are random: no session has an `o` in its name.
    let (code, text) = bed.exit_and_text(&["why", "call-o:1"]);
    assert!(code == Some(2) && text.contains("has nothing called `call-o:1`"), "{code:?} {text}");
}
