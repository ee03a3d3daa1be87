//! Reading what agents send.

use serde_json::{Map, Value};

use crate::event::UnreadableHookInput;

/// The longest input that is read: longer than any call that an agent was seen to send, shorter than what makes a hook
/// slow.
pub(crate) const MAX_INPUT_BYTES: usize = 16 << 20;

/// An object of an agent.
pub(crate) struct AgentObject {
    pub(crate) agent: &'static str,
    fields: Map<String, Value>,
}

impl AgentObject {
    pub(crate) fn read(agent: &'static str, input: &[u8]) -> Result<Self, UnreadableHookInput> {
        let bad = |what: String| UnreadableHookInput { agent, what };
        if input.len() > MAX_INPUT_BYTES {
            return Err(bad(format!("it is longer than {MAX_INPUT_BYTES} bytes")));
        }
        match serde_json::from_slice(input) {
            Ok(Value::Object(fields)) => Ok(Self { agent, fields }),
            Ok(_) => Err(bad("it is JSON, and no object".to_owned())),
            Err(e) => Err(bad(format!("it is not JSON: {e}"))),
        }
    }

    pub(crate) fn bad(&self, what: impl Into<String>) -> UnreadableHookInput {
        UnreadableHookInput { agent: self.agent, what: what.into() }
    }

    /// A text that has to be there.
    pub(crate) fn text(&self, field: &str) -> Result<&str, UnreadableHookInput> {
        match self.fields.get(field) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            Some(Value::String(_)) => Err(self.bad(format!("`{field}` is empty"))),
            Some(_) => Err(self.bad(format!("`{field}` is no text"))),
            None => Err(self.bad(format!("`{field}` is missing"))),
        }
    }

    /// A text that may be missing; something else in its place is an error.
    pub(crate) fn maybe_text(&self, field: &str) -> Result<Option<&str>, UnreadableHookInput> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(field).map(Some),
        }
    }

    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// A number of milliseconds, if it is one.
    pub(crate) fn ms(&self, field: &str) -> u64 {
        self.fields.get(field).and_then(Value::as_u64).unwrap_or_default()
    }
}
