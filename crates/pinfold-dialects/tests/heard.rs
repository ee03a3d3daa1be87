//! What each agent was recorded to send, and what is understood of it. `PINFOLD_BLESS=1` writes down what is understood
//! now; what changes has to be read.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

#[path = "kit/laws.rs"]
mod laws;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use pinfold_dialects::{AgentCall, DIALECTS, Dialect, Event, Moment};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

fn file(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/heard/{agent}.jsonl"))
}

fn call(call: &AgentCall) -> Value {
    let cwd = call.raw.cwd.as_ref().map(|cwd| cwd.as_os_str().to_string_lossy().into_owned());
    let mut told = json!({"tool": call.raw.tool, "input": call.raw.input, "cwd": cwd, "key": call.key});
    if let Some(doubt) = &call.doubt {
        told["doubt"] = json!(doubt);
    }
    if call.own_dialog {
        told["own_dialog"] = json!(true);
    }
    told
}

fn told(event: &Event) -> Value {
    let mut told = match &event.moment {
        Moment::Start(source) => json!({"moment": "start", "source": source}),
        Moment::End(reason) => json!({"moment": "end", "reason": reason}),
        Moment::Before(made) => json!({"moment": "before", "call": call(made)}),
        Moment::Permission(made) => json!({"moment": "permission", "call": call(made)}),
        Moment::After(made, ended) => {
            json!({"moment": "after", "call": call(made), "done": ended.done, "took_ms": ended.took_ms, "message": ended.message})
        }
        Moment::Other(name) => json!({"moment": "other", "name": name}),
    };
    told["session"] = json!(event.session);
    if let Some(subagent) = &event.subagent {
        told["subagent"] = json!(subagent);
    }
    if event.strict {
        told["strict"] = json!(true);
    }
    told
}

fn heard(dialect: &dyn Dialect, payload: &Value) -> Value {
    match dialect.parse_event(payload.to_string().as_bytes()) {
        Ok(event) => told(&event),
        Err(bad) => json!({"error": bad.to_string()}),
    }
}

#[test]
fn what_was_recorded_is_understood_as_it_was_meant() {
    for dialect in DIALECTS {
        let path = file(dialect.name());
        let text = fs::read_to_string(&path).expect("each agent has cases");
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut case: Value = serde_json::from_str(line).expect("a case");
            let heard = heard(*dialect, &case["payload"]);
            if std::env::var_os("PINFOLD_BLESS").is_some() {
                case["heard"] = heard;
            } else {
                assert_eq!(heard, case["heard"], "{}: {}", dialect.name(), case["payload"]);
            }
            lines.push(case.to_string() + "\n");
        }
        assert!(lines.len() >= 4, "{}", dialect.name());
        if std::env::var_os("PINFOLD_BLESS").is_some() {
            fs::write(&path, lines.concat()).expect("written");
        }
    }
}

/// What is not understood is an error, whatever is missing.
#[test]
fn without_a_part_that_matters_nothing_is_understood() {
    for dialect in DIALECTS {
        let text = fs::read_to_string(file(dialect.name())).unwrap();
        let before = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|case| case["heard"]["moment"] == "before");
        let payload = before.expect("a call is asked about")["payload"].clone();
        for field in ["tool_name", "toolName", "tool_input", "toolArgs"] {
            let mut less = payload.clone();
            if less.as_object_mut().unwrap().remove(field).is_some() {
                assert!(
                    dialect.parse_event(less.to_string().as_bytes()).is_err(),
                    "{} without {field}",
                    dialect.name()
                );
            }
        }
        for bytes in [
            &b""[..],
            b"null",
            b"[]",
            b"{}",
            b"\xff",
            b"{\"hook_event_name\":1}",
            b"{\"tool_name\":\"Bash\"}",
        ] {
            assert!(dialect.parse_event(bytes).is_err(), "{}: {bytes:?}", dialect.name());
        }
    }
}

/// A field that nobody knows could name a place: it is a doubt. One that cannot is nothing.
#[test]
fn a_field_that_nobody_knows_is_a_doubt_only_where_it_could_name_something() {
    for dialect in DIALECTS {
        let text = fs::read_to_string(file(dialect.name())).unwrap();
        let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let before = |case: &Value| {
            let said = ["toolArgs", "tool_input"].iter().any(|input| case["payload"][input].is_object());
            case["heard"]["moment"] == "before" && said
        };
        let payload = cases.into_iter().find(before).expect("a call is asked about")["payload"].clone();
        let input = if payload.get("toolArgs").is_some() { "toolArgs" } else { "tool_input" };
        for (value, doubted) in [
            (json!(true), false),
            (json!(3), false),
            (Value::Null, false),
            (json!("/etc"), true),
            (json!(["/etc"]), true),
            (json!({"a": "b"}), true),
        ] {
            let mut more = payload.clone();
            more[input]["something_new"] = value.clone();
            let Moment::Before(call) = dialect.parse_event(more.to_string().as_bytes()).unwrap().moment
            else {
                panic!("before")
            };
            assert_eq!(call.doubt.is_some(), doubted, "{}: {value}", dialect.name());
            assert!(call.raw.input.get("something_new").is_none());
        }
    }
}

/// What is sent to try a hook is understood as what it is meant to be.
#[test]
fn a_probe_is_a_write() {
    for dialect in DIALECTS {
        let probe = dialect.probe("/w", "/w/a").to_string();
        let Moment::Before(call) = dialect.parse_event(probe.as_bytes()).unwrap().moment else {
            panic!("before")
        };
        let told = call.raw.input.to_string();
        assert!(
            ["Write", "ApplyPatch"].contains(&call.raw.tool.as_str()) && told.contains("/w/a"),
            "{probe}"
        );
        assert_eq!(call.doubt, None);
    }
}

/// Everything that was recorded.
static PAYLOADS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let text = DIALECTS.iter().map(|dialect| fs::read_to_string(file(dialect.name())).expect("cases"));
    let cases = text.collect::<String>();
    cases
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a case")["payload"].clone())
        .collect()
});

const WORDS: &[&str] =
    &["", "/etc/x", "Bash", "patch", "PreToolUse", "apply_patch <<E\n*** Begin Patch\nE\n", "{\"a\":\"b\"}"];

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        select(WORDS).prop_map(Value::from),
        "\\PC{0,9}".prop_map(Value::from),
        Just(json!([{"path": "/etc/x"}])),
        Just(json!({"path": "/etc/x"})),
    ]
}

proptest! {
    /// What was recorded, with other values in some fields and some fields of others.
    #[test]
    fn whatever_is_sent_holds(
        which: Index,
        changes in prop::collection::vec((any::<Index>(), any::<Index>(), any::<bool>(), prop::option::of(anything())), 0..5),
    ) {
        let mut sent = which.get(&PAYLOADS).clone();
        for (from, field, inside, value) in changes {
            let input = |sent: &Value| ["tool_input", "toolArgs"].into_iter().find(|name| sent[name].is_object());
            let of = |sent: &Value| input(sent).filter(|_| inside).map_or(sent.clone(), |name| sent[name].clone());
            let other = of(from.get(&PAYLOADS));
            let names: Vec<&String> = other.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
            if names.is_empty() { continue }
            let name = *field.get(&names);
            let value = value.unwrap_or_else(|| other[name].clone());
            match input(&sent).filter(|_| inside) {
                Some(input) => sent[input][name] = value,
                None => sent[name] = value,
            }
        }
        laws::hold(sent.to_string().as_bytes());
    }
}
