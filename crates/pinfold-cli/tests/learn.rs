//! `pinfold rules learn`, as a person calls it.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::process::Output;
use std::sync::Arc;

use pinfold::audit::{Ledger, Limits};
use pinfold::consent::Choice;
use pinfold::policy::Policy;
use pinfold::{Ambient, Plan, RawCall};
use serde_json::{Value, json};

use crate::kit::Bed;
use pinfold_gate_testkit::TestApprover;
use pinfold_gate_testkit::session::open_recorded;

const RECORD: &str = "record.jsonl";

impl Bed {
    /// Records a question about each command with its answer.
    fn record_answers(&self, answers: &[(&str, &str)]) -> &Self {
        let line = |(at, (command, choice)): (usize, &(&str, &str))| {
            let common = json!({"v": 2, "at": "2026-01-02T03:04:05Z", "session": "call-1", "id": at, "principal": "main",
                "tool": "Bash"});
            let with = |more: Value| {
                let mut line = common.as_object().unwrap().clone();
                line.extend(more.as_object().unwrap().clone());
                Value::Object(line).to_string() + "\n"
            };
            let asked = json!({"kind": "decision", "ruling": "question", "decision": "ask", "step": "mode-default",
                "folder": self.project, "input": {"command": command}});
            let said = json!({"kind": "answer", "choice": choice, "by": {"via": "terminal"}, "digest": ""});
            with(asked) + &with(said)
        };
        let text: String = answers.iter().enumerate().map(line).collect();
        fs::write(self.project.join(RECORD), text + "{\"half\": ").unwrap();
        self
    }

    /// Learns from that record.
    fn run(&self, args: &[&str]) -> Output {
        self.run_plainly(&[&["--record", RECORD], args].concat())
    }

    fn run_plainly(&self, args: &[&str]) -> Output {
        self.pinfold(&[&["rules", "learn"], args].concat())
    }

    fn learnt(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn a_proposal_says_what_speaks_for_it_and_what_it_opens() {
    let bed = Bed::new();
    bed.record_answers(&[
        ("git commit -m a", "yes"),
        ("git commit -m b", "session"),
        ("python3 x.py", "yes"),
        ("python3 x.py", "yes"),
    ]);
    let said = bed.learnt(&[]);
    for part in [
        "Bash(git commit *)   would have saved 2 questions",
        "yes to       git commit -m a   call-1:0",
        "also allows  git commit --amend",
        "still asks   git push",
        "no rule for `python3 x.py`, yes 2 times",
        "pinfold rules learn --apply",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json: Value = serde_json::from_str(&bed.learnt(&["--json"])).unwrap();
    assert_eq!(json["proposals"][0]["rule"], "Bash(git commit *)");
    // The newest first.
    assert_eq!(json["proposals"][0]["calls"][0]["records"], json!(["call-1:1"]));
    assert_eq!(json["left"][0]["times"], 2);
    assert!(!bed.project.join(".pinfold/settings.local.json").exists(), "nothing was written");
}

#[test]
fn how_often_can_be_chosen_and_a_no_is_heeded() {
    let bed = Bed::new();
    bed.record_answers(&[("make", "yes"), ("npm test", "yes"), ("npm test", "yes"), ("npm test", "no")]);
    assert!(bed.learnt(&[]).contains("speak for no rule"));
    let json: Value = serde_json::from_str(&bed.learnt(&["--json", "--least", "1"])).unwrap();
    let rules: Vec<&str> =
        json["proposals"].as_array().unwrap().iter().filter_map(|one| one["rule"].as_str()).collect();
    assert_eq!(rules, ["Bash(make)"]);
}

#[test]
fn nothing_is_written_where_nobody_can_confirm_it() {
    let bed = Bed::new();
    bed.record_answers(&[("make", "yes"), ("make", "yes")]);
    let output = bed.run(&["--apply"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot ask without a terminal"));
    assert!(!bed.project.join(".pinfold/settings.local.json").exists());
}

/// The record of the machine, as sessions write it.
#[test]
fn what_sessions_recorded_is_learnt_from_unless_somebody_changed_it() {
    let bed = Bed::new();
    let state = bed.record();
    let output = bed.run_plainly(&[]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("0 answers in this folder speak for no rule"));

    let asking = TestApprover::with_answer(Choice::Yes).asking();
    let plan = Plan::for_folder(&bed.project).with_asking(asking).with_policy(Policy::default());
    let ledger = Ledger::open(&Ambient::claim(), &state, Limits::default()).unwrap();
    let session = open_recorded(plan, Arc::new(ledger));
    for _ in 0..2 {
        let raw = RawCall::new("Write", json!({"file_path": "notes.txt", "content": "x"}));
        assert!(session.decide(&raw).outcome.is_ok());
    }
    let learns = || {
        let output = bed.run_plainly(&["--json"]);
        serde_json::from_slice::<Value>(&output.stdout).map_err(|_| String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(learns().unwrap()["proposals"][0]["rule"], "Write(/notes.txt)");

    let record = fs::read_to_string(state.join(RECORD)).unwrap();
    fs::write(state.join(RECORD), record.replacen("notes.txt", "other.txt", 1)).unwrap();
    assert!(learns().unwrap_err().contains("the record was changed"));
}

#[test]
fn a_record_that_is_named_has_to_be_there() {
    assert_eq!(Bed::new().run_plainly(&["--record", "nowhere"]).status.code(), Some(2));
}

#[test]
fn words_of_a_record_do_nothing_to_the_terminal() {
    let bed = Bed::new();
    bed.record_answers(&[("python3 '\u{1b}[2J\u{202e}'", "yes"), ("python3 '\u{1b}[2J\u{202e}'", "yes")]);
    let said = bed.learnt(&[]);
    assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}') && said.contains("‹ESC›[2J"), "{said}");
}
