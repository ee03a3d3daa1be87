//! `pinfold log`, as a person calls it.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::kit::Bed;

impl Bed {
    fn make_calls(&self) -> &Self {
        self.pinfold(&["call", "Write", r#"{"file_path":"a.txt","content":"hi"}"#]);
        self.pinfold(&["call", "Write", r#"{"file_path":"/etc/motd","content":"hi"}"#]);
        self.pinfold(&["call", "--allow-bash", "Bash", r#"{"command":"rm -rf \u001b[2Jx"}"#]);
        self
    }

    fn log(&self, args: &[&str]) -> String {
        let output = self.pinfold(&[&["log"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn lines_are_found_by_what_they_are_about() {
    let bed = Bed::new();
    bed.make_calls();
    for (args, lines) in [
        (&["--tool", "Write"][..], 2),
        (&["--decision", "allow"], 1),
        (&["--asked"], 2),
        (&["--step", "safeguard"], 1),
        (&["--path", "/etc/**"], 1),
        (&["--path", "/etc"], 0),
        (&["--since", "1h"], 3),
        (&["--until", "2001-01-01T00:00:00Z"], 0),
        (&["-n", "1"], 1),
        (&["--session", "call-0"], 0),
    ] {
        let told = bed.log(args);
        assert_eq!(told.lines().count(), lines, "{args:?}: {told}");
    }
    assert!(bed.log(&["--all"]).lines().count() > 3, "outcomes too");
    let data = bed.log(&["--tool", "Bash", "--json"]);
    let data: Value = serde_json::from_str(data.trim_end()).unwrap();
    assert_eq!(data["ruling"], "question");
}

/// What is printed, line by line, until it is dropped.
struct Following(Child, mpsc::Receiver<String>);

impl Following {
    fn start(bed: &Bed, args: &[&str]) -> Self {
        let mut pinfold = bed.command();
        let mut child = pinfold.arg("log").args(args).stdout(Stdio::piped()).spawn().unwrap();
        let (send, receive) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self(child, receive)
    }

    /// The next line, if one comes.
    fn next(&self, within: Duration) -> Option<String> {
        self.1.recv_timeout(within).ok()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_followed_begins_with_the_last_lines_and_goes_on() {
    const SOON: Duration = Duration::from_secs(20);
    let bed = Bed::new();
    bed.pinfold(&["call", "LS", "{}"]);
    let record = bed.record().join("record.jsonl");
    let append = |lines: &str| fs::write(&record, fs::read_to_string(&record).unwrap() + lines).unwrap();
    let line = |id: u32, at: &str| {
        format!(
            r#"{{"v":2,"at":"{at}","session":"s","id":{id},"principal":"main","tool":"T{id}","kind":"decision","ruling":"permit"}}"#
        ) + "\n"
    };
    append(&(1..=40).map(|id| line(id, "2026-01-02T03:04:05Z")).collect::<String>());
    append(&(41..=60).map(|id| line(id, "2027-01-02T03:04:05Z")).collect::<String>());
    for (args, first, last) in [
        (&["-f"][..], 51, 60),
        (&["-f", "-n", "2"], 59, 60),
        (&["-f", "-n", "0"], 61, 60),
        (&["-f", "--tool", "T7"], 7, 7),
        (&["-f", "--since", "2027-01-01T00:00:00Z"], 41, 60),
        (&["-f", "--since", "2027-01-01T00:00:00Z", "-n", "3"], 58, 60),
        (&["-f", "--since", "2028-01-01T00:00:00Z"], 61, 60),
    ] {
        let following = Following::start(&bed, args);
        for id in first..=last {
            let told = following.next(SOON).unwrap_or_default();
            assert!(
                told.contains(&format!("T{id} ")) || told.ends_with(&format!("T{id}")),
                "{args:?} {id}: {told}"
            );
        }
        assert_eq!(following.next(Duration::from_millis(500)), None, "{args:?}");
    }
    let following = Following::start(&bed, &["-f", "-n", "1"]);
    assert!(following.next(SOON).unwrap().contains("T60"));
    append("{\"v\":2,\"at\":");
    append(
        "\"2027-02-02T03:04:05Z\",\"session\":\"s\",\"kind\":\"decision\",\"tool\":\"Whole\",\"ruling\":\"permit\"}\n",
    );
    assert!(following.next(SOON).unwrap().contains("Whole"), "half a line is waited for");
    bed.pinfold(&["call", "Write", r#"{"file_path":"/etc/motd","content":"hi"}"#]);
    assert!(following.next(SOON).unwrap().contains("/etc/motd"));
}

#[test]
fn what_a_call_said_cannot_draw() {
    let bed = Bed::new();
    bed.make_calls();
    let told = bed.log(&["-v", "--all"]);
    assert!(told.contains("rm -rf") && !told.contains('\u{1b}'), "{told}");
}

#[test]
fn lines_of_two_machines_are_told_and_are_no_break() {
    let bed = Bed::new();
    bed.make_calls();
    assert!(!bed.log(&["verify"]).contains("machines"), "control: one machine");
    fs::remove_file(bed.record().join("machine")).unwrap();
    bed.make_calls();
    let told = bed.log(&["verify"]);
    assert!(told.starts_with("the chain holds") && told.contains("the names of 2 machines"), "{told}");
    let json: Value = serde_json::from_str(&bed.log(&["verify", "--json"])).unwrap();
    assert_eq!(json["holds"], true);
    assert_eq!(json["found"]["machines"].as_array().map(Vec::len), Some(2), "{json}");
}

#[test]
fn a_line_that_was_changed_is_named() {
    let bed = Bed::new();
    bed.make_calls();
    let whole = bed.log(&["verify"]);
    assert!(whole.starts_with("the chain holds"), "{whole}");
    let head = whole.lines().find_map(|line| line.strip_prefix("head ")).unwrap().to_owned();
    assert!(bed.log(&["verify", "--head", &head]).contains("the head that you kept"));

    let record = bed.record().join("record.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    let cut: String =
        text.lines().take(text.lines().count() - 1).map(|line| line.to_owned() + "\n").collect();
    fs::write(&record, cut).unwrap();
    assert!(
        bed.log(&["verify"]).starts_with("the chain holds"),
        "an end that is missing needs a head to be seen"
    );
    assert_eq!(bed.pinfold(&["log", "verify", "--head", &head]).status.code(), Some(1));

    fs::write(&record, text.replacen("a.txt", "b.txt", 1)).unwrap();
    let broken = bed.pinfold(&["log", "verify"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&broken.stdout).contains("record.jsonl:2"), "{broken:?}");
}

#[test]
fn damage_that_the_journal_noted_is_told_from_later_damage() {
    let bed = Bed::new();
    bed.make_calls();
    let record = bed.record().join("record.jsonl");
    let spoil = |more: &[u8]| fs::write(&record, [&fs::read(&record).unwrap(), more].concat()).unwrap();
    let verify = |args: &[&str]| {
        let output = bed.pinfold(&[&["log", "verify"], args].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let line = fs::read_to_string(&record).unwrap().lines().count() + 1;
    spoil(&[vec![0; 4096], b"\n".to_vec()].concat());
    bed.make_calls();
    let (code, told) = verify(&[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains(&format!("record.jsonl:{line}: it has no seal")), "{told}");
    assert!(told.contains(&format!("noted in line {line}")) && told.contains("keep the head"), "{told}");
    let head = told.lines().find_map(|line| line.strip_prefix("head ")).unwrap().to_owned();
    let (code, told) = verify(&["--head", &head]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("holds but for damage") && told.contains(&format!("record.jsonl:{line}:")),
        "{told}"
    );
    bed.make_calls();
    assert_eq!(verify(&["--head", &head]).0, Some(0), "lines behind the head");
    spoil(b"later\n");
    bed.make_calls();
    let (code, told) = verify(&["--head", &head, "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, &told["holds"]), (Some(1), &false.into()), "{told}");
    assert_eq!(told["found"]["breaks"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["mismatch"], {
        let mut last = told["found"]["breaks"][1].clone();
        last.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "noted_by" | "resumes_at"));
        last
    });
}

#[test]
fn a_break_that_is_acknowledged_stays_listed_and_fails_no_more() {
    let bed = Bed::new();
    bed.make_calls();
    assert!(bed.log(&["acknowledge"]).contains("no break"), "nothing is written where nothing is broken");
    let record = bed.record().join("record.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replacen("a.txt", "b.txt", 1)).unwrap();
    let doctor = || String::from_utf8(bed.pinfold(&["doctor"]).stdout).unwrap();
    let broken = bed.pinfold(&["log", "verify"]);
    let told = String::from_utf8_lossy(&broken.stdout);
    assert_eq!(broken.status.code(), Some(1), "{told}");
    assert!(told.contains("record.jsonl:2") && told.contains("pinfold log acknowledge"), "{told}");
    assert!(doctor().contains("is broken"), "{}", doctor());
    // Appends go on, and say nothing of it.
    bed.make_calls();
    assert_eq!(bed.pinfold(&["log", "verify"]).status.code(), Some(1));

    let done = bed.log(&["acknowledge", "--reason", "a disk was replaced"]);
    assert!(done.contains("acknowledged: ") && done.contains("record.jsonl:2"), "{done}");
    let told = bed.log(&["verify"]);
    assert!(told.starts_with("the chain holds but for breaks that were acknowledged\n"), "{told}");
    assert!(told.contains("record.jsonl:2") && told.contains("acknowledged in line"), "{told}");
    assert!(bed.log(&["--all"]).contains("note     acknowledged: a disk was replaced"));
    assert!(doctor().contains("breaks that were acknowledged: 1"), "{}", doctor());
    let json: Value =
        serde_json::from_slice(&bed.pinfold(&["doctor", "--json"]).stdout).expect("the state of the log");
    assert_eq!((&json["audit_log"]["holds"], &json["audit_log"]["acknowledged"]), (&true.into(), &1.into()));
    // A later one is another.
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replacen("b.txt", "c.txt", 1)).unwrap();
    assert_eq!(bed.pinfold(&["log", "verify"]).status.code(), Some(1));
}

#[test]
fn counts_since_a_moment_leave_out_what_was_asked_before() {
    let bed = Bed::new();
    bed.pinfold(&["call", "LS", "{}"]);
    let record = bed.record().join("record.jsonl");
    let line = |at: &str, id: u64, ruling: &str, decision: &str| {
        format!(
            r#"{{"v":2,"at":"2026-01-02T0{at}:00:00Z","session":"s","id":{id},"principal":"main","tool":"Bash","kind":"decision","decision":"{decision}","step":"s","ruling":"{ruling}"}}"#
        ) + "\n"
    };
    let lines = [
        line("1", 1, "permit", "allow"),
        line("2", 2, "question", "ask"),
        line("4", 2, "permit", "ask"),
        line("5", 3, "question", "ask"),
        line("6", 3, "permit", "ask"),
        line("7", 4, "refusal", "deny"),
    ];
    fs::write(&record, lines.concat()).unwrap();
    let counted = |args: &[&str]| -> Value {
        serde_json::from_str(&bed.log(&[&["stats", "--json"], args].concat())).unwrap()
    };
    assert_eq!(counted(&[])["decisions"], 4);
    let since = counted(&["--since", "2026-01-02T03:00:00Z"]);
    assert_eq!((&since["decisions"], &since["asked"]), (&2.into(), &1.into()), "{since}");
}

#[test]
fn what_was_decided_is_counted() {
    let bed = Bed::new();
    bed.make_calls();
    let counts: Value = serde_json::from_str(&bed.log(&["stats", "--json"])).unwrap();
    assert_eq!(counts["decisions"], 3);
    assert_eq!(counts["rulings"]["question"], 2);
    assert_eq!(counts["tools"]["Write"], 2);
}

#[test]
fn a_call_that_is_asked_about_and_then_allowed_counts_once() {
    let bed = Bed::new();
    bed.pinfold(&["call", "LS", "{}"]);
    let record = bed.record().join("record.jsonl");
    let call =
        r#"{"v":2,"at":"2026-01-02T03:04:05Z","session":"s","id":1,"principal":"main","tool":"Bash","kind""#;
    let decided = r#""decision","decision":"ask","step":"ask-rule","rule":"Bash(make)","ruling""#;
    let lines = [
        format!(r#"{call}:{decided}:"question"}}"#),
        format!(r#"{call}:"answer","choice":"yes","by":{{"via":"terminal"}},"digest":"","waited_ms":40}}"#),
        format!(r#"{call}:{decided}:"permit"}}"#),
        "{\"v\":2,\"kind\":7}".to_owned(),
    ];
    fs::write(&record, fs::read_to_string(&record).unwrap() + &lines.join("\n") + "\n").unwrap();
    let counts: Value = serde_json::from_str(&bed.log(&["stats", "--json"])).unwrap();
    assert_eq!((&counts["decisions"], &counts["asked"]), (&2.into(), &1.into()), "{counts}");
    assert_eq!(counts["rulings"], serde_json::json!({"permit": 2}), "{counts}");
    assert_eq!(counts["rules"]["Bash(make)"], 1, "{counts}");
    assert_eq!((&counts["answers"]["yes"], &counts["waited_ms"]), (&1.into(), &40.into()), "{counts}");
    let asked: Value = serde_json::from_str(&bed.log(&["stats", "--json", "--asked"])).unwrap();
    assert_eq!(asked["decisions"], 1);
    // What no journal wrote is told, with its place.
    let output = bed.pinfold(&["log"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("record.jsonl:6: invalid type"), "{told}");
}

#[test]
fn what_is_no_record_is_named_and_never_waited_for() {
    let bed = Bed::new();
    bed.make_calls();
    let record = bed.record().join("record.jsonl");
    fs::remove_file(&record).unwrap();
    let missing = bed.pinfold(&["log", "verify"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stdout).contains("taken away"), "{missing:?}");
    assert!(std::process::Command::new("mkfifo").arg(&record).status().unwrap().success());
    let told = |args: &[&str]| {
        let output = bed.pinfold(args);
        assert_eq!(output.status.code(), Some(1), "{args:?} {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for args in [&["log", "verify"][..], &["log"], &["log", "-n", "1"], &["why", "last"]] {
        let told = told(args);
        assert!(told.contains("record.jsonl`: it is no file"), "{args:?}: {told}");
    }
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    assert!(told(&["log", "verify"]).contains("record.jsonl`: it is no file"));
}

#[test]
fn an_empty_record_is_no_error() {
    let bed = Bed::new();
    assert_eq!(bed.log(&[]), "");
    assert!(bed.log(&["verify"]).contains("nothing has been recorded"));
    assert_eq!(bed.pinfold(&["log", "--path", "[", "-n", "1"]).status.code(), Some(2));
    assert_eq!(bed.pinfold(&["log", "verify", "--head", "x"]).status.code(), Some(2));
}

#[test]
fn a_command_of_many_lines_is_one_line_of_the_log() {
    let bed = Bed::new();
    let forged = "true\n2026-01-01 00:00:00  run-x:1  permit  Bash rm -rf / (allow-rule)";
    let input = serde_json::json!({ "command": forged }).to_string();
    bed.pinfold(&["call", "--allow-bash", "Bash", &input]);
    let told = bed.log(&[]);
    assert!(told.contains("run-x:1") && told.lines().count() == 1, "{told}");
}
