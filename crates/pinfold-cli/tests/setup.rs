//! `pinfold setup`: put in, tried, taken out, for each agent, and that nothing else of a file changes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pinfold_testkit::TempTree;
use pinfold_testkit::output::both;
use serde_json::{Value, json};

use crate::kit::Bed;

/// Each agent, the file that its hooks stand in, and what stands there before; none where it is a file of ours.
const AGENTS: &[(&str, &str, Option<&str>)] = &[
    ("claude", ".claude/settings.json", Some("{\n  \"model\": \"opus\"\n}\n")),
    ("codex", ".codex/hooks.json", Some("{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n")),
    ("gemini", ".gemini/settings.json", Some("{\n  // mine\n  \"theme\": \"dark\"\n}\n")),
    ("qwen", ".qwen/settings.json", Some("{\n  \"theme\": \"dark\"\n}\n")),
    ("copilot", ".copilot/hooks/pinfold.json", None),
    (
        "cursor",
        ".cursor/hooks.json",
        Some(
            "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [\n      {\"command\": \"mine\"}\n    ]\n  }\n}\n",
        ),
    ),
    ("hermes", ".hermes/config.yaml", Some("model:\n  default: x  # mine\n")),
    ("opencode", ".config/opencode/plugin/pinfold.js", None),
    ("pi", ".pi/agent/extensions/pinfold.ts", None),
];

/// A home with a project.
fn bed() -> Bed {
    Bed::in_tree(TempTree::visible_inside(), "", "ws")
}

impl Bed {
    fn setup(&self, args: &[&str]) -> Output {
        self.command().arg("setup").args(args).output().unwrap()
    }
}

#[test]
fn what_is_set_up_holds_and_goes_without_a_trace() {
    for (agent, file, before) in AGENTS {
        let bed = bed();
        if let Some(text) = before {
            bed.put(file, text);
        }
        let missing = bed.setup(&[agent, "--check"]);
        assert_eq!(missing.status.code(), Some(1), "{agent}: {}", both(&missing));

        let done = bed.setup(&[agent, "--yes"]);
        assert_eq!(done.status.code(), Some(0), "{agent}: {}", both(&done));
        if *agent == "codex" {
            let untrusted = bed.setup(&[agent, "--check"]);
            assert!(both(&untrusted).contains("NO   switched on"), "{}", both(&untrusted));
            let hooks = bed.at(file);
            bed.put(
                ".codex/config.toml",
                &format!("[hooks.state.\"{}:pre_tool_use:0:0\"]\n", hooks.display()),
            );
        }
        let check = bed.setup(&[agent, "--check"]);
        assert_eq!(check.status.code(), Some(0), "{agent}: {}", both(&check));
        assert_eq!(both(&bed.setup(&[agent, "--yes"])), "it is set up already\n");

        let undone = bed.setup(&[agent, "--undo", "--yes"]);
        assert_eq!(undone.status.code(), Some(0), "{agent}: {}", both(&undone));
        let after = fs::read_to_string(bed.at(file)).ok();
        assert_eq!(after.as_deref(), *before, "{agent}");
        assert_eq!(both(&bed.setup(&[agent, "--undo", "--yes"])), "nothing of pinfold is there\n");
    }
}

