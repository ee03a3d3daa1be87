use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One line each: what a hook said, and what is understood. `exit` and `status` are missing where a signal ended it.
const CASES: &str = include_str!("cases.jsonl");

fn came(case: &Value) -> HookResult {
    let text = |name: &str| match &case[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let out = Output { bytes: text("stdout").into(), cut: case["cut"] == true };
    let small = |name: &str| case[name].as_i64().map(|number| i32::try_from(number).unwrap());
    match (small("status"), case["late"] == true) {
        (Some(status), _) => HookResult::Answered { status: u16::try_from(status).unwrap(), body: out },
        (None, true) => HookResult::Late(Duration::from_secs(2)),
        (None, false) => HookResult::Ended { code: small("exit"), out, err: Output::whole(text("stderr")) },
    }
}

/// Returns the fields of an answer that are not empty.
fn shown(answer: &HookAnswer) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut say = |name: &str, value: Value| {
        if !matches!(&value, Value::Null | Value::Bool(false)) && value != json!([]) {
            shown.insert(name.to_owned(), value);
        }
    };
    let update = |update: &Update| match update {
        Update::AddRules { effect, rules } => format!("{} {}", effect.as_str(), rules.join(" ")),
        Update::SetMode(mode) => format!("mode {}", mode.as_str()),
    };
    say("decision", json!(answer.decision.map(Decision::as_str)));
    say("reason", json!(answer.reason));
    say("input", json!(answer.input));
    say("context", json!(answer.context));
    say("blocked", json!(answer.blocked));
    say("stop", json!(answer.stop));
    say("retry", json!(answer.retry));
    say("updates", json!(answer.updates.iter().map(update).collect::<Vec<_>>()));
    say("interrupt", json!(answer.interrupt));
    say("notes", json!(answer.notes));
    say("trouble", json!(answer.trouble));
    shown
}

#[test]
fn every_answer_of_the_table_is_understood_as_it_stands_there() {
    let mut seen = 0;
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let event = HookEvent::parse(case["event"].as_str().unwrap()).unwrap();
        let mut found = shown(&understood(event, &came(&case)));
        let mut expected = case["expect"].as_object().unwrap().clone();
        if let (Some(Value::String(part)), Some(Value::String(whole))) =
            (expected.get("trouble"), found.get("trouble"))
        {
            assert!(whole.contains(part.as_str()), "{}: {whole}", case["name"]);
            found.remove("trouble");
            expected.remove("trouble");
        }
        assert_eq!(Value::Object(found), Value::Object(expected), "{}", case["name"]);
        seen += 1;
    }
    assert!(seen > 80, "{seen} cases");
}

/// Words that answers may hold.
const WORDS: &[&str] =
    &["allow", "deny", "ask", "approve", "block", "defer", "maybe", "", "PreToolUse", "Bash(x)", "setMode"];
/// Names that fields may have.
const NAMES: &[&str] = &[
    "hookSpecificOutput",
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "decision",
    "behavior",
    "updatedPermissions",
    "addRules",
    "setMode",
    "type",
    "rules",
    "continue",
    "retry",
    "action",
    "reason",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(|number| json!(number)),
        proptest::sample::select(WORDS).prop_map(|word| json!(word)),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((proptest::sample::select(NAMES), inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

/// Generates near misses of an answer: an object of known names, one of its own in it, and words where words are meant.
fn nearly() -> impl Strategy<Value = Value> {
    let word = || proptest::sample::select(WORDS).prop_map(|word| json!(word));
    let update = (word(), prop::option::of(word()), anything())
        .prop_map(|(kind, mode, rules)| json!([{"type": kind, "mode": mode, "rules": rules}]));
    let value =
        prop_oneof![4 => word(), 2 => anything(), 1 => update, 1 => any::<bool>().prop_map(Value::Bool)];
    let object = || prop::collection::vec((proptest::sample::select(NAMES), value.clone()), 0..6);
    (object(), prop::option::of(object())).prop_map(|(top, own)| {
        let all = |fields: Vec<(&str, Value)>| -> Map<String, Value> {
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let mut said = all(top);
        said.extend(own.map(|own| ("hookSpecificOutput".to_owned(), Value::Object(all(own)))));
        Value::Object(said)
    })
}

fn events() -> impl Strategy<Value = HookEvent> {
    proptest::sample::select(HookEvent::ALL)
}

proptest! {
    /// An answer that is not understood in full gives nothing, whatever it is.
    #[test]
    fn an_answer_in_trouble_gives_nothing(
        event in events(),
        said in prop_oneof![5 => nearly(), 1 => anything()],
        code in prop::option::of(prop_oneof![-1_i32..4, 0_i32..130]),
    ) {
        let out = Output::whole(said.to_string());
        let answer = understood(event, &HookResult::Ended { code, out, err: Output::default() });
        if answer.trouble.is_some() {
            prop_assert!(answer.decision != Some(Decision::Allow) && answer.input.is_none());
            prop_assert!(answer.updates.is_empty() && !answer.retry);
        }
        if code != Some(0) {
            prop_assert!(answer.decision != Some(Decision::Allow) && answer.input.is_none());
            prop_assert!(answer.updates.is_empty() && !answer.retry);
        }
        for update in answer.updates {
            match update {
                Update::SetMode(mode) => prop_assert!(Update::may_set(mode)),
                Update::AddRules { effect, .. } => prop_assert_eq!(effect, Effect::Allow),
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(event in events(), bytes: Vec<u8>, code in prop::option::of(0_i32..3)) {
        let _ = understood(event, &HookResult::Ended { code, out: Output::whole(bytes.clone()), err: Output::whole(bytes) });
    }
}
