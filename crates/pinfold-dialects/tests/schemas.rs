//! The tools that agents offer to their models, as they were recorded, with the calls that these can make of them: each is
//! understood, and a field that is not known is one that somebody has looked at.
//!
//! `schemas/AGENT.jsonl`: what the agent sent to its model, without descriptions; of which `version`, or out of which file
//! of its package: `sdk-tools.d.ts` names what Claude Code offers to a person alone, and Hermes keeps its schemas in Python.
//! Cursor's are by its documentation of hooks, with the `event` that tells of a tool where it has one of its own.
//! `schemas/not_known.txt`: fields and tools that are a doubt, or unknown, and why that is right.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pinfold_dialects::{AgentCall, DIALECTS, Moment, dialect};
use pinfold_policy::ToolCall;
use pinfold_policy::rule::Rule;
use serde_json::{Map, Value, json};

fn at(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(name)
}

/// A tool as it was recorded.
struct Recorded {
    agent: &'static str,
    tool: String,
    /// The event of its own that tells of it.
    event: Option<String>,
    schema: Value,
}

/// The recorded tools of each agent.
fn recorded() -> Vec<Recorded> {
    let mut all = Vec::new();
    for agent in DIALECTS.iter().map(|dialect| dialect.name()) {
        let Ok(text) = fs::read_to_string(at(&format!("{agent}.jsonl"))) else { continue };
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if row["schema"].as_object().is_none_or(Map::is_empty) {
                // Its input is text in a form of its own, or nothing.
                continue;
            }
            all.push(Recorded {
                agent,
                tool: row["tool"].as_str().unwrap().to_owned(),
                event: row["event"].as_str().map(str::to_owned),
                schema: row["schema"].clone(),
            });
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
fn heard(Recorded { agent, tool, event: own, .. }: &Recorded, input: &Value) -> AgentCall {
    let dialect = dialect(agent).unwrap();
    let mut event = dialect.probe("/w", "/w/a");
    if let Some(own) = own {
        let fields = event.as_object_mut().unwrap();
        fields.insert("hook_event_name".to_owned(), json!(own));
        fields.extend(input.as_object().unwrap().clone());
    }
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
    match dialect.parse_event(event.to_string().as_bytes()).unwrap().moment {
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
    assert!(all.len() > 140, "{} tools were recorded", all.len());
    let not_known = not_known();
    for recorded in all {
        let Recorded { agent, tool, schema, .. } = &recorded;
        if not_known.contains(&format!("{agent} {tool}")) {
            continue;
        }
        for whole in [false, true] {
            let input = object(schema, whole);
            let call = heard(&recorded, &input);
            let read = ToolCall::parse_for_verdict(&call.raw);
            assert!(read.is_ok(), "{agent} {tool} {input}: {read:?}");
        }
    }
}

#[test]
fn what_is_not_known_of_a_recorded_tool_is_listed() {
    let mut found = BTreeSet::new();
    for recorded in recorded() {
        let Recorded { agent, tool, schema, .. } = &recorded;
        let required = object(schema, false);
        let call = heard(&recorded, &required);
        match ToolCall::parse_for_verdict(&call.raw) {
            Err(_) => {
                found.insert(format!("{agent} {tool}"));
                continue;
            }
            Ok(ToolCall::Foreign(pinfold_policy::ForeignCall::Unknown { name })) => {
                // A person can write a rule about it.
                Rule::parse_written(&name).unwrap();
                found.insert(format!("{agent} {tool}"));
                continue;
            }
            Ok(_) => {}
        }
        assert_eq!(call.doubt, None, "{agent} {tool}: {required}");
        for (name, of_field) in schema["properties"].as_object().into_iter().flatten() {
            let mut input = required.clone();
            input[name] = value(name, of_field, true);
            if heard(&recorded, &input).doubt.is_some() {
                found.insert(format!("{agent} {tool} {name}"));
            }
        }
    }
    let expected = not_known();
    let new: Vec<_> = found.difference(&expected).collect();
    let gone: Vec<_> = expected.difference(&found).collect();
    assert!(new.is_empty() && gone.is_empty(), "not listed: {new:#?}\nlisted, and known: {gone:#?}");
}

/// Fields of recorded tools that name what is touched, and how: whatever the agent calls them.
const TOUCHES: [(&str, &[&str]); 3] = [
    ("command", &["command", "cmd"]),
    ("path", &["path", "paths", "file_path", "filePath", "notebook_path", "dir_path", "absolute_path"]),
    ("url", &["url", "urls"]),
];

/// Fields that are called so and name nothing that is touched: the slash command that began a task.
const ONLY_CALLED_SO: [(&str, &str, &str); 1] = [("opencode", "task", "command")];

#[test]
fn a_path_a_command_or_an_address_is_a_claim_or_the_call_is_asked_about() {
    let (mut claimed, mut unknown) = (0, 0);
    for recorded in recorded() {
        let Recorded { agent, tool, schema, .. } = &recorded;
        let input = object(schema, false);
        for (kind, fields) in TOUCHES {
            for field in fields.iter().filter(|field| schema["properties"].get(**field).is_some()) {
                if ONLY_CALLED_SO.contains(&(agent, tool.as_str(), field)) {
                    continue;
                }
                let mut input = input.clone();
                let marked = match kind {
                    "url" => "https://marked.test/a",
                    "path" => "/w/marked",
                    _ => "cat /w/marked",
                };
                let is_list = schema["properties"][field]["type"] == "array";
                input[*field] = if is_list { json!([marked]) } else { json!(marked) };
                let call = heard(&recorded, &input);
                match ToolCall::parse_for_verdict(&call.raw) {
                    Ok(ToolCall::Foreign(pinfold_policy::ForeignCall::Unknown { .. })) | Err(_) => {
                        unknown += 1;
                    }
                    Ok(_) if call.doubt.is_some() => unknown += 1,
                    Ok(read) => {
                        let told = format!("{read:?} in {:?}", call.raw.cwd);
                        assert!(told.contains("marked"), "{agent} {tool} {field} is no part of {told}");
                        claimed += 1;
                    }
                }
            }
        }
    }
    assert!(claimed > 50 && unknown < claimed, "{claimed} are claims, {unknown} are asked about");
}
