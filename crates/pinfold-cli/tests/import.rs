//! `pinfold import`: looked at, written, and not written; what is allowed afterwards.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use pinfold_testkit::output::both;
use serde_json::Value;

use crate::kit::Bed;

const CLAUDE: &str = r#"{
  "permissions": {
    "allow": ["Bash(make:*)"],
    "deny": ["Bash(make deploy)", "Read(./secrets/*)"],
    "defaultMode": "bypassPermissions"
  }
}"#;

impl Bed {
    fn decided(&self, command: &str) -> String {
        let input = format!("{{\"command\":\"{command}\"}}");
        let output = self.pinfold(&["check", "--json", "Bash", &input]);
        let answer: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", both(&output)));
        answer["decision"].as_str().unwrap().to_owned()
    }
}

const OURS: &str = ".config/pinfold/settings.json";

#[test]
fn it_is_shown_first_and_written_on_a_yes() {
    let bed = Bed::new();
    bed.put(".claude/settings.json", CLAUDE);
    let before = "{\n  // mine\n  \"permissions\": {\"ask\": [\"Bash(make install)\"]}\n}\n";
    bed.put(OURS, before);
    let shown = bed.pinfold(&["import", "claude"]);
    assert_eq!(shown.status.code(), Some(2), "nobody can be asked: {}", both(&shown));
    for word in ["taken", "narrowed", "left out", "bypassPermissions", "+++", "say --yes"] {
        assert!(both(&shown).contains(word), "{word}: {}", both(&shown));
    }
    assert_eq!(bed.read(OURS).as_deref(), Some(before));
    let written = bed.pinfold(&["import", "claude", "--yes"]);
    assert_eq!(written.status.code(), Some(0), "{}", both(&written));
    let after = bed.read(OURS).unwrap();
    assert!(after.contains("// mine") && !after.contains("bypassPermissions"), "{after}");
    for (command, decision) in
        [("make", "allow"), ("make test", "allow"), ("make deploy", "deny"), ("make install", "ask")]
    {
        assert_eq!(bed.decided(command), decision, "{command}: {after}");
    }
    let again = bed.pinfold(&["import", "claude"]);
    assert!(again.status.success() && both(&again).contains("nothing is to be written"), "{}", both(&again));
    assert_eq!(bed.read(OURS).unwrap(), after);
    assert_eq!(bed.read(".claude/settings.json").as_deref(), Some(CLAUDE), "theirs stays");
}

#[test]
fn what_a_project_brings_along_allows_nothing_until_it_is_trusted() {
    let bed = Bed::new();
    bed.put("proj/.claude/settings.json", CLAUDE);
    let written = bed.pinfold(&["import", "claude", "--yes"]);
    assert!(written.status.success() && both(&written).contains("pinfold trust"), "{}", both(&written));
    assert!(bed.read("proj/.pinfold/settings.json").is_some() && bed.read(OURS).is_none());
    assert_eq!((bed.decided("make").as_str(), bed.decided("make deploy").as_str()), ("ask", "deny"));
    assert!(bed.pinfold(&["trust", "--yes"]).status.success());
    assert_eq!(bed.decided("make"), "allow");
    // Trust for what stood there is none for what comes in.
    bed.put("proj/.claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(npm:*)\"]}}");
    assert!(bed.pinfold(&["import", "claude", "--yes"]).status.success());
    assert_eq!((bed.decided("make").as_str(), bed.decided("npm").as_str()), ("ask", "ask"));
}

impl Bed {
    fn git(&self, args: &[&str]) {
        let git = Command::new("git").args(args).current_dir(&self.project).output().unwrap();
        assert!(git.status.success(), "{}", both(&git));
    }
}

