//! The definition of a subagent, as a line or `AGENT.md` gives it: a mode, the tools it may use, those it may not.

use pinfold_policy::Mode;
use pinfold_policy::settings::separate_rules;
use serde_json::Value;

use super::line::BadLine;
use super::reading::At;

/// A subagent's definition.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentDefinition {
    pub(super) mode: Option<Mode>,
    /// Rules as written; `None` when nothing is listed, and then nothing is left out.
    pub(super) allow_tools: Option<Vec<String>>,
    pub(super) deny_tools: Vec<String>,
}

impl AgentDefinition {
    pub(super) fn read(at: &At<'_>) -> Result<Self, BadLine> {
        let mut agent = Self::default();
        for (at, name, value) in at.entries(&["mode", "allow_tools", "deny_tools"])? {
            let at = At(&at, value);
            match name {
                "mode" if value.as_str() == Some("") => {}
                "mode" => agent.mode = Some(at.choice(Mode::parse)?),
                // An empty list is no list; an object that allows nothing does.
                "allow_tools" => {
                    let listed = tools(&at)?;
                    agent.allow_tools = (!listed.is_empty() || value.is_object()).then_some(listed);
                }
                _ => agent.deny_tools = tools(&at)?,
            }
        }
        Ok(agent)
    }
}

/// A list of rules, the same as one text with commas, or an object of tools with their patterns.
fn tools(at: &At<'_>) -> Result<Vec<String>, BadLine> {
    match at.1 {
        Value::String(list) => Ok(separate_rules(list).map(str::to_owned).collect()),
        Value::Object(by_tool) => {
            let listed = by_tool.iter().map(|(tool, pattern)| of_tool(at, tool, pattern));
            Ok(listed.collect::<Result<Vec<_>, _>>()?.concat())
        }
        _ => at.texts(),
    }
}

fn of_tool(at: &At<'_>, tool: &str, pattern: &Value) -> Result<Vec<String>, BadLine> {
    let wrong = || at.wrong("a list of rules, or tools each with true or a pattern");
    match pattern {
        Value::Bool(true) => Ok(vec![tool.to_owned()]),
        Value::Bool(false) => Ok(Vec::new()),
        Value::String(pattern) => Ok(vec![format!("{tool}({pattern})")]),
        Value::Array(patterns) => {
            let text = |pattern: &Value| pattern.as_str().map(|pattern| format!("{tool}({pattern})"));
            patterns.iter().map(text).collect::<Option<_>>().ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}
