//! `pinfold why NAME`: what the record says about a name that was printed, and what would be decided now.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::PathBuf;

use pinfold_testkit::output::both;
use serde_json::{Value, json};

use crate::kit::Bed;

impl Bed {
    fn with_record() -> Self {
        let bed = Self::new();
        fs::create_dir_all(bed.record()).unwrap();
        bed.write_record("record-000001.jsonl", &bed.put_aside());
        bed.write_record("record.jsonl", &bed.written());
        bed
    }

    fn write_record(&self, file: &str, lines: &[Value]) {
        let line = |line: &Value| {
            let mut whole = json!({"v": 2, "at": "2026-01-02T03:04:05.678Z", "principal": "main"});
            whole.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
            format!("{whole}\n")
        };
        let text: String = lines.iter().map(line).collect();
        fs::write(self.record().join(file), text).unwrap();
    }

    /// A question that somebody answered with yes for the session, and how the deed ended.
    fn put_aside(&self) -> Vec<Value> {
        let call = json!({"session": "call-aaaaaaaaaaaa", "id": 1, "tool": "Bash"});
        let with = |more: Value| {
            let mut line = call.clone();
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line
        };
        let decision = |ruling: &str| {
            with(
                json!({"kind": "decision", "ruling": ruling, "decision": "ask", "step": "ask-rule", "mode": "default",
                "reason": "a rule wants it to be asked about", "rule": "Bash(npm *)", "source": "user s.json:3:5",
                "folder": self.project, "input": {"command": "npm test"}}),
            )
        };
        let denial = json!({"id": "call-aaaaaaaaaaaa:1:1", "layer": "kernel", "who": "npm", "what": "create",
            "place": self.project.with_file_name("else"), "why": "it lies outside the folder", "instead": "stay",
            "retry": "never", "to_allow": ["pinfold run --allow-write X"]});
        vec![
            decision("question"),
            with(
                json!({"kind": "answer", "choice": "session", "by": {"via": "terminal", "who": "ana"}, "digest": "",
                "lasts": "session", "waited_ms": 3210, "grants": ["npm test"]}),
            ),
            with(json!({"kind": "not-written", "rules": ["Bash(npm test)"], "failed": "the disk is full"})),
            decision("permit"),
            with(json!({"kind": "outcome", "end": "done", "ms": 12, "denials": [denial]})),
        ]
    }

    fn written(&self) -> Vec<Value> {
        let denial = |id: &str, place: PathBuf| {
            json!({"id": id, "layer": "kernel", "who": "cp", "what": "write", "place": place, "times": 3,
                "why": "it lies outside the folder", "instead": "write inside", "retry": "never",
                "to_allow": ["pinfold run --allow-write /x", "pinfold run --add-dir /y"]})
        };
        let refused = json!({"id": "call-bbbbbbbbbbbb:1", "layer": "rule", "who": "main", "what": "Bash",
            "why": "a rule denies it", "rule": "Bash(make)", "source": "project s.json:9:1", "instead": "do without",
            "retry": "never", "to_allow": ["take the rule `Bash(make)` away (project s.json:9:1)"]});
        vec![
            json!({"session": "call-bbbbbbbbbbbb", "id": 1, "tool": "Bash", "kind": "decision", "ruling": "refusal",
                "decision": "deny", "step": "deny-rule", "code": "Denied", "reason": "a rule denies it",
                "mode": "acceptEdits", "bash": "sandboxed", "rule": "Bash(make)", "source": "project s.json:9:1",
                "folder": self.project, "input": {"command": "make"}, "denial": refused}),
            json!({"session": "call-cccccccccccc", "id": 1, "tool": "Bash", "kind": "decision", "ruling": "permit",
                "decision": "allow", "step": "mode-default", "folder": self.project,
                "input": {"command": "curl [REDACTED:token]"}}),
            json!({"session": "run-dddddddddddd", "kind": "start", "program": "cp", "command": "cp a b",
                "folder": self.project, "tier": "full", "pid": 1}),
            json!({"session": "run-dddddddddddd", "kind": "refusal",
                "denial": denial("run-dddddddddddd:k1", self.project.with_file_name("else"))}),
            json!({"session": "run-dddddddddddd", "kind": "refusal",
                "denial": denial("run-dddddddddddd:k2", self.project.join("a/b"))}),
            json!({"session": "run-dddddddddddd", "kind": "end", "end": "code", "exit": 7, "tier": "full",
                "watched": true, "ms": 5, "refused": 2}),
        ]
    }

    fn why(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.command().arg("why").args(args).current_dir("/").output().unwrap();
        (output.status.code(), both(&output))
    }

    fn told(&self, name: &str) -> Value {
        let (_, text) = self.why(&["--json", name]);
        let mut told: Value = serde_json::from_str(&text).unwrap();
        told.get_mut(0).map(Value::take).unwrap_or_default()
    }
}

