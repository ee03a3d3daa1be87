//! The call of a recorded decision, for judging it again.

use pinfold_policy::{PathText, RawCall, Shape, ToolName};
use serde_json::Value;

use crate::audit::event::DecisionEvent;

impl DecisionEvent {
    /// The places that it is about, under each of their names.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let named = self.paths.iter().flat_map(|path| [Some(&path.asked), path.real.as_ref()]);
        named.flatten().map(String::as_str)
    }

    /// Returns true if a safeguard asked about any part of it.
    pub fn is_guarded(&self) -> bool {
        let steps = self.parts.iter().map(|part| &*part.step).chain(self.step.as_deref());
        steps.into_iter().any(|step| step == "safeguard")
    }

    /// The call, if all that a verdict goes by is in the line.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn call(&self, tool: &str) -> Result<RawCall, &'static str> {
        if self.process.is_some() {
            return Err("a process tried it, and what it held is gone");
        }
        let Some(recorded) = &self.input else {
            return Err("its input is not in the record");
        };
        let (input, text) = (recorded.to_value(), recorded.to_text());
        if self.cut.iter().any(|cut| !is_only_for_the_deed(tool, &cut.at)) {
            return Err("its input was too long, and is cut in the record");
        }
        if text.contains(REDACTED) && holds_a_secret(tool, &input, &mut String::new()) {
            return Err("its input held a secret, which is not in the record");
        }
        let cwd = self.cwd.as_deref().map(PathText::new);
        let shape = self.shape.as_ref().map(Shape::parse).transpose();
        let shape = shape.map_err(|_| "what was known of its arguments is not understood")?;
        Ok(RawCall { tool: tool.to_owned(), input, cwd, shape, is_method: false })
    }
}

/// The beginning of a removed secret.
const REDACTED: &str = "[REDACTED";

/// Fields of the tools of pinfold that an operation alone would use: no verdict goes by them.
const FOR_THE_DEED: [&str; 9] = [
    "content",
    "contents",
    "file_text",
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "new_source",
    "description",
];

/// Returns true if a field of the tool's input, as a JSON Pointer, is only for the operation.
fn is_only_for_the_deed(tool: &str, at: &str) -> bool {
    let mut names = at.split('/').skip(1);
    let names = [names.next(), names.next(), names.next(), names.next()];
    let ([Some(field), None, ..] | [Some("edits"), Some(_), Some(field), None]) = names else { return false };
    ToolName::parse(tool).is_some() && FOR_THE_DEED.contains(&field)
}

/// Returns true if a secret was taken out where a verdict would look.
fn holds_a_secret(tool: &str, value: &Value, at: &mut String) -> bool {
    let outer = at.len();
    let mut below = |name: &str, value: &Value| {
        at.push('/');
        at.push_str(name);
        let found = name.contains(REDACTED) || holds_a_secret(tool, value, at);
        at.truncate(outer);
        found
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(REDACTED) && !is_only_for_the_deed(tool, at),
        Value::Array(values) => values.iter().enumerate().any(|(i, value)| below(&i.to_string(), value)),
        Value::Object(fields) => fields.iter().any(|(name, value)| below(name, value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decision(line: &Value) -> DecisionEvent {
        serde_json::from_str(&line.to_string()).unwrap()
    }

    #[test]
    fn a_call_is_whole_where_nothing_is_missing_that_a_verdict_goes_by() {
        let cut = |at: &str| json!([{"at": at, "bytes": 9000, "sha256": ""}]);
        for (line, whole) in [
            (json!({"input": {"command": "make"}}), true),
            (json!({"input": {}}), true),
            (json!({}), false),
            (json!({"input": null}), false),
            (json!({"input": {"command": "make"}, "process": {"pid": 1}}), false),
            (json!({"input": {"command": "curl -H [REDACTED:token] x"}}), false),
            (json!({"input": {"[REDACTED:token]": 1}}), false),
            (json!({"input": {"a": [{"b": "[REDACTED:token]"}]}}), false),
            // What is written is for the deed.
            (json!({"input": {"file_path": "a", "content": "[REDACTED:token]"}}), true),
            (json!({"input": {"file_path": "a", "edits": [{"new_string": "[REDACTED:token]"}]}}), true),
            (json!({"input": {"file_path": "a", "content": "x…"}, "cut": cut("/content")}), true),
            (json!({"input": {"file_path": "a"}, "cut": cut("/edits/3/old_string")}), true),
            (json!({"input": {"edits": []}, "cut": cut("/edits/3/path")}), false),
            (json!({"input": {"command": "x…"}, "cut": cut("/command")}), false),
            (json!({"input": {"patch": "x…"}, "cut": cut("/patch")}), false),
            (json!({"input": {"x": {"content": "x…"}}, "cut": cut("/x/content")}), false),
            (json!({"cut": cut("")}), false),
        ] {
            assert_eq!(decision(&line).call("MultiEdit").is_ok(), whole, "{line}");
        }
        // It is not known what a server takes from which field.
        let line = json!({"input": {"content": "[REDACTED:token]"}});
        assert!(decision(&line).call("mcp__fs__write").is_err());
    }

    #[test]
    fn a_safeguard_is_seen_in_any_part() {
        for (line, guarded) in [
            (json!({"step": "safeguard"}), true),
            (json!({"step": "scope", "parts": [{"step": "scope"}, {"step": "safeguard"}]}), true),
            (json!({"step": "scope", "parts": [{"step": "scope"}]}), false),
        ] {
            assert_eq!(decision(&line).is_guarded(), guarded);
        }
    }
}
