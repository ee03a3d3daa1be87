//! The interface to a model, or to a script in its place. A conversation in, its next turn out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that a model wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The model's own name for it, by which the result is given back.
    pub id: String,
    /// The tool, as said.
    pub tool: String,
    /// Its input, as said.
    pub input: Value,
    /// Data that its provider wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Value>,
}

impl RequestedCall {
    /// A call with nothing that a provider wants back.
    pub fn new(id: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), tool: tool.into(), input, echo: None }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The model's own name for the call.
    pub id: String,
    /// Short form of the call: `Bash(git diff)`.
    pub short: String,
    /// The outcome.
    #[serde(flatten)]
    pub how: CallOutcome,
    /// Text for the model.
    pub text: String,
}

/// The outcome of a call, for a reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "lowercase")]
pub enum CallOutcome {
    /// Allowed and done.
    Allowed,
    /// Refused.
    Denied {
        /// Code of the refusal.
        code: String,
        /// Why, in one clause.
        why: String,
    },
    /// Allowed, and failed.
    Failed {
        /// Why.
        why: String,
    },
}

impl CallOutcome {
    /// In a word, with the reason behind it.
    pub fn describe(&self) -> String {
        match self {
            Self::Allowed => "ALLOWED".to_owned(),
            Self::Denied { why, .. } => format!("DENIED: {why}"),
            Self::Failed { why } => format!("FAILED: {why}"),
        }
    }
}

/// One piece of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "who", rename_all = "lowercase")]
pub enum Message {
    /// Said to the agent: its task, a message, what agents below it came to.
    User {
        /// The words.
        text: String,
    },
    /// Said by the model.
    Model(Turn),
    /// Results of the calls of the turn before.
    Results {
        /// Of each of them.
        results: Vec<Answered>,
    },
}

/// One turn of a model. Without calls it is done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Its words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The calls that it wants, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// Tokens used.
    #[serde(default)]
    pub usage: Usage,
}

/// Token usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that went in.
    #[serde(default)]
    pub input: u64,
    /// Tokens that came out.
    #[serde(default)]
    pub output: u64,
    /// Money, in millionths of the unit that prices are given in.
    #[serde(default)]
    pub cost: u64,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// A request to a model.
pub struct ModelRequest<'a> {
    /// The asking agent and its folder: for a script.
    pub agent: &'a AgentIdentity,
    /// System prompt.
    pub system: &'a str,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools that it can call.
    pub tools: &'a [Arc<OfferedTool>],
    /// Most tokens for the answer, where that is limited.
    pub max_tokens: Option<u64>,
    /// Returns `true` while the answer is still awaited. A model that is slow looks now and then, and gives up.
    pub is_awaited: &'a (dyn Fn() -> bool + Sync),
    /// Reports that the answer takes longer, and why.
    pub on_delay: &'a (dyn Fn(ModelDelay) + Sync),
}

/// A delay of a model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "delay", rename_all = "snake_case")]
pub enum ModelDelay {
    /// A try failed, and another one follows.
    Retry {
        /// Why it failed.
        why: String,
        /// Wait before the next try, in milliseconds.
        wait_ms: u64,
        /// Number of the next try, from 1.
        next_try: u32,
        /// Number of tries in all.
        tries: u32,
    },
    /// Nothing has come from the provider for a while. Reported once a try.
    Silence {
        /// Its length so far, in milliseconds.
        silent_ms: u64,
        /// Longest silence before the try is given up, in milliseconds.
        limit_ms: u64,
    },
}

/// The agent that a model speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentIdentity {
    /// Its name in this run; no other agent has it.
    pub id: String,
    /// Name that it was started by.
    pub name: String,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// Name of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Number of its ancestors.
    pub depth: u32,
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {mend}")]
pub struct ModelError {
    /// The problem.
    pub what: String,
    /// The remedy.
    pub mend: String,
}

impl ModelError {
    /// Creates an error from the problem and its remedy.
    pub fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), mend: mend.into() }
    }
}

/// One agent's model.
pub trait Model: Send {
    /// The next turn of a conversation. `heard` is given words as they come.
    ///
    /// # Errors
    /// Why there is none; the run ends with that.
    fn answer(&mut self, asked: &ModelRequest<'_>, heard: &mut dyn FnMut(&str)) -> Result<Turn, ModelError>;
}

/// A source of models for agents.
pub trait Models: Send + Sync {
    /// The model of an agent; `named` is what its definition wants.
    ///
    /// # Errors
    /// When there is none of that name.
    fn model(&self, who: &AgentIdentity, named: Option<&str>) -> Result<Box<dyn Model>, ModelError>;
}
