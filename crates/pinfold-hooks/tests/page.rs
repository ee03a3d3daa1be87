//! The page about hooks is true: its examples come to what stands there, and it names all that there is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::fs;
use std::path::Path;

use pinfold::RawCall;
use pinfold::policy::settings::hooks::{CommandHook, HttpHook};
use pinfold::policy::{HookEvent, Layer, Settings};
use pinfold_gate_testkit::calls::bash;
use serde_json::{Value, json};

use crate::kit::{Bed, command};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks.md")).unwrap()
}

/// The blocks of JSON with what stands behind each, up to the next one.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("```json\n").skip(1);
    parts.map(|part| part.split_once("```").unwrap()).collect()
}

/// `git push`, or `` Write `a.txt` ``.
fn call(cell: &str) -> RawCall {
    match cell.strip_prefix("Write ") {
        Some(path) => RawCall::new("Write", json!({"file_path": path.trim_matches('`'), "content": ""})),
        None => bash(cell.trim_matches('`')),
    }
}

#[test]
fn every_example_comes_to_what_stands_there() {
    let page = page();
    let mut tried = 0;
    for (text, behind) in blocks(&page) {
        let settings = Settings::parse(text.as_bytes(), Layer::User, &"hooks.md".into());
        let settings = settings.unwrap_or_else(|bad| panic!("{bad}\n{text}"));
        let said: Value = serde_json::from_str(text).unwrap();
        let behind = behind.trim_start();
        let tells = behind.starts_with("| call | comes to |");
        let table = behind.lines().take_while(|line| tells && line.starts_with("| ")).skip(2);
        for row in table {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let bed = Bed::new();
            let session = bed.session_with(&said["hooks"], |plan| {
                let permissions = &settings.says.permissions;
                let rules = [
                    (&permissions.deny, pinfold::policy::Effect::Deny),
                    (&permissions.ask, pinfold::policy::Effect::Ask),
                ];
                let rules = rules.into_iter().flat_map(|(rules, effect)| {
                    rules.iter().map(move |rule| pinfold::policy::SourcedRule {
                        effect,
                        rule: rule.value.clone(),
                        source: rule.source.clone(),
                    })
                });
                plan.policy = std::mem::take(&mut plan.policy).with_rules(rules, &plan.bases);
            });
            assert_eq!(bed.outcome(&session.decide(&call(cells[0]))), cells[1], "{row}\n{text}");
            tried += 1;
        }
    }
    assert!(tried >= 13, "{tried} calls were tried");
}

#[test]
fn every_event_and_every_key_is_told() {
    let page = page();
    let told = |name: &str| page.contains(&format!("`{name}`"));
    let keys = CommandHook::KEYS.iter().chain(HttpHook::KEYS).chain(HookEvent::WORDS);
    for name in keys.chain(&["matcher", "hooks", "allowManagedHooksOnly", "headlessPermissionRequest"]) {
        assert!(told(name) || *name == "hooks", "`{name}` is not told");
    }
}

/// The fields that hooks are really told, each named on the page.
#[test]
fn every_field_is_told() {
    let page = page();
    let bed = Bed::new();
    let group = json!([{"hooks": [command("cat >> told; echo >> told")]}]);
    let hooks: Value = HookEvent::WORDS
        .iter()
        .map(|event| ((*event).to_owned(), group.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let session = bed.session(&hooks);
    let _ = pinfold_tools::call(&session, &RawCall::new("Glob", json!({"pattern": "*"})));
    let _ = pinfold_tools::call(&session, &RawCall::new("Read", json!({"file_path": "missing"})));
    let _ = pinfold_tools::call(&session, &RawCall::new("mcp__a__b", json!({"x": 1})));
    let mut events = Vec::new();
    for line in bed.read("told").lines().filter(|line| !line.is_empty()) {
        let told: Value = serde_json::from_str(line).unwrap();
        events.push(told["hook_event_name"].as_str().unwrap().to_owned());
        for name in told.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{name}`")), "`{name}` is not told");
        }
    }
    for event in ["PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure"]
    {
        assert!(events.iter().any(|seen| seen == event), "{event}: {events:?}");
    }
}
