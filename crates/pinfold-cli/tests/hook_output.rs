//! A hook whose answer nobody can read: it is a no by its exit code, for every agent that honours one.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::process::{Command, Output, Stdio};

use pinfold_dialects::DIALECTS;
use pinfold_testkit::output::both;

use crate::kit::Bed;

/// How standard output is closed or cannot be written, as a shell has it.
const UNREADABLE: [&str; 6] =
    [">&-", ">/dev/null", "1<>/dev/null", ">/dev/full", "1<../empty", "1</dev/zero"];

fn hook(bed: &Bed, agent: &str, event: &str, way: &str) -> Output {
    let pinfold = env!("CARGO_BIN_EXE_pinfold");
    fs::write(bed.at("event"), event).unwrap();
    fs::write(bed.at("empty"), "").unwrap();
    let line = format!("cat ../event | '{pinfold}' hook {agent} {way}");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(&bed.project).stdin(Stdio::null());
    command.env_clear().env("HOME", &bed.home).env("PATH", "/usr/bin:/bin");
    for agent in ["CLAUDE", "GEMINI", "QWEN", "COPILOT", "CURSOR"] {
        command.env(format!("{agent}_PROJECT_DIR"), &bed.project);
    }
    command.output().unwrap()
}

#[test]
fn an_answer_that_cannot_be_read_is_a_no() {
    let bed = Bed::new();
    let cwd = bed.project.to_str().unwrap();
    for dialect in DIALECTS {
        let agent = dialect.name();
        // One call that would be let through as well as one that would not.
        for path in [format!("{cwd}/here"), "/etc/x".to_owned()] {
            let event = dialect.probe(cwd, &path).to_string();
            let begins =
                format!(r#"{{"session_id":"setup","cwd":"{cwd}","hook_event_name":"SessionStart"}}"#);
            if agent == "codex" {
                hook(&bed, agent, &begins, "");
            }
            let heard = hook(&bed, agent, &event, "");
            assert!(!heard.stdout.is_empty(), "{agent} {path}: {}", both(&heard));
            for way in UNREADABLE {
                let output = hook(&bed, agent, &event, way);
                let told = both(&output);
                assert_eq!(output.status.code(), Some(2), "{agent} {path} {way}: {told}");
                assert!(told.contains("nothing is allowed"), "{agent} {path} {way}: {told}");
            }
        }
    }
}

#[test]
fn an_answer_to_a_reader_that_is_gone_is_a_no() {
    let bed = Bed::new();
    let cwd = bed.project.to_str().unwrap();
    for dialect in DIALECTS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        bed.put("event", &dialect.probe(cwd, "/etc/x").to_string());
        let event = fs::File::open(bed.at("event")).unwrap();
        let mut command = bed.command();
        command.args(["hook", dialect.name()]).stdin(event).stdout(writer);
        for agent in ["CLAUDE", "GEMINI", "QWEN", "COPILOT", "CURSOR"] {
            command.env(format!("{agent}_PROJECT_DIR"), &bed.project);
        }
        assert_eq!(command.status().unwrap().code(), Some(2), "{}", dialect.name());
    }
}

/// What has no session to be judged in, and what is no event at all.
#[test]
fn an_event_that_is_not_understood_and_cannot_be_answered_is_a_no() {
    let bed = Bed::new();
    for dialect in DIALECTS {
        for event in ["", "{}", "[", r#"{"hook_event_name":"PreToolUse"}"#] {
            for way in UNREADABLE {
                let output = hook(&bed, dialect.name(), event, way);
                assert_eq!(output.status.code(), Some(2), "{} {event} {way}", dialect.name());
            }
        }
    }
}
