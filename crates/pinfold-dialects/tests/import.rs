//! Files of other agents, in the forms that their manuals show, and what becomes of each line.
//!
//! `theirs/AGENT.LAYER.NAME` is a file, `….txt` beside it what is expected; `PINFOLD_BLESS=1` writes it anew.

#![allow(clippy::expect_used, clippy::panic, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold_dialects::import::{File, Finding, IMPORTED, Outcome, import};
use pinfold_policy::Layer;
use pinfold_policy::rule::Effect;
use pinfold_policy::settings::{SettingsChange, edited};
use proptest::prelude::*;

fn files() -> BTreeMap<PathBuf, (String, Layer)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/theirs");
    let entries = fs::read_dir(folder).expect("the files").map(|entry| entry.expect("an entry").path());
    let named = entries.filter(|path| path.extension().is_none_or(|extension| extension != "txt"));
    named
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let mut parts = name.split('.');
            let agent = parts.next().expect("an agent").to_owned();
            let layer = match parts.next() {
                Some("user") => Layer::User,
                Some("project") => Layer::Project,
                Some("local") => Layer::Local,
                other => panic!("{name}: {other:?} is no layer"),
            };
            (path, (agent, layer))
        })
        .collect()
}

fn told(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { at, said, outcome, why, changes } in findings {
        let _ = writeln!(text, "{:<9} {at}: {said}", outcome.as_str());
        if !why.is_empty() {
            let _ = writeln!(text, "          because {why}");
        }
        for change in changes {
            let _ = writeln!(text, "          => {change}");
        }
    }
    text
}

