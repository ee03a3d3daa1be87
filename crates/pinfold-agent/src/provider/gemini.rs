//! [Gemini](https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Dialect, TurnStream, little, text, tokens};
use crate::model::{Message, ModelRequest, OfferedTool, RequestedCall, Turn};

pub(crate) const DIALECT: Dialect = Dialect {
    name: "gemini",
    key: "GEMINI_API_KEY",
    key_is_needed: true,
    base: "GEMINI_BASE_URL",
    usual_base: "https://generativelanguage.googleapis.com",
    url: |base, model| format!("{base}/v1beta/models/{model}:streamGenerateContent?alt=sse"),
    headers: |key| vec![("x-goog-api-key", key.to_owned())],
    body,
    reading: || Box::<GeminiTurn>::default(),
};

fn body(asked: &ModelRequest<'_>, _: &str) -> Value {
    let tool = |tool: &Arc<OfferedTool>| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema});
    let tools: Vec<Value> = asked.tools.iter().map(tool).collect();
    let mut body = json!({
        "systemInstruction": {"parts": [{"text": asked.system}]},
        "contents": contents(asked.messages),
    });
    let Some(more) = body.as_object_mut() else { return body };
    if !tools.is_empty() {
        more.insert("tools".to_owned(), json!([{"functionDeclarations": tools}]));
    }
    if let Some(most) = little(asked) {
        more.insert("generationConfig".to_owned(), json!({"maxOutputTokens": most}));
    }
    body
}

fn contents(messages: &[Message]) -> Vec<Value> {
    let mut calls: &[RequestedCall] = &[];
    let mut contents = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, parts) = match message {
            Message::User { text } => ("user", vec![json!({"text": text})]),
            Message::Model(turn) => {
                calls = &turn.calls;
                let said = (!turn.text.is_empty()).then(|| json!({"text": turn.text}));
                ("model", said.into_iter().chain(turn.calls.iter().map(part)).collect::<Vec<_>>())
            }
            Message::Results { results } => {
                let name = |id: &str| calls.iter().find(|call| call.id == id).map(|call| call.tool.clone());
                let result = |result: &crate::model::Answered| {
                    let name = name(&result.id).unwrap_or_default();
                    json!({"functionResponse": {"name": name, "response": {"result": result.text}}})
                };
                ("user", results.iter().map(result).collect())
            }
        };
        if !parts.is_empty() {
            contents.push(json!({"role": role, "parts": parts}));
        }
    }
    contents
}

fn part(call: &RequestedCall) -> Value {
    let args = if call.input.is_object() { call.input.clone() } else { json!({}) };
    let mut part = json!({"functionCall": {"name": call.tool, "args": args}});
    // What the model thought comes back with the call, or it is not taken.
    if let (Some(echo), Some(part)) = (&call.echo, part.as_object_mut()) {
        part.insert("thoughtSignature".to_owned(), echo.clone());
    }
    part
}

#[derive(Default)]
struct GeminiTurn {
    turn: Turn,
    ended: bool,
}

impl TurnStream for GeminiTurn {
    fn event(&mut self, data: &Value, heard: &mut dyn FnMut(&str)) -> Result<(), String> {
        if let Some(why) = text(data, "/error/message") {
            return Err(why.to_owned());
        }
        if let Some(why) = text(data, "/promptFeedback/blockReason") {
            return Err(format!("the provider does not answer this: {why}"));
        }
        let parts = data.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
            if let (Some(words), false) = (text(part, "/text"), thought) {
                heard(words);
                self.turn.text.push_str(words);
            }
            if let Some(tool) = text(part, "/functionCall/name") {
                // Calls have no names there; no two of one conversation may have one.
                let id = format!("call-{}-{}", self.turn.calls.len(), tokens_of(data));
                let input = part.pointer("/functionCall/args").cloned().unwrap_or_else(|| json!({}));
                let echo = part.get("thoughtSignature").cloned();
                self.turn.calls.push(RequestedCall { echo, ..RequestedCall::new(id, tool, input) });
            }
        }
        if let Some(input) = tokens(data, "/usageMetadata/promptTokenCount") {
            self.turn.usage.input = input;
            let get = |name: &str| tokens(data, &format!("/usageMetadata/{name}")).unwrap_or_default();
            self.turn.usage.output = get("candidatesTokenCount").saturating_add(get("thoughtsTokenCount"));
        }
        self.ended |= text(data, "/candidates/0/finishReason").is_some();
        Ok(())
    }

    fn done(self: Box<Self>) -> Option<Turn> {
        self.ended.then_some(self.turn)
    }
}

/// Grows with the conversation.
fn tokens_of(data: &Value) -> u64 {
    tokens(data, "/usageMetadata/promptTokenCount").unwrap_or_default()
}
