//! What we answer is what each agent was seen to honour: `honoured.jsonl` holds what became of a call after each form of
//! answer, recorded with the agents themselves, once as they ask and once as they ask nothing.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use pinfold_dialects::{Answer, Dialect, HookOutput, Moment, dialect};
use serde_json::{Value, json};

const RECORDED: &str = include_str!("honoured.jsonl");
const AGENTS: &[&str] = &["claude", "codex", "gemini", "qwen", "copilot", "hermes"];

/// Whatever the words are, they are words.
fn without_words(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let words = ["reason", "message", "permissionDecisionReason"].contains(&name.as_str());
                (name.clone(), if words { json!("words") } else { without_words(value) })
            })
            .collect(),
        other => other.clone(),
    }
}

/// The form of an answer: what is on standard output, whether something is on standard error, and the code.
fn form(said: &HookOutput) -> Value {
    let stdout: Value = if said.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&said.stdout).expect("one object")
    };
    json!({"stdout": without_words(&stdout), "stderr": !said.stderr.is_empty(), "exit": said.code})
}

fn recorded(agent: &str, form: &Value) -> Option<Value> {
    RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line")).find_map(|line| {
        let answer = &line["answer"];
        let theirs = json!({
            "stdout": answer.get("stdout").map_or(Value::Null, without_words),
            "stderr": answer.get("stderr").is_some(),
            "exit": answer.get("exit").cloned().unwrap_or(json!(0)),
        });
        (line["agent"] == agent && theirs == *form).then(|| line["ran"].clone())
    })
}

fn before(agent: &dyn Dialect) -> Moment {
    let payload = match agent.name() {
        "copilot" => {
            json!({"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": {"command": "ls"}})
        }
        name => {
            let event = match name {
                "gemini" => "BeforeTool",
                "hermes" => "pre_tool_call",
                _ => "PreToolUse",
            };
            json!({"session_id": "s", "cwd": "/w", "hook_event_name": event, "tool_name": "x", "tool_input": {}})
        }
    };
    agent.parse_event(payload.to_string().as_bytes()).expect("understood").moment
}

fn ran(agent: &dyn Dialect, said: &HookOutput) -> Vec<bool> {
    let form = form(said);
    // Where both an answer and a code say no, the code alone was recorded.
    let code_alone = json!({"stdout": null, "stderr": form["stderr"], "exit": form["exit"]});
    let ran = recorded(agent.name(), &form).or_else(|| recorded(agent.name(), &code_alone));
    let ran = ran.unwrap_or_else(|| panic!("{}: nobody tried {form}", agent.name()));
    ran.as_object().expect("by mode").values().map(|ran| ran.as_bool().expect("yes or no")).collect()
}

#[test]
fn a_no_stops_the_call_in_every_mode() {
    for name in AGENTS {
        let agent = dialect(name).unwrap();
        for said in [agent.format_answer(&before(agent), &Answer::deny("because")), agent.closed("because")] {
            assert!(ran(agent, &said).iter().all(|ran| !ran), "{name}: {said:?}");
        }
    }
}

/// A no without a reason is none for some.
#[test]
fn a_no_always_has_a_reason() {
    for name in AGENTS {
        let agent = dialect(name).unwrap();
        let said = agent.format_answer(&before(agent), &Answer::deny(" "));
        assert_eq!(form(&said), form(&agent.format_answer(&before(agent), &Answer::deny("because"))));
        assert!(said.stdout.contains("pinfold does not allow it"), "{name}: {said:?}");
    }
}

#[test]
fn a_question_never_lets_a_call_run_by_itself() {
    for name in AGENTS {
        let agent = dialect(name).unwrap();
        let said = agent.format_answer(&before(agent), &Answer::ask("because"));
        assert!(ran(agent, &said).iter().all(|ran| !ran), "{name}: {said:?}");
        let as_no = form(&said) == form(&agent.format_answer(&before(agent), &Answer::deny("because")));
        assert_eq!(as_no, !agent.asks(), "{name}: a question is said as one only where it is asked");
    }
}

#[test]
fn a_yes_lets_the_call_run_where_nothing_else_asks() {
    for name in AGENTS {
        let agent = dialect(name).unwrap();
        let said = agent.format_answer(&before(agent), &Answer::allow("because"));
        assert_eq!(ran(agent, &said).last(), Some(&true), "{name}: {said:?}");
    }
}

#[test]
fn to_say_nothing_is_to_say_nothing() {
    for name in AGENTS {
        let agent = dialect(name).unwrap();
        let said = agent.format_answer(&before(agent), &Answer::silence());
        assert_eq!(form(&said), json!({"stdout": {}, "stderr": false, "exit": 0}), "{name}");
    }
}
