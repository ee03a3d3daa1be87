//! [OpenAI Responses](https://platform.openai.com/docs/api-reference/responses-streaming).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Dialect, TurnStream, input, little, text, tokens};
use crate::model::{Message, ModelRequest, OfferedTool, RequestedCall, Turn};

pub(crate) const DIALECT: Dialect = Dialect {
    name: "openai",
    key: "OPENAI_API_KEY",
    key_is_needed: true,
    base: "OPENAI_BASE_URL",
    usual_base: "https://api.openai.com/v1",
    url: |base, _| format!("{base}/responses"),
    headers: |key| vec![("authorization", format!("Bearer {key}"))],
    body,
    reading: || Box::<ResponsesTurn>::default(),
};

fn body(asked: &ModelRequest<'_>, model: &str) -> Value {
    let tool = |tool: &Arc<OfferedTool>| {
        json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema,
               "strict": false})
    };
    let mut body = json!({
        "model": model,
        "stream": true,
        // Nothing is kept there: each request says all that was said.
        "store": false,
        "instructions": asked.system,
        "input": asked.messages.iter().flat_map(items).collect::<Vec<_>>(),
        "tools": asked.tools.iter().map(tool).collect::<Vec<_>>(),
    });
    if let (Some(most), Some(body)) = (little(asked), body.as_object_mut()) {
        body.insert("max_output_tokens".to_owned(), most.into());
    }
    body
}

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Model(turn) => {
            let said = (!turn.text.is_empty()).then(|| json!({"role": "assistant", "content": turn.text}));
            let call = |call: &RequestedCall| {
                json!({"type": "function_call", "call_id": call.id, "name": call.tool,
                       "arguments": call.input.to_string()})
            };
            said.into_iter().chain(turn.calls.iter().map(call)).collect()
        }
        Message::Results { results } => results
            .iter()
            .map(
                |result| json!({"type": "function_call_output", "call_id": result.id, "output": result.text}),
            )
            .collect(),
    }
}

#[derive(Default)]
struct ResponsesTurn {
    turn: Turn,
    ended: bool,
}

impl TurnStream for ResponsesTurn {
    fn event(&mut self, data: &Value, heard: &mut dyn FnMut(&str)) -> Result<(), String> {
        match text(data, "/type") {
            Some("response.output_text.delta") => {
                let words = text(data, "/delta").unwrap_or_default();
                heard(words);
                self.turn.text.push_str(words);
            }
            Some("response.output_item.done") if text(data, "/item/type") == Some("function_call") => {
                let field = |name: &str| text(data, name).unwrap_or_default();
                let (id, tool) = (field("/item/call_id"), field("/item/name"));
                self.turn.calls.push(RequestedCall::new(id, tool, input(field("/item/arguments"))));
            }
            Some("response.completed" | "response.incomplete") => {
                let get = |name: &str| tokens(data, &format!("/response/usage/{name}")).unwrap_or_default();
                self.turn.usage.input = get("input_tokens");
                self.turn.usage.output = get("output_tokens");
                self.ended = true;
            }
            Some("response.failed" | "error") => {
                let said = ["/response/error/message", "/message", "/error/message"];
                let why = said.iter().find_map(|path| text(data, path));
                return Err(why.unwrap_or("an error without words").to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn done(self: Box<Self>) -> Option<Turn> {
        self.ended.then_some(self.turn)
    }
}
