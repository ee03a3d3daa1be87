//! [OpenAI Chat Completions](https://platform.openai.com/docs/api-reference/chat-streaming), which many servers of one's own
//! speak too.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Dialect, TurnStream, input, little, text, tokens};
use crate::model::{Message, ModelRequest, OfferedTool, RequestedCall, Turn};

pub(crate) const DIALECT: Dialect = Dialect {
    name: "chat",
    key: "OPENAI_API_KEY",
    key_is_needed: false,
    base: "OPENAI_BASE_URL",
    usual_base: "https://api.openai.com/v1",
    url: |base, _| format!("{base}/chat/completions"),
    headers: |key| vec![("authorization", format!("Bearer {key}"))],
    body,
    reading: || Box::<ChatTurn>::default(),
};

fn body(asked: &ModelRequest<'_>, model: &str) -> Value {
    let tool = |tool: &Arc<OfferedTool>| {
        let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
        json!({"type": "function", "function": function})
    };
    let briefing = json!({"role": "system", "content": asked.system});
    let messages: Vec<Value> =
        std::iter::once(briefing).chain(asked.messages.iter().flat_map(messages)).collect();
    let mut body = json!({
        "model": model,
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": messages,
    });
    let Some(more) = body.as_object_mut() else { return body };
    // Some servers take no empty list.
    if !asked.tools.is_empty() {
        more.insert("tools".to_owned(), asked.tools.iter().map(tool).collect());
    }
    if let Some(most) = little(asked) {
        more.insert("max_completion_tokens".to_owned(), most.into());
    }
    body
}

fn messages(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Model(turn) => {
            let call = |call: &RequestedCall| {
                let function = json!({"name": call.tool, "arguments": call.input.to_string()});
                json!({"id": call.id, "type": "function", "function": function})
            };
            let mut said = json!({"role": "assistant", "content": turn.text});
            if let (false, Some(said)) = (turn.calls.is_empty(), said.as_object_mut()) {
                said.insert("tool_calls".to_owned(), turn.calls.iter().map(call).collect());
            }
            vec![said]
        }
        Message::Results { results } => results
            .iter()
            .map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text}))
            .collect(),
    }
}

#[derive(Default)]
struct ChatTurn {
    turn: Turn,
    /// Calls by their place: identifier, name and input as they come in.
    calls: BTreeMap<u64, (String, String, String)>,
    ended: bool,
}

impl TurnStream for ChatTurn {
    fn event(&mut self, data: &Value, heard: &mut dyn FnMut(&str)) -> Result<(), String> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(text(error, "/message").unwrap_or("an error without words").to_owned());
        }
        if let Some(words) = text(data, "/choices/0/delta/content") {
            heard(words);
            self.turn.text.push_str(words);
        }
        let pieces = data.pointer("/choices/0/delta/tool_calls").and_then(Value::as_array);
        for piece in pieces.into_iter().flatten() {
            let known = u64::try_from(self.calls.len()).unwrap_or(u64::MAX);
            let at = tokens(piece, "/index").unwrap_or(known);
            let (id, name, arguments) = self.calls.entry(at).or_default();
            for (into, path) in [(id, "/id"), (name, "/function/name"), (arguments, "/function/arguments")] {
                into.push_str(text(piece, path).unwrap_or_default());
            }
        }
        self.ended |= text(data, "/choices/0/finish_reason").is_some();
        if let Some(input) = tokens(data, "/usage/prompt_tokens") {
            self.turn.usage.input = input;
            self.turn.usage.output = tokens(data, "/usage/completion_tokens").unwrap_or_default();
        }
        Ok(())
    }

    fn done(mut self: Box<Self>) -> Option<Turn> {
        for (at, (id, tool, text)) in self.calls {
            // Some servers name no calls.
            let id = if id.is_empty() { format!("call-{at}") } else { id };
            self.turn.calls.push(RequestedCall::new(id, tool, input(&text)));
        }
        self.ended.then_some(self.turn)
    }
}
