//! A call as a person writes it, in the form of a rule: `Bash(git push)`, `Read(~/notes.md)`, `WebSearch`.

use serde_json::{Map, Value, json};

use crate::call::RawCall;
use crate::rule::MCP_PREFIX;
use crate::tool::ToolName;

impl RawCall {
    /// Reads a call that is written like a rule. What stands in the brackets is the command, the path, the host or the
    /// name that the tool is about; or all of its input, as a JSON object.
    ///
    /// # Errors
    /// What to write instead.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, about) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or("end it with `)`")?)),
        };
        if tool.is_empty() || tool.contains(char::is_whitespace) {
            return Err("write it like a rule, such as `Bash(git push)`".to_owned());
        }
        match (tool, about) {
            ("MCP", Some(name)) if name.starts_with(MCP_PREFIX) => Ok(Self::new(name, json!({}))),
            (tool, None) => Ok(Self::new(tool, json!({}))),
            (tool, Some(about)) => Ok(Self::new(tool, input(tool, about)?)),
        }
    }
}

fn input(tool: &str, about: &str) -> Result<Value, String> {
    // `{ ls; }` is a command.
    let whole = about.trim_start().starts_with('{') && ToolName::parse(tool) != Some(ToolName::Bash);
    if whole {
        let whole: Map<String, Value> =
            serde_json::from_str(about).map_err(|e| format!("its input is no JSON object: {e}"))?;
        return Ok(Value::Object(whole));
    }
    let field =
        field(tool).ok_or_else(|| format!("write the input of {tool} as a JSON object: `{tool}({{…}})`"))?;
    let host = about.strip_prefix("domain:").filter(|_| field == "url");
    Ok(match host {
        Some(host) => json!({field: format!("https://{host}/")}),
        None => json!({field: about}),
    })
}

/// Returns the main field of a tool's input, by which a call is abbreviated.
fn field(tool: &str) -> Option<&'static str> {
    match (tool, ToolName::parse(tool)) {
        (_, Some(ToolName::Bash)) => Some("command"),
        (_, Some(ToolName::ApplyPatch)) => Some("patch"),
        (_, Some(ToolName::WebFetch)) => Some("url"),
        (_, Some(ToolName::MoveFile | ToolName::CopyFile)) => None,
        (_, Some(tool)) => tool.takes_paths().then_some("path"),
        ("Skill", None) => Some("skill"),
        ("Agent" | "Task", None) => Some("subagent_type"),
        (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::ToolCall;

    #[test]
    fn a_call_is_read_as_it_is_meant() {
        for (text, tool, input) in [
            ("Bash(git push)", "Bash", json!({"command": "git push"})),
            ("Bash({ ls; })", "Bash", json!({"command": "{ ls; }"})),
            ("Bash(echo (a))", "Bash", json!({"command": "echo (a)"})),
            ("Read(~/a)", "Read", json!({"path": "~/a"})),
            ("Grep(./src)", "Grep", json!({"path": "./src"})),
            ("WebFetch(domain:github.com)", "WebFetch", json!({"url": "https://github.com/"})),
            ("WebFetch(https://a.b/c)", "WebFetch", json!({"url": "https://a.b/c"})),
            ("Skill(git:log)", "Skill", json!({"skill": "git:log"})),
            ("Agent(Explore)", "Agent", json!({"subagent_type": "Explore"})),
            ("MCP(mcp__a__b)", "mcp__a__b", json!({})),
            ("mcp__a__b({\"x\": 1})", "mcp__a__b", json!({"x": 1})),
            ("WebSearch", "WebSearch", json!({})),
        ] {
            let call = RawCall::from_text(text).unwrap();
            assert_eq!((call.tool.as_str(), &call.input), (tool, &input), "{text}");
            if tool != "mcp__a__b" && tool != "WebSearch" {
                assert!(ToolCall::parse_for_verdict(&call).is_ok(), "{text}");
            }
        }
        for text in ["", "Bash(ls", "(ls)", "git push", "MoveFile(a b)", "mcp__a__b(x)", "Read({)"] {
            assert!(RawCall::from_text(text).is_err(), "{text}");
        }
    }
}
