//! A script in the place of a model: what each agent says and calls, turn by turn. For tests, tours and examples.
//!
//! One JSON object a line: `{"agent":"adapters","say":"…","calls":[{"tool":"Read","input":{"file_path":"a"}}]}`. A line
//! without `agent` is for the agent that the person started; one whose name ends with `*` for every agent whose name
//! begins so. In all its texts `{{prompt}}` stands for the task of the agent, `{{prompt:WORDS}}` for what stands behind
//! these words in it, `{{results}}` for what came of the calls of the turn before, `{{name}}` and `{{folder}}` for its own.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::model::{
    AgentIdentity, Message, Model, ModelError, ModelRequest, Models, RequestedCall, Turn, Usage,
};

/// A script, read.
#[derive(Debug, Clone, Default)]
pub struct Script {
    lines: Arc<[ScriptLine]>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine {
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    say: String,
    #[serde(default)]
    calls: Vec<ScriptCall>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    tool: String,
    #[serde(default)]
    input: Value,
}

impl Script {
    /// Understands a script.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let parsed = lines.map(|(i, line)| {
            serde_json::from_str(line).map_err(|e| {
                let mend =
                    "write {\"say\":\"…\",\"calls\":[{\"tool\":\"Read\",\"input\":{…}}]}, one turn a line";
                ModelError::new(format!("line {} of the script cannot be read: {e}", i + 1), mend)
            })
        });
        Ok(Self { lines: parsed.collect::<Result<_, _>>()? })
    }
}

impl Models for Script {
    fn model(&self, who: &AgentIdentity, _: Option<&str>) -> Result<Box<dyn Model>, ModelError> {
        let own = |line: &&ScriptLine| match &line.agent {
            None => who.depth == 0,
            Some(pattern) => match pattern.strip_suffix('*') {
                Some(start) => who.name.starts_with(start),
                None => who.name == *pattern,
            },
        };
        let lines: Vec<ScriptLine> = self.lines.iter().filter(own).cloned().collect();
        Ok(Box::new(Scripted { lines }))
    }
}

/// One agent's part.
struct Scripted {
    lines: Vec<ScriptLine>,
}

impl Model for Scripted {
    fn answer(&mut self, asked: &ModelRequest<'_>, heard: &mut dyn FnMut(&str)) -> Result<Turn, ModelError> {
        // As many turns were said as there are in the conversation: a run that is resumed goes on where it stopped.
        let said = asked.messages.iter().filter(|message| matches!(message, Message::Model(_))).count();
        let Some(line) = self.lines.get(said) else { return Ok(Turn::default()) };
        let filled = PlaceholderValues::new(asked);
        let text = filled.text(&line.say);
        heard(&text);
        let call = |(i, call): (usize, &ScriptCall)| {
            RequestedCall::new(format!("call-{said}-{i}"), call.tool.clone(), filled.value(&call.input))
        };
        let calls = line.calls.iter().enumerate().map(call).collect();
        Ok(Turn { text, calls, usage: line.usage })
    }
}

/// Values of the placeholders.
struct PlaceholderValues<'a> {
    task: &'a str,
    results: String,
    who: &'a AgentIdentity,
}

impl<'a> PlaceholderValues<'a> {
    fn new(asked: &'a ModelRequest<'a>) -> Self {
        let task = asked.messages.iter().find_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            Message::Model(_) | Message::Results { .. } => None,
        });
        let results = asked.messages.iter().rev().find_map(|message| match message {
            Message::Results { results } => Some(results),
            Message::User { .. } | Message::Model(_) => None,
        });
        let told =
            results.into_iter().flatten().map(|one| format!("{} -> {}", one.short, one.how.describe()));
        Self {
            task: task.unwrap_or_default(),
            results: told.collect::<Vec<_>>().join("\n"),
            who: asked.agent,
        }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(list) => list.iter().map(|value| self.value(value)).collect(),
            Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), self.value(value))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, behind)) = after.split_once("}}") else { break };
            filled.push_str(before);
            match self.placeholder_value(name) {
                Some(value) => filled.push_str(value),
                None => filled.extend(["{{", name, "}}"]),
            }
            rest = behind;
        }
        filled + rest
    }

    fn placeholder_value(&self, name: &str) -> Option<&str> {
        match name {
            "prompt" => Some(self.task),
            "results" => Some(&self.results),
            "name" => Some(&self.who.name),
            "folder" => Some(&self.who.folder),
            other => {
                let words = other.strip_prefix("prompt:")?;
                Some(self.task.split_once(words).map_or("", |(_, behind)| behind.trim()))
            }
        }
    }
}
