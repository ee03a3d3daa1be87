//! `pinfold import`: looked at, written, and not written; what is allowed afterwards.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use serde_json::Value;

mod kit;

use kit::{Bed, text};

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
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
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
    assert_eq!(shown.status.code(), Some(2), "nobody can be asked: {}", text(&shown));
    for word in ["taken", "narrowed", "left out", "bypassPermissions", "+++", "say --yes"] {
        assert!(text(&shown).contains(word), "{word}: {}", text(&shown));
    }
    assert_eq!(bed.read(OURS).as_deref(), Some(before));
    let written = bed.pinfold(&["import", "claude", "--yes"]);
    assert_eq!(written.status.code(), Some(0), "{}", text(&written));
    let after = bed.read(OURS).unwrap();
    assert!(after.contains("// mine") && !after.contains("bypassPermissions"), "{after}");
    for (command, decision) in
        [("make", "allow"), ("make test", "allow"), ("make deploy", "deny"), ("make install", "ask")]
    {
        assert_eq!(bed.decided(command), decision, "{command}: {after}");
    }
    let again = bed.pinfold(&["import", "claude"]);
    assert!(again.status.success() && text(&again).contains("nothing is to be written"), "{}", text(&again));
    assert_eq!(bed.read(OURS).unwrap(), after);
    assert_eq!(bed.read(".claude/settings.json").as_deref(), Some(CLAUDE), "theirs stays");
}

#[test]
fn what_a_project_brings_along_allows_nothing_until_it_is_trusted() {
    let bed = Bed::new();
    bed.put("proj/.claude/settings.json", CLAUDE);
    let written = bed.pinfold(&["import", "claude", "--yes"]);
    assert!(written.status.success() && text(&written).contains("pinfold trust"), "{}", text(&written));
    assert!(bed.read("proj/.pinfold/settings.json").is_some() && bed.read(OURS).is_none());
    assert_eq!((bed.decided("make").as_str(), bed.decided("make deploy").as_str()), ("ask", "deny"));
    assert!(bed.pinfold(&["trust", "--yes"]).status.success());
    assert_eq!(bed.decided("make"), "allow");
    // Trust for what stood there is none for what comes in.
    bed.put("proj/.claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(npm:*)\"]}}");
    assert!(bed.pinfold(&["import", "claude", "--yes"]).status.success());
    assert_eq!((bed.decided("make").as_str(), bed.decided("npm").as_str()), ("ask", "ask"));
}

#[test]
fn a_word_that_somebody_said_stays() {
    let bed = Bed::new();
    bed.put(".codex/config.toml", "sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\n");
    bed.put(OURS, "{\"sandbox\": {\"mode\": \"read-only\"}, \"bash\": \"ask\"}");
    let done = bed.pinfold(&["import", "codex", "--yes"]);
    assert!(done.status.success(), "{}", text(&done));
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
    assert!(none.status.success() && text(&none).contains("no settings of gemini"), "{}", text(&none));
    bed.put(".gemini/settings.json", "{");
    assert_eq!(bed.pinfold(&["import", "gemini", "--yes"]).status.code(), Some(2));
    bed.put(".gemini/settings.json", "{\"tools\": {\"exclude\": [\"replace\"]}}");
    bed.put(OURS, "{\"permissions\": []}");
    assert_eq!(bed.pinfold(&["import", "gemini", "--yes"]).status.code(), Some(2));
    assert_eq!(bed.read(OURS).as_deref(), Some("{\"permissions\": []}"));
    assert_eq!(bed.pinfold(&["import", "nobody"]).status.code(), Some(2));
}
