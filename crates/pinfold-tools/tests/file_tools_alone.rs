//! An embedder that takes the file tools alone (`default-features = false`): they work, and a call that needs more is refused.
//! With all features the same program tries that the other tools are there.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;

use pinfold::audit::Memory;
use pinfold::{Ambient, AssumedShells, Plan, RawCall, Session};
use pinfold_tools::{CallEnding, Reply, call, tools};
use serde_json::{Value, json};

/// Shells that the gate takes for held: what is refused behind it is refused by the build.
fn session(folder: &Path) -> Session {
    let folder = folder.canonicalize().unwrap();
    let mut plan = Plan::for_folder(&folder);
    plan.shells = Some(Arc::new(AssumedShells::in_folder(folder)));
    Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap()
}

fn reply(session: &Session, tool: &str, input: Value) -> Reply {
    call(session, &RawCall::new(tool, input))
}

#[test]
fn files_are_written_found_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    for (tool, input) in [
        ("Write", json!({"file_path": "a.txt", "content": "one\ntwo\n"})),
        ("Read", json!({"file_path": "a.txt"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "two", "new_string": "three"})),
        ("Grep", json!({"pattern": "thre+", "output_mode": "content"})),
        ("Glob", json!({"pattern": "*.txt"})),
    ] {
        let reply = reply(&session, tool, input);
        assert_eq!(reply.ended, CallEnding::Done, "{tool}: {}", reply.text());
    }
    let beyond = reply(&session, "Write", json!({"file_path": "/etc/motd", "content": ""}));
    assert_eq!(beyond.structured["error"], "RequiresApproval");
}

#[test]
fn a_tool_is_listed_where_it_is_compiled_in() {
    let listed = |name: &str| tools().iter().any(|tool| tool.name == name);
    for (name, is_built) in [
        ("Read", true),
        ("Grep", true),
        ("Bash", cfg!(feature = "shell")),
        ("BashOutput", cfg!(feature = "shell")),
        ("KillBash", cfg!(feature = "shell")),
        ("BashInput", cfg!(feature = "shell")),
        ("WebFetch", cfg!(feature = "web")),
    ] {
        assert_eq!(listed(name), is_built, "{name}");
    }
}

#[test]
fn a_command_that_the_gate_permits_is_not_run_without_a_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let reply = reply(&session(folder.path()), "Bash", json!({"command": "touch made"}));
    assert_eq!(reply.ended, CallEnding::Failed, "{}", reply.text());
    assert_eq!(reply.text().contains("its feature `shell`"), !cfg!(feature = "shell"), "{}", reply.text());
    assert!(!folder.path().join("made").exists());
}

#[test]
fn a_rule_about_an_international_name_is_understood_or_refused() {
    let rule = pinfold::policy::rule::Rule::parse("WebFetch(domain:bücher.example)");
    assert_eq!(rule.is_ok(), cfg!(feature = "idna"));
    assert!(pinfold::policy::rule::Rule::parse("WebFetch(domain:xn--bcher-kva.example)").is_ok());
}

#[test]
fn a_profile_is_read_or_refused() {
    let config = tempfile::tempdir().unwrap();
    std::fs::create_dir(config.path().join("profiles")).unwrap();
    std::fs::write(config.path().join("profiles/narrow.yaml"), "tools: {}\n").unwrap();
    let profile = pinfold::Profile::load(&Ambient::claim(), config.path(), "narrow");
    match profile {
        Ok(profile) => assert!(cfg!(feature = "yaml") && profile.name == "narrow"),
        Err(error) => {
            assert!(!cfg!(feature = "yaml") && error.mend.contains("its feature `yaml`"), "{error}");
        }
    }
}