#[test]
fn each_line_becomes_what_is_written_beside_it() {
    let bless = std::env::var_os("PINFOLD_BLESS").is_some();
    let mut wrong = Vec::new();
    for (path, (agent, layer)) in files() {
        let text = fs::read_to_string(&path).expect("a file");
        let name = path.to_string_lossy().into_owned();
        let found = import(&agent, File { layer, name: &name, text: &text });
        let found = told(&found.unwrap_or_else(|why| panic!("{name}: {why}")));
        let expected = PathBuf::from(format!("{name}.txt"));
        if bless {
            fs::write(&expected, &found).expect("a place to write");
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whatever was found is something that our settings can say, and a line that was left out changes nothing.
#[test]
fn what_is_taken_can_be_written() {
    for (path, (agent, layer)) in files() {
        let text = fs::read_to_string(&path).expect("a file");
        let name = path.to_string_lossy().into_owned();
        let findings = import(&agent, File { layer, name: &name, text: &text }).expect("it is understood");
        assert!(findings.len() > 3, "{name}");
        for finding in findings {
            if finding.outcome == Outcome::LeftOut {
                assert!(finding.changes.is_empty() && !finding.why.is_empty(), "{finding:?}");
            }
            let written = edited(None, layer, &"f".into(), &finding.changes);
            assert!(written.is_ok(), "{finding:?}: {written:?}");
        }
    }
}

/// What switches a line off, in every way in which it can be said.
#[test]
fn a_line_that_is_switched_off_is_never_taken() {
    for (agent, name, text) in [
        ("claude", "settings.json", r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#),
        ("claude", "settings.json", r#"{"sandbox": {"enabled": false}}"#),
        ("claude", "settings.json", r#"{"sandbox": {"enabled": true, "excludedCommands": ["docker"]}}"#),
        ("claude", "settings.json", r#"{"sandbox": {"network": {"allowedDomains": ["*"]}}}"#),
        ("codex", "config.toml", "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n"),
        ("codex", "config.toml", "approval_policy = \"on-request\"\n"),
        (
            "codex",
            "config.toml",
            "sandbox_mode = \"danger-full-access\"\n[sandbox_workspace_write]\nwritable_roots = [\"/home/u\"]\nnetwork_access = true\n",
        ),
        ("gemini", "settings.json", r#"{"general": {"defaultApprovalMode": "yolo"}, "sandbox": false}"#),
        ("gemini", "settings.json", r#"{"mcpServers": {"x": {"trust": true}}}"#),
        ("opencode", "opencode.json", r#"{"permission": "allow"}"#),
        ("opencode", "opencode.json", r#"{"permission": {"*": "allow", "external_directory": "allow"}}"#),
    ] {
        let findings = import(agent, File { layer: Layer::User, name, text }).expect("it is understood");
        let changes: Vec<&SettingsChange> = findings.iter().flat_map(|finding| &finding.changes).collect();
        let widens = |change: &&&SettingsChange| !matches!(change, SettingsChange::Say(_, said) if said == "workspace-write");
        assert!(!findings.is_empty() && changes.iter().find(widens).is_none(), "{text}: {changes:?}");
    }
}

/// An allow that stands before a question about everything is not an allow there.
#[test]
fn the_last_entry_that_fits_decides_and_nothing_gets_wider_by_that() {
    let allowed = |text: &str| {
        let file = File { layer: Layer::User, name: "opencode.json", text };
        let findings = import("opencode", file).expect("it is understood");
        let changes: Vec<SettingsChange> = findings.into_iter().flat_map(|finding| finding.changes).collect();
        let allows = changes.iter().any(|change| matches!(change, SettingsChange::Add(Effect::Allow, _)));
        let stands_over = |change: &SettingsChange| match change {
            SettingsChange::Add(Effect::Ask | Effect::Deny, rule) => rule.text() == "Bash",
            _ => false,
        };
        allows && !changes.iter().any(stands_over)
    };
    for (text, expected) in [
        (r#"{"permission": {"bash": {"*": "ask", "git status *": "allow"}}}"#, true),
        (r#"{"permission": {"bash": {"git status *": "allow", "*": "ask"}}}"#, false),
        (r#"{"permission": {"bash": {"*": "deny", "git status *": "allow"}}}"#, false),
        (r#"{"permission": {"bash": {"git *": "allow", "git (x)": "deny"}}}"#, false),
        (r#"{"permission": {"bash": {"git *": "allow", "git push": "never"}}}"#, false),
        (r#"{"permission": {"bash": {"git *": "allow", "git push *": "deny"}}}"#, true),
        (r#"{"permission": {"bash": {"git *": "allow"}, "*": "ask"}}"#, false),
        (r#"{"permission": {"*": "ask", "bash": {"git *": "allow"}}}"#, true),
    ] {
        assert_eq!(allowed(text), expected, "{text}");
    }
}

#[test]
fn a_name_for_all_servers_allows_nothing() {
    let text = r#"{"permissions": {"allow": ["mcp__*", "mcp__docs__*"], "deny": ["mcp__*"]}}"#;
    let findings = import("claude", File { layer: Layer::User, name: "settings.json", text });
    let findings = findings.expect("it is understood");
    let outcomes: Vec<Outcome> = findings.iter().map(|finding| finding.outcome).collect();
    assert_eq!(outcomes, [Outcome::LeftOut, Outcome::Taken, Outcome::Taken]);
}

#[test]
fn what_no_settings_file_takes_is_left_out() {
    let text = r#"{"permissions": {"additionalDirectories": ["~/a\u0000b", "~/c"]}}"#;
    let findings = import("claude", File { layer: Layer::User, name: "settings.json", text });
    let findings = findings.expect("it is understood");
    let told: Vec<_> = findings.iter().map(|finding| (finding.outcome, finding.changes.len())).collect();
    assert_eq!(told, [(Outcome::LeftOut, 0), (Outcome::Taken, 1)], "{findings:?}");
    assert!(!findings.iter().any(|finding| finding.outcome == Outcome::LeftOut && finding.why.is_empty()));
}

#[test]
fn what_cannot_be_read_is_an_error() {
    for (agent, name, text) in [
        ("claude", "settings.json", "{"),
        ("claude", "settings.json", "[]"),
        ("codex", "config.toml", "a = "),
        ("gemini", "settings.json", "null"),
        ("opencode", "opencode.jsonc", "'a'"),
        ("nobody", "x", "{}"),
    ] {
        assert!(import(agent, File { layer: Layer::User, name, text }).is_err(), "{agent} {text}");
    }
}

proptest! {
    /// Whatever stands in a file: no panic, and what is taken can be written.
    #[test]
    fn any_file_is_told_or_refused(
        which in 0..IMPORTED.len(),
        key in "(permission|permissions|sandbox|tools|mcp)",
        inner in "(allow|deny|bash|edit|exclude|allowed|excluded|filesystem|read)",
        text in "\\PC{0,24}",
        word in "(allow|ask|deny|x)",
    ) {
        let agent = IMPORTED[which];
        let list = serde_json::json!({&key: {&inner: [&text], "denyWrite": [&text]}});
        let object = serde_json::json!({&key: {&inner: {&text: word, "*": "ask"}}});
        for value in [list, object] {
            let text = if agent == "codex" { format!("{key} = {text:?}\n") } else { value.to_string() };
            for name in ["config.json", "default.rules"] {
                let file = File { layer: Layer::Project, name, text: &text };
                if let Ok(findings) = import(agent, file) {
                    for finding in findings {
                        prop_assert!(edited(None, Layer::Project, &"f".into(), &finding.changes).is_ok(), "{finding:?}");
                    }
                }
            }
        }
    }
}