#[test]
fn a_call_is_told_with_who_answered_and_how_it_ended() {
    let bed = Bed::with_record();
    // Wherever somebody asks, and in a file that was put aside: it is judged in the folder that it was made in.
    for name in ["call-aaaaaaaaaaaa:1", "call-aa:1"] {
        let (code, text) = bed.why(&[name]);
        assert_eq!(code, Some(4), "{text}");
        for part in [
            "call-aaaaaaaaaaaa:1  Bash {\"command\":\"npm test\"}",
            "2026-01-02 03:04:05 by main in ",
            "then: ask (ask-rule: a rule wants it to be asked about)  Bash(npm *)  (user s.json:3:5)",
            "answered: session by terminal (ana) after 3210 ms, for the session",
            "granted: npm test",
            "not written: Bash(npm test): the disk is full",
            "outcome: done after 12 ms",
            "call-aaaaaaaaaaaa:1:1  create",
            "it would be the same now, for another reason",
            "pinfold rules add allow 'Bash(npm test)'",
            "still asks ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let told = bed.told("call-aa:1");
    let record = &told["record"];
    assert_eq!((&record["answers"][0]["who"], &record["ruling"]), (&"ana".into(), &"permit".into()));
    assert_eq!((&told["same"], &told["answer"]["step"]), (&true.into(), &"mode-default".into()));
    assert_eq!(told["could_be_added"][0]["rule"], "Bash(npm test)");
}

#[test]
fn a_refusal_is_told_with_its_layer_and_rule_and_with_what_holds_now() {
    let bed = Bed::with_record();
    let (code, text) = bed.why(&["call-b:1"]);
    for part in [
        "refused by the gate: a rule denies it",
        "Bash(make)  (project s.json:9:1)",
        "the model was told: do without; the same will not work in that session",
        "to allow it: take the rule `Bash(make)` away",
        "it would be otherwise now",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The rule is gone, and the session let commands run that are held.
    assert_eq!(code, Some(0), "{text}");
    let settings = r#"{"permissions": {"deny": ["Bash(make)"]}}"#;
    fs::write(bed.project.join(".pinfold/settings.json"), settings).unwrap();
    let (code, text) = bed.why(&["call-b:1"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("it would be the same now") && text.contains("deny-rule"), "{text}");
}

#[test]
fn what_the_record_does_not_hold_is_told() {
    let bed = Bed::with_record();
    let (code, text) = bed.why(&["call-c:1"]);
    assert_eq!(code, Some(0), "what was decided then: {text}");
    assert!(text.contains("cannot be judged once more: its input held a secret"), "{text}");
    fs::remove_dir_all(&bed.project).unwrap();
    let (code, text) = bed.why(&["call-b:1"]);
    assert!(code == Some(3) && text.contains("its folder is gone"), "{text}");
}

#[test]
fn what_the_kernel_refused_is_told_with_every_width_and_with_what_holds_now() {
    let bed = Bed::with_record();
    let (code, text) = bed.why(&["run-d:k1"]);
    assert_eq!(code, Some(3), "{text}");
    for part in [
        "run-dddddddddddd:k1  write ",
        "by cp, 3 times",
        "refused by the kernel: it lies outside the folder",
        "to allow it: pinfold run --allow-write /x",
        "to allow it: pinfold run --add-dir /y",
        "of run-dddddddddddd  `cp a b` in ",
        "is refused it now too, without options: it lies outside the folder",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (code, text) = bed.why(&["run-d:k2"]);
    assert!(code == Some(0) && text.contains("can do it now"), "{text}");
    let told = bed.told("run-d:k1");
    assert_eq!((&told["passes"], &told["record"]["denial"]["what"]), (&false.into(), &"write".into()));
    let (code, text) = bed.why(&["call-a:1:1"]);
    assert!(code == Some(3) && text.contains("of call-aaaaaaaaaaaa:1  Bash"), "{text}");
    let (_, last) = bed.why(&["last"]);
    assert!(last.starts_with("run-dddddddddddd:k2"), "{last}");
}

#[test]
fn a_run_is_told() {
    let bed = Bed::with_record();
    let (code, text) = bed.why(&["run-dddddddddddd"]);
    assert_eq!(code, Some(0), "{text}");
    for part in ["`cp a b` in ", "held by full", "ended: code 7 after 5 ms", "refused: run-dddddddddddd:k2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(bed.told("run-dddddddddddd")["record"]["exit"], 7);
}

#[test]
fn a_name_that_fits_nothing_or_several_is_an_error_that_says_so() {
    let bed = Bed::with_record();
    for (name, what) in [
        ("call-:1", "fits several: call-aaaaaaaaaaaa, call-bbbbbbbbbbbb, call-cccccccccccc"),
        ("call-aa:2", "has nothing called `call-aa:2`"),
        ("run-d:k9", "has nothing called `run-d:k9`"),
    ] {
        let (code, text) = bed.why(&[name]);
        assert!(code == Some(2) && text.contains(what), "{name}: {text}");
    }
    let (code, text) = bed.why(&["--as", "record", "run-"]);
    assert!(code == Some(0) && text.contains("ended: code 7"), "one alone fits: {text}");
    let (code, text) = bed.why(&["--as", "record", "what:ever"]);
    assert!(code == Some(2) && text.contains("is no name of the record"), "{text}");
}
