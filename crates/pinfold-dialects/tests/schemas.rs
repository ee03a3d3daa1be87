//! The tools that agents offer to their models, as they were recorded, with the calls that these can make of them: each is
//! understood, and a field that is not known is one that somebody has looked at.
//!
//! `schemas/AGENT.jsonl`: what the agent sent to its model, without descriptions. `schemas/not_known.txt`: fields and
//! tools that are a doubt, or unknown, and why that is right.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pinfold_dialects::{DIALECTS, Moment, TheirCall, dialect};
use pinfold_policy::ToolCall;
use serde_json::{Map, Value, json};

fn at(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(name)
}

/// The recorded tools of each agent: agent, tool, schema.
fn recorded() -> Vec<(&'static str, String, Value)> {
    let mut all = Vec::new();
    for agent in DIALECTS.iter().map(|dialect| dialect.name()) {
        let Ok(text) = fs::read_to_string(at(&format!("{agent}.jsonl"))) else { continue };
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if row["schema"].as_object().is_none_or(Map::is_empty) {
                // Its input is text in a form of its own, or nothing.
                continue;
            }
            all.push((agent, row["tool"].as_str().unwrap().to_owned(), row["schema"].clone()));
        }
    }
    all
}

/// A value that the schema allows.
fn value(name: &str, schema: &Value, whole: bool) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => object(schema, whole),
        Some("array") => json!([value(name, &schema["items"], whole)]),
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(false),
        _ if name.to_lowercase().contains("url") => json!("https://example.org/a"),
        _ if name == "prompt" => json!("Summarise https://example.org/a"),
        _ if name.to_lowercase().contains("path") || name.to_lowercase().contains("dir") => json!("/w/a"),
        _ => json!("x"),
    }
}

/// An object with all fields, or with those that are required.
fn object(schema: &Value, whole: bool) -> Value {
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| whole || required.contains(name.as_str()));
    Value::Object(
        fields.map(|(name, schema)| (name.clone(), value(name, schema, whole))).collect::<Map<_, _>>(),
    )
}

/// What the hook of an agent understands of a call.
fn heard(agent: &str, tool: &str, input: &Value) -> TheirCall {
    let dialect = dialect(agent).unwrap();
    let mut event = dialect.probe("/w", "/w/a");
    // As each of them names tool and input.
    for (name, value) in
        [("tool_name", json!(tool)), ("toolName", json!(tool)), ("tool_input", input.clone())]
    {
        if event.get(name).is_some() {
            event[name] = value;
        }
    }
    if event.get("toolArgs").is_some() {
        event["toolArgs"] = json!(input.to_string());
    }
    match dialect.hear(event.to_string().as_bytes()).unwrap().moment {
        Moment::Before(call) => call,
        other => unreachable!("{other:?}"),
    }
}

/// The lines that are expected: `AGENT TOOL`, or `AGENT TOOL FIELD`, and the reason behind `#`.
fn not_known() -> BTreeSet<String> {
    let text = fs::read_to_string(at("not_known.txt")).unwrap();
    let lines = text.lines().map(|line| line.split('#').next().unwrap().trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_call_that_a_model_can_make_is_understood() {
    let all = recorded();
    assert!(all.len() > 40, "{} tools were recorded", all.len());
    let not_known = not_known();
    for (agent, tool, schema) in all {
        if not_known.contains(&format!("{agent} {tool}")) {
            continue;
        }
        for whole in [false, true] {
            let input = object(&schema, whole);
            let call = heard(agent, &tool, &input);
            let read = ToolCall::parse_for_verdict(&call.raw);
            assert!(read.is_ok(), "{agent} {tool} {input}: {read:?}");
        }
    }
}

#[test]
fn what_is_not_known_of_a_recorded_tool_is_listed() {
    let mut found = BTreeSet::new();
    for (agent, tool, schema) in recorded() {
        let required = object(&schema, false);
        let call = heard(agent, &tool, &required);
        match ToolCall::parse_for_verdict(&call.raw) {
            Err(_) | Ok(ToolCall::Foreign(pinfold_policy::ForeignCall::Unknown { .. })) => {
                found.insert(format!("{agent} {tool}"));
                continue;
            }
            Ok(_) => {}
        }
        assert_eq!(call.doubt, None, "{agent} {tool}: {required}");
        for (name, of_field) in schema["properties"].as_object().into_iter().flatten() {
            let mut input = required.clone();
            input[name] = value(name, of_field, true);
            if heard(agent, &tool, &input).doubt.is_some() {
                found.insert(format!("{agent} {tool} {name}"));
            }
        }
    }
    let expected = not_known();
    let new: Vec<_> = found.difference(&expected).collect();
    let gone: Vec<_> = expected.difference(&found).collect();
    assert!(new.is_empty() && gone.is_empty(), "not listed: {new:#?}\nlisted, and known: {gone:#?}");
}
