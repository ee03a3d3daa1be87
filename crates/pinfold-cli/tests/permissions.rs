//! `pinfold permissions --list`: all that holds, without a screen.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;

use serde_json::Value;

use crate::kit::Bed;

const SHARED: &str = r#"{
  "permissions": {
    "allow": ["Bash(make *)"],
    "deny": ["Read(./secrets/**)"]
  }
}"#;

impl Bed {
    fn with_settings() -> Self {
        let bed = Self::new();
        fs::write(bed.project.join(".pinfold/settings.json"), SHARED).unwrap();
        bed
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.said(&["permissions", "--list", "--json"])).unwrap()
    }
}

#[test]
fn rules_are_listed_with_where_they_stand_and_how_often_they_decided() {
    let bed = Bed::with_settings();
    bed.said(&["permissions", "add", "allow", "Bash(npm test)", "--user"]);
    let rule = |all: &Value, text: &str| {
        let found = all["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == text).cloned();
        found.unwrap_or_default()
    };
    let all = bed.json();
    assert_eq!(rule(&all, "Read(./secrets/**)")["decided"], 0);
    assert_eq!(rule(&all, "Read(./secrets/**)")["line"], 4);

    // The record counts.
    fs::create_dir(bed.project.join("secrets")).unwrap();
    fs::write(bed.project.join("secrets/a"), "secret").unwrap();
    for _ in 0..2 {
        let denied = bed.pinfold(&["call", "Read", r#"{"file_path": "secrets/a"}"#]);
        assert_eq!(denied.status.code(), Some(3));
    }
    let all = bed.json();
    assert_eq!(rule(&all, "Read(./secrets/**)")["decided"], 2);
    assert_eq!(rule(&all, "Bash(npm test)")["decided"], 0);
    let text = bed.said(&["permissions", "--list"]);
    assert!(text.contains("project .pinfold/settings.json:4:14 · decided 2 times"), "{text}");
    assert!(text.contains("allow   Bash(npm test)") && text.contains("never decided"), "{text}");
}

#[test]
fn trusted_folders_are_listed_as_long_as_they_are_trusted() {
    let bed = Bed::with_settings();
    let text = bed.said(&["permissions", "--list"]);
    assert!(text.contains("what does not count\n  said    `allow Bash(make *)`"), "{text}");
    assert_eq!(bed.json()["trusted"], serde_json::json!([]));

    bed.said(&["trust", "--yes"]);
    let trusted = &bed.json()["trusted"];
    assert_eq!(trusted[0]["folder"], bed.project.to_str().unwrap());
    assert_eq!(
        trusted[0]["files"][0],
        serde_json::json!({"file": ".pinfold/settings.json", "as_trusted": true})
    );

    fs::write(bed.project.join(".pinfold/settings.json"), SHARED.replace("make", "rm")).unwrap();
    assert_eq!(bed.json()["trusted"][0]["files"][0]["as_trusted"], false);
    assert!(bed.said(&["permissions", "--list"]).contains("changed since, so it does not count"));
}

#[test]
fn words_of_a_project_do_not_act_on_a_terminal() {
    let bed = Bed::with_settings();
    let nasty = r#"{"permissions": {"additionalDirectories": ["/a\u001b[2J\u202e"]}}"#;
    fs::write(bed.project.join(".pinfold/settings.json"), nasty).unwrap();
    let text = bed.said(&["permissions", "--list"]);
    assert!(text.contains("/a") && !text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn without_a_terminal_there_is_a_list() {
    let bed = Bed::with_settings();
    let output = bed.pinfold(&["permissions"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("no terminal") && said.contains("--list"), "{said}");
    for odd in [&["permissions", "--json"][..], &["permissions", "--list", "add", "allow", "Bash(make)"]] {
        assert_eq!(bed.pinfold(odd).status.code(), Some(2), "{odd:?}");
    }
}
