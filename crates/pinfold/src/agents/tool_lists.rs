//! The forms in which people list tools.

use pinfold_policy::settings::separate_rules;
use serde_json::Value;

/// The expected form of a list of tools, for an error message.
pub(crate) const FORMS: &str = "a list of rules, or tools each with true or a pattern";

/// The rules of a list, of one text with commas or blanks, or of an object of tools with their patterns. `None`: it is
/// neither.
pub(crate) fn listed(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(list) => Some(separate_rules(list).map(str::to_owned).collect()),
        Value::Array(list) => list.iter().map(|rule| rule.as_str().map(str::to_owned)).collect(),
        Value::Object(by_tool) => {
            let rules = by_tool.iter().map(|(tool, pattern)| rules_for_tool(tool, pattern));
            Some(rules.collect::<Option<Vec<_>>>()?.concat())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn rules_for_tool(tool: &str, pattern: &Value) -> Option<Vec<String>> {
    let with = |pattern: &str| format!("{tool}({pattern})");
    match pattern {
        Value::Bool(true) => Some(vec![tool.to_owned()]),
        Value::Bool(false) => Some(Vec::new()),
        Value::String(pattern) => Some(vec![with(pattern)]),
        Value::Array(patterns) => patterns.iter().map(|pattern| pattern.as_str().map(with)).collect(),
        Value::Null | Value::Number(_) | Value::Object(_) => None,
    }
}
