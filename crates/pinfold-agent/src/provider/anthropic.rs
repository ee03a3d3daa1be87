//! [Anthropic Messages](https://docs.anthropic.com/en/api/messages-streaming).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Dialect, TurnStream, input, little, text, tokens};
use crate::model::{CallOutcome, Message, ModelRequest, OfferedTool, RequestedCall, Turn, Usage};

pub(crate) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    key: "ANTHROPIC_API_KEY",
    key_is_needed: true,
    base: "ANTHROPIC_BASE_URL",
    usual_base: "https://api.anthropic.com",
    url: |base, _| format!("{base}/v1/messages"),
    headers: |key| vec![("x-api-key", key.to_owned()), ("anthropic-version", "2023-06-01".to_owned())],
    body,
    reading: || Box::<AnthropicTurn>::default(),
};

/// The longest answer that is asked for.
const MAX_TOKENS: u64 = 16_000;

fn body(asked: &ModelRequest<'_>, model: &str) -> Value {
    let tool = |tool: &Arc<OfferedTool>| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
    json!({
        "model": model,
        "max_tokens": little(asked).unwrap_or(MAX_TOKENS),
        "stream": true,
        "system": asked.system,
        "messages": messages(asked.messages),
        "tools": asked.tools.iter().map(tool).collect::<Vec<_>>(),
    })
}

/// Roles take turns, so what is said behind results goes with them.
fn messages(said: &[Message]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in said {
        let (role, blocks) = blocks(message);
        match messages.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => messages.push((role, blocks)),
        }
    }
    messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    match message {
        Message::User { text: said } => ("user", text(said).into_iter().collect()),
        Message::Model(turn) => {
            let call = |call: &RequestedCall| {
                let input = if call.input.is_object() { call.input.clone() } else { json!({}) };
                json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input})
            };
            ("assistant", text(&turn.text).into_iter().chain(turn.calls.iter().map(call)).collect())
        }
        Message::Results { results } => {
            let result = |result: &crate::model::Answered| {
                let wrong = result.how != CallOutcome::Allowed;
                json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": wrong})
            };
            ("user", results.iter().map(result).collect())
        }
    }
}

#[derive(Default)]
struct AnthropicTurn {
    turn: Turn,
    /// Calls by their place in the answer: identifier, name and input as it comes in.
    calls: BTreeMap<u64, (String, String, String)>,
    ended: bool,
}

impl TurnStream for AnthropicTurn {
    fn event(&mut self, data: &Value, heard: &mut dyn FnMut(&str)) -> Result<(), String> {
        let at = tokens(data, "/index").unwrap_or_default();
        match text(data, "/type") {
            Some("message_start") => self.usage(data, "/message/usage"),
            Some("content_block_start") if text(data, "/content_block/type") == Some("tool_use") => {
                let field = |path: &str| text(data, path).unwrap_or_default().to_owned();
                let call = (field("/content_block/id"), field("/content_block/name"), String::new());
                self.calls.insert(at, call);
            }
            Some("content_block_delta") => {
                if let Some(words) = text(data, "/delta/text") {
                    heard(words);
                    self.turn.text.push_str(words);
                }
                if let (Some(piece), Some((_, _, input))) =
                    (text(data, "/delta/partial_json"), self.calls.get_mut(&at))
                {
                    input.push_str(piece);
                }
            }
            Some("message_delta") => self.usage(data, "/usage"),
            Some("message_stop") => self.ended = true,
            Some("error") => {
                return Err(text(data, "/error/message").unwrap_or("an error without words").to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn done(mut self: Box<Self>) -> Option<Turn> {
        let call = |(id, tool, text): (String, String, String)| RequestedCall::new(id, tool, input(&text));
        self.turn.calls = self.calls.into_values().map(call).collect();
        self.ended.then_some(self.turn)
    }
}

impl AnthropicTurn {
    fn usage(&mut self, data: &Value, path: &str) {
        let get = |name: &str| tokens(data, &format!("{path}/{name}"));
        let Usage { input, output, .. } = &mut self.turn.usage;
        if let Some(fresh) = get("input_tokens") {
            let kept = ["cache_read_input_tokens", "cache_creation_input_tokens"].map(get);
            *input = kept.into_iter().flatten().fold(fresh, u64::saturating_add);
        }
        *output = get("output_tokens").unwrap_or(*output);
    }
}
