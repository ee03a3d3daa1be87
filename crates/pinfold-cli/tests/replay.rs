//! `pinfold rules replay`: which recorded decisions would be others, by the settings as they are or would be.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use pinfold_testkit::output::both;
use serde_json::{Value, json};

use crate::kit::Bed;

impl Bed {
    fn ends(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.pinfold(args);
        (output.status.code(), both(&output))
    }

    /// What pinfold itself recorded about some calls.
    fn make_many_calls(&self) {
        fs::create_dir_all(self.at("beside")).unwrap();
        for (flags, tool, input) in [
            (&[][..], "Write", r#"{"file_path":"a.txt","content":"hi"}"#),
            (&[], "Write", r#"{"file_path":"/srv/x","content":"hi"}"#),
            (&[], "Read", r#"{"file_path":"a.txt"}"#),
            (&[], "Bash", r#"{"command":"make"}"#),
            (&["--read-only"], "Write", r#"{"file_path":"b.txt","content":"hi"}"#),
            (&["--permission-mode", "default"], "Write", r#"{"file_path":"c.txt","content":"hi"}"#),
            (&["--add-dir", "../beside"], "Write", r#"{"file_path":"../beside/d.txt","content":"hi"}"#),
            (&[], "NoSuchTool", "{}"),
        ] {
            self.ends(&[&["call"], flags, &[tool, input]].concat());
        }
    }

    fn settings(&self, text: &str) {
        fs::write(self.project.join(".pinfold/settings.json"), text).unwrap();
    }

    /// Appends lines about one call each.
    fn record_calls(&self, calls: &[Value]) {
        let record = self.record().join("record.jsonl");
        fs::create_dir_all(record.parent().unwrap()).unwrap();
        let mut text = fs::read_to_string(&record).unwrap_or_default();
        for (id, call) in calls.iter().enumerate() {
            let mut line = json!({"v": 2, "at": "2026-01-02T03:04:05Z", "session": "s", "id": id, "principal": "main",
                "kind": "decision", "ruling": "permit", "decision": "allow", "step": "allow-rule", "mode": "default",
                "folder": self.project, "tool": "Bash", "input": {"command": "make"}});
            line.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
            writeln!(text, "{line}").unwrap();
        }
        fs::write(record, text).unwrap();
    }

    fn replayed(&self, args: &[&str]) -> Value {
        let (code, text) = self.ends(&[&["rules", "replay", "--json"], args].concat());
        let told: Value = serde_json::from_str(&text).unwrap_or_else(|e| unreachable!("{e}: {text}"));
        let differs = !told["differs"].as_array().unwrap().is_empty();
        assert_eq!(code, Some(i32::from(differs)), "{text}");
        told
    }

    /// `BEFORE -> AFTER WHAT` for each call that differs.
    fn differs(&self, args: &[&str]) -> Vec<String> {
        let told = self.replayed(args);
        let one = |call: &Value| {
            let word = |at: &str| call.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
            let what = [word("/input/command"), word("/input/file_path")].concat();
            format!("{} -> {} {what}", word("/was/decision"), word("/now/decision"))
        };
        told["differs"].as_array().unwrap().iter().map(one).collect()
    }
}

#[test]
fn by_the_settings_of_then_all_is_as_it_was() {
    let bed = Bed::new();
    bed.make_many_calls();
    let told = bed.replayed(&[]);
    assert_eq!((&told["judged"], &told["same"]), (&7.into(), &7.into()), "{told:#}");
    assert_eq!(told["not_judged"][0]["kind"], "not-understood");
    // Nothing is written by looking, and the same is said each time.
    let before = fs::read(bed.record().join("record.jsonl")).unwrap();
    assert_eq!(bed.replayed(&[]), told);
    assert_eq!(fs::read(bed.record().join("record.jsonl")).unwrap(), before);
    assert!(!bed.project.join("c.txt").exists());
}

#[test]
fn what_a_change_of_policy_does_is_told() {
    let bed = Bed::new();
    bed.make_many_calls();
    assert_eq!(bed.differs(&["--add", "allow Write(//srv/**)"]), ["ask -> allow /srv/x"]);
    assert_eq!(bed.differs(&["--add", "deny Read"]), ["allow -> deny a.txt"]);
    assert_eq!(bed.differs(&["--add", "ask Read", "--tool", "Write"]), Vec::<String>::new());
    let strict = ["allow -> ask a.txt", "allow -> ask ../beside/d.txt"];
    assert_eq!(bed.differs(&["--permission-mode", "default"]), strict);
    let file = bed.at("new.json");
    fs::write(&file, r#"{"permissions": {"defaultMode": "default"}}"#).unwrap();
    let file = file.display().to_string();
    assert_eq!(bed.differs(&["--settings", &file]), strict);
    assert_eq!(bed.differs(&["--settings", &file, "--mode-as-then"]), Vec::<String>::new());
    // The settings of the project count, and another file stands in their place.
    bed.settings(r#"{"permissions": {"deny": ["Read"]}}"#);
    assert_eq!(bed.differs(&[]), ["allow -> deny a.txt"]);
    assert_eq!(bed.differs(&["--settings", &file]), strict);
    let (code, text) = bed.ends(&["rules", "replay"]);
    assert_eq!(code, Some(1));
    for part in [
        "Read a.txt\n  was  allow (mode-default, mode acceptEdits)\n  now  deny (deny-rule: a rule denies it)  Read  (project ",
        "7 calls judged once more: 1 would be decided otherwise (1 allow -> deny)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_cannot_be_judged_is_told_with_its_reason() {
    let bed = Bed::new();
    bed.record_calls(&[
        json!({"input": {"command": "curl [REDACTED:token]"}}),
        json!({"input": {"command": "make…"}, "cut": [{"at": "/command", "bytes": 9000, "sha256": ""}]}),
        json!({"input": null, "tool": "Process", "process": {"pid": 1}}),
        json!({"agents": ["main", "adapter"]}),
        json!({"step": "session-grant"}),
        json!({"folder": ""}),
        json!({"folder": bed.project.join("gone")}),
        // What is written is for the deed alone.
        json!({"tool": "Read", "input": {"file_path": "a"}, "step": "mode-default"}),
    ]);
    let told = bed.replayed(&["--everywhere"]);
    let kinds: Vec<&str> =
        told["not_judged"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    let expected = ["not-whole", "not-whole", "not-whole", "agent", "granted", "no-folder", "folder-gone"];
    assert_eq!(kinds, expected, "{told:#}");
    assert_eq!((&told["judged"], &told["same"]), (&1.into(), &1.into()));
    let (_, text) = bed.ends(&["rules", "replay", "--everywhere"]);
    assert!(text.contains("1 not judged, its folder is gone: s:6"), "{text}");
    // Of this project alone, where nothing else is said: the others are not even counted.
    assert_eq!(bed.replayed(&[])["not_judged"].as_array().unwrap().len(), 6);
}

#[test]
fn a_grant_of_a_session_is_no_change_of_policy() {
    let bed = Bed::new();
    let answer = |grants: Value| json!({"kind": "answer", "choice": "session", "by": {"via": "terminal"}, "grants": grants});
    let mut lines = vec![
        json!({"ruling": "question", "decision": "ask", "step": "mode-default"}),
        answer(json!(["make"])),
    ];
    lines[1]["id"] = json!(0);
    lines.push(json!({"id": 0, "ruling": "permit", "decision": "ask", "step": "mode-default"}));
    // Let through by what was granted before.
    lines.push(json!({"id": 9, "step": "session-grant"}));
    bed.record_calls(&lines);
    let told = bed.replayed(&[]);
    assert_eq!((&told["judged"], &told["not_judged"][0]["kind"]), (&1.into(), &"granted".into()), "{told:#}");
    // A grant silences no deny rule.
    assert_eq!(bed.differs(&["--add", "deny Bash(make)"]), ["ask -> deny make", "allow -> deny make"]);
}

#[test]
fn a_place_that_has_moved_since_is_told() {
    let bed = Bed::new();
    bed.make_many_calls();
    fs::remove_file(bed.project.join("a.txt")).unwrap();
    symlink("/etc/hostname", bed.project.join("a.txt")).unwrap();
    let told = bed.replayed(&["--tool", "Write"]);
    assert_eq!(told["differs"][0]["moved"], true, "{told:#}");
    assert!(bed.ends(&["rules", "replay"]).1.contains("is another place than then"));
}

#[test]
fn what_cannot_be_meant_is_an_error() {
    let bed = Bed::new();
    fs::write(bed.project.join("bad.json"), "{\"permissions\": 1}").unwrap();
    for args in [
        &["--add", "Bash(make)"][..],
        &["--add", "allow"],
        &["--add", "allow Bash("],
        &["--settings", "no-such-file.json"],
        &["--settings", "bad.json"],
        &["--permission-mode", "whatever"],
        &["--record", "no-such-record.jsonl"],
    ] {
        assert_eq!(bed.ends(&[&["rules", "replay"], args].concat()).0, Some(2), "{args:?}");
    }
}