/// However a file of theirs came into the project: it is taken into ours for the person alone where it is plainly theirs.
#[test]
fn what_may_have_come_with_the_project_is_the_project_s_whatever_its_name() {
    const LOCAL: &str = "proj/.claude/settings.local.json";
    type Comes = fn(&Bed);
    let ways: [(&str, bool, Comes); 7] = [
        ("untracked: the control", true, |bed| bed.git(&["init", "-q"])),
        ("tracked", false, |bed| {
            bed.git(&["init", "-q"]);
            bed.git(&["add", "-f", ".claude"]);
        }),
        ("in another kind of repository", false, |bed| fs::create_dir(bed.project.join(".hg")).unwrap()),
        ("a link to a file of the project", false, |bed| {
            bed.put("proj/theirs.json", CLAUDE);
            fs::remove_file(bed.at(LOCAL)).unwrap();
            symlink("../theirs.json", bed.at(LOCAL)).unwrap();
        }),
        ("a second name", false, |bed| fs::hard_link(bed.at(LOCAL), bed.at("proj/theirs.json")).unwrap()),
        ("in a folder that is a link", false, |bed| {
            fs::rename(bed.at("proj/.claude"), bed.at("proj/theirs")).unwrap();
            symlink("theirs", bed.at("proj/.claude")).unwrap();
        }),
        ("open to others", false, |bed| {
            fs::set_permissions(bed.at(LOCAL), fs::Permissions::from_mode(0o666)).unwrap();
        }),
    ];
    for (way, is_own, comes) in ways {
        let bed = Bed::new();
        bed.put(LOCAL, CLAUDE);
        comes(&bed);
        let written = bed.pinfold(&["import", "claude", "--yes"]);
        assert!(written.status.success(), "{way}: {}", both(&written));
        assert_eq!(both(&written).contains("counts at once"), is_own, "{way}: {}", both(&written));
        assert_eq!(bed.decided("make"), if is_own { "allow" } else { "ask" }, "{way}");
        assert_eq!(bed.decided("make deploy"), "deny", "{way}");
    }
}

#[test]
fn a_variable_that_leads_into_the_project_makes_nothing_the_person_s() {
    let bed = Bed::new();
    bed.put("proj/theirs/settings.json", CLAUDE);
    let import = |folder: &str| {
        let output =
            bed.command().env("CLAUDE_CONFIG_DIR", folder).args(["import", "claude", "--yes"]).output();
        both(&output.unwrap())
    };
    assert!(import("/proc/self/cwd/theirs").contains("once you said `pinfold trust`"));
    assert_eq!((bed.decided("make").as_str(), bed.read(OURS)), ("ask", None));
    bed.put("mine/settings.json", CLAUDE);
    assert!(import(bed.at("mine").to_str().unwrap()).contains("counts at once"), "the control");
    assert_eq!(bed.decided("make"), "allow");
    // Neither does one that leads to settings of ours.
    bed.put("proj/evil/pinfold/settings.json", "{\"permissions\": {\"allow\": [\"Bash\"]}}");
    let mut command = bed.command();
    command.env("XDG_CONFIG_HOME", "/proc/self/cwd/evil").args([
        "check",
        "--json",
        "Bash",
        "{\"command\":\"npm x\"}",
    ]);
    let output = command.output().unwrap();
    assert!(!output.status.success() && both(&output).contains("in the project"), "{}", both(&output));
}

#[test]
fn a_word_that_somebody_said_stays() {
    let bed = Bed::new();
    bed.put(".codex/config.toml", "sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\n");
    bed.put(OURS, "{\"sandbox\": {\"mode\": \"read-only\"}, \"bash\": \"ask\"}");
    let done = bed.pinfold(&["import", "codex", "--yes"]);
    assert!(done.status.success(), "{}", both(&done));
    assert_eq!(bed.read(OURS).unwrap(), "{\"sandbox\": {\"mode\": \"read-only\"}, \"bash\": \"ask\"}");
}

#[test]
fn one_layer_alone_and_data_for_programs() {
    let bed = Bed::new();
    bed.put(".claude/settings.json", CLAUDE);
    bed.put("proj/.claude/settings.local.json", "{\"permissions\": {\"deny\": [\"WebFetch\"]}}");
    let output = bed.pinfold(&["import", "claude", "--local", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["files"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["files"][0]["findings"][0]["becomes"][0], "deny WebFetch");
    assert!(bed.read("proj/.pinfold/settings.local.json").is_none(), "only looked at");
    assert!(bed.pinfold(&["import", "claude", "--local", "--json", "--yes"]).status.success());
    assert!(bed.read("proj/.pinfold/settings.local.json").unwrap().contains("WebFetch"));
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let bed = Bed::new();
    let none = bed.pinfold(&["import", "gemini"]);
    assert!(none.status.success() && both(&none).contains("no settings of gemini"), "{}", both(&none));
    bed.put(".gemini/settings.json", "{");
    assert_eq!(bed.pinfold(&["import", "gemini", "--yes"]).status.code(), Some(2));
    bed.put(".gemini/settings.json", "{\"tools\": {\"exclude\": [\"replace\"]}}");
    bed.put(OURS, "{\"permissions\": []}");
    assert_eq!(bed.pinfold(&["import", "gemini", "--yes"]).status.code(), Some(2));
    assert_eq!(bed.read(OURS).as_deref(), Some("{\"permissions\": []}"));
    assert_eq!(bed.pinfold(&["import", "nobody"]).status.code(), Some(2));
}