/// Nothing is written that nobody said yes to, and the change is shown.
#[test]
fn without_a_yes_nothing_is_written() {
    let bed = bed();
    let file = bed.put(".claude/settings.json", "{}\n");
    let output = bed.setup(&["claude"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        both(&output).contains("+    \"PreToolUse\": [") && both(&output).contains("say --yes"),
        "{}",
        both(&output)
    );
    assert_eq!(fs::read_to_string(file).unwrap(), "{}\n");
}

#[test]
fn a_file_that_is_not_understood_stays_as_it_is() {
    for (agent, file, before) in [
        ("claude", ".claude/settings.json", "{ nonsense"),
        ("codex", ".codex/hooks.json", "[]"),
        ("gemini", ".gemini/settings.json", "{\"hooks\": 1}"),
        ("hermes", ".hermes/config.yaml", "hooks:\n  pre_tool_call: []\n"),
        ("pi", ".pi/agent/extensions/pinfold.ts", "// somebody else's\n"),
    ] {
        let bed = bed();
        let path = bed.put(file, before);
        let output = bed.setup(&[agent, "--yes"]);
        assert_eq!(output.status.code(), Some(2), "{agent}: {}", both(&output));
        assert!(both(&output).contains("was not changed"), "{agent}: {}", both(&output));
        assert_eq!(fs::read_to_string(path).unwrap(), before);
    }
}

/// A link to a file elsewhere stays a link, and who may read the file stays as it is.
#[test]
fn a_link_is_followed_and_modes_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = bed();
    let real = bed.put("dotfiles/claude.json", "{\n  \"a\": 1\n}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(bed.at(".claude")).unwrap();
    std::os::unix::fs::symlink(&real, bed.at(".claude/settings.json")).unwrap();
    assert_eq!(bed.setup(&["claude", "--yes"]).status.code(), Some(0));
    assert!(bed.at(".claude/settings.json").is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("PreToolUse"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

/// Where pinfold is gone, or dies, the command line that stands there says no by itself.
#[test]
fn without_pinfold_the_installed_command_is_a_no() {
    for (agent, file) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json"),
        ("copilot", ".copilot/hooks/pinfold.json"),
    ] {
        let bed = bed();
        let own = bed.at("it's a bin/pinfold");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        // Copied by another program: what this process writes may be held open for writing by a child of another test.
        let copied =
            Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_pinfold")), &own]).status().unwrap();
        assert!(copied.success());
        let done = bed.command_of(&own).args(["setup", agent, "--yes"]).status().unwrap();
        assert!(done.success(), "{agent}");
        let settings: Value = serde_json::from_str(&fs::read_to_string(bed.at(file)).unwrap()).unwrap();
        let line = gate(&settings);
        for crash in [None, Some("#!/bin/sh\nkill -ABRT $$\n"), Some("#!/bin/sh\nexit 1\n")] {
            fs::remove_file(&own).unwrap();
            if let Some(script) = crash {
                fs::write(&own, script).unwrap();
                fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            }
            let output = Command::new("/bin/sh").args(["-c", &line]).stdin(Stdio::null()).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{agent}: {}", both(&output));
            assert!(
                output.stdout.is_empty() && both(&output).contains("nothing is allowed"),
                "{}",
                both(&output)
            );
            fs::write(&own, "").unwrap();
        }
    }
}

/// The command that is run before a call.
fn gate(settings: &Value) -> String {
    let hooks = &settings["hooks"];
    let events = ["PreToolUse", "BeforeTool", "preToolUse"];
    let entry = events.iter().map(|event| &hooks[event][0]).find(|entry| !entry.is_null()).unwrap();
    let hook = if entry["hooks"].is_array() { &entry["hooks"][0] } else { entry };
    let command = if hook["command"].is_string() { &hook["command"] } else { &hook["bash"] };
    command.as_str().unwrap().to_owned()
}

/// Where the agent knows a setting that makes a failing hook a no, it stands there.
#[test]
fn claude_is_told_to_block_when_the_hook_fails() {
    let bed = bed();
    assert_eq!(bed.setup(&["claude", "--yes", "--timeout", "30s"]).status.code(), Some(0));
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(bed.at(".claude/settings.json")).unwrap()).unwrap();
    for event in ["PreToolUse", "PermissionRequest"] {
        let hook = &settings["hooks"][event][0]["hooks"][0];
        assert_eq!((&hook["onFailure"], &hook["timeout"]), (&json!("block"), &json!(50)), "{event}");
    }
    let off = bed.put(".claude/settings.json", &{
        let mut off = settings.clone();
        off["disableAllHooks"] = json!(true);
        off.to_string()
    });
    let check = bed.setup(&["claude", "--check"]);
    assert!(off.exists() && check.status.code() == Some(1), "{}", both(&check));
    assert!(both(&check).contains("`disableAllHooks` is set"));
}
