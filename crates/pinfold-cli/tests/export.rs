//! `pinfold export`: shown first, written on a yes, and read by the agent's own file alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use pinfold_testkit::output::both;
use serde_json::Value;

use crate::kit::Bed;

const OURS: &str = ".config/pinfold/settings.json";

#[test]
fn it_is_shown_and_written_only_when_that_is_said() {
    let bed = Bed::new();
    bed.put(OURS, r#"{"permissions": {"allow": ["Bash(make)"], "deny": ["Bash(rm:*)"]}}"#);
    let before = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    bed.put(".claude/settings.json", before);
    let shown = bed.pinfold(&["export", "claude"]);
    assert!(shown.status.success(), "{}", both(&shown));
    for word in ["gate          deny Bash(rm:*)", "kernel", "not there", "+++", "--write does it"] {
        assert!(both(&shown).contains(word), "{word}: {}", both(&shown));
    }
    assert_eq!(bed.read(".claude/settings.json").as_deref(), Some(before));
    assert_eq!(bed.pinfold(&["export", "claude", "--write"]).status.code(), Some(2), "nobody can be asked");
    assert_eq!(bed.read(".claude/settings.json").as_deref(), Some(before));
    assert_eq!(bed.pinfold(&["export", "claude", "--yes"]).status.code(), Some(2), "nothing to say yes to");
    let written = bed.pinfold(&["export", "claude", "--write", "--yes"]);
    assert!(written.status.success(), "{}", both(&written));
    let after = bed.read(".claude/settings.json").unwrap();
    assert!(after.contains("// mine") && after.contains("Bash(rm *)"), "{after}");
    let again = bed.pinfold(&["export", "claude"]);
    assert!(both(&again).contains("nothing is to be written"), "{}", both(&again));
}

/// What a project says does not reach the person's own file, and what nobody trusted allows nothing.
#[test]
fn whose_rules_go_where() {
    let bed = Bed::new();
    bed.put(OURS, r#"{"permissions": {"allow": ["Bash(mine)"]}}"#);
    bed.put(
        "proj/.pinfold/settings.json",
        r#"{"permissions": {"allow": ["Bash(theirs)"], "deny": ["Bash(never)"]}}"#,
    );
    assert!(bed.pinfold(&["export", "claude", "--write", "--yes"]).status.success());
    let own = bed.read(".claude/settings.json").unwrap();
    assert!(own.contains("Bash(mine)") && !own.contains("theirs") && !own.contains("never"), "{own}");
    assert!(bed.pinfold(&["export", "claude", "--local", "--write", "--yes"]).status.success());
    let local = bed.read("proj/.claude/settings.local.json").unwrap();
    assert!(
        local.contains("Bash(mine)") && local.contains("Bash(never)") && !local.contains("theirs"),
        "{local}"
    );
    assert!(bed.pinfold(&["trust", "--yes"]).status.success());
    assert!(bed.pinfold(&["export", "claude", "--local", "--write", "--yes"]).status.success());
    assert!(bed.read("proj/.claude/settings.local.json").unwrap().contains("Bash(theirs)"));
    for agent in ["codex", "gemini", "opencode"] {
        assert_eq!(bed.pinfold(&["export", agent, "--local"]).status.code(), Some(2), "{agent}");
    }
}

#[test]
fn each_agent_has_its_files() {
    let bed = Bed::new();
    bed.put(OURS, r#"{"permissions": {"allow": ["Bash(make)"], "deny": ["Bash(rm:*)"]}}"#);
    for (agent, files) in [
        ("codex", &[".codex/config.toml", ".codex/rules/pinfold.rules"][..]),
        ("gemini", &[".gemini/policies/pinfold.toml"]),
        ("opencode", &[".config/opencode/opencode.json"]),
    ] {
        let shown = bed.pinfold(&["export", agent, "--json"]);
        let told: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert!(
            told["rows"].as_array().unwrap().iter().any(|row| row["ours"] == "deny Bash(rm:*)"),
            "{told}"
        );
        assert!(files.iter().all(|file| bed.read(file).is_none()), "only looked at");
        assert!(bed.pinfold(&["export", agent, "--write", "--yes"]).status.success(), "{agent}");
        assert!(files.iter().all(|file| bed.read(file).is_some()), "{agent}");
        // What we wrote is not taken over again.
        let back = bed.pinfold(&["import", agent, "--user", "--json"]);
        assert!(
            !both(&back).contains("pinfold.rules") && !both(&back).contains("pinfold.toml"),
            "{}",
            both(&back)
        );
    }
}

#[test]
fn what_switches_the_line_off_there_is_told() {
    let bed = Bed::new();
    bed.put(".claude/settings.json", r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
    let shown = bed.pinfold(&["export", "claude"]);
    assert!(both(&shown).contains("NOTHING HOLDS there"), "{}", both(&shown));
    assert!(both(&shown).contains("bypassPermissions"));
}

#[test]
fn what_cannot_be_read_or_is_somebody_elses_stays() {
    let bed = Bed::new();
    bed.put(OURS, r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#);
    for (agent, file, before) in [
        ("claude", ".claude/settings.json", "{"),
        ("codex", ".codex/config.toml", "a = "),
        ("gemini", ".gemini/policies/pinfold.toml", "# mine\n"),
        ("opencode", ".config/opencode/opencode.json", r#"{"permission": "allow"}"#),
    ] {
        bed.put(file, before);
        assert_eq!(bed.pinfold(&["export", agent, "--write", "--yes"]).status.code(), Some(2), "{agent}");
        assert_eq!(bed.read(file).as_deref(), Some(before), "{agent}");
    }
    bed.put(OURS, "{\"permissions\": []}");
    assert_eq!(bed.pinfold(&["export", "claude"]).status.code(), Some(2), "settings that cannot be used");
    // A link leads to the file that is meant; a device is none.
    bed.put(OURS, "{}");
    fs::remove_file(bed.at(".claude/settings.json")).unwrap();
    bed.put("dotfiles/claude.json", "{}\n");
    symlink(bed.at("dotfiles/claude.json"), bed.at(".claude/settings.json")).unwrap();
    fs::set_permissions(bed.at("dotfiles/claude.json"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(bed.pinfold(&["export", "claude", "--write", "--yes"]).status.success());
    assert!(bed.at(".claude/settings.json").is_symlink(), "the link stays");
    let mode = fs::metadata(bed.at("dotfiles/claude.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::remove_file(bed.at(".claude/settings.json")).unwrap();
    symlink("/dev/zero", bed.at(".claude/settings.json")).unwrap();
    assert_eq!(bed.pinfold(&["export", "claude"]).status.code(), Some(1));
}
