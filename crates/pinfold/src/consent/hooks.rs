//! The points at which programs of the person's choosing are asked before, instead of and after a person.
//!
//! Promise: what comes back is a word for the judge or an answer to a routine question; a hook decides nothing that a
//! deny rule, a safeguard, an ask rule or the line has decided.

use std::fmt::Debug;

use pinfold_policy::{Effect, HookWord, Mode};
use serde_json::Value;

use super::request::Request;
use crate::refusal::Refusal;

/// A call, as hooks are told of it.
#[derive(Debug, Clone, Copy)]
pub struct HookCall<'a> {
    /// The session.
    pub session: &'a str,
    /// The number of the call in its session.
    pub id: u64,
    /// The subagent that calls, if it is one.
    pub agent: Option<&'a str>,
    /// The folder that relative paths start from.
    pub cwd: &'a std::path::Path,
    /// The mode that holds.
    pub mode: Mode,
    /// The tool, as said.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Value,
}

/// What hooks say before a call is judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Before {
    /// The strictest word of those that spoke.
    pub word: Option<HookWord>,
    /// The input to judge and perform in place of the one that was said.
    pub input: Option<Value>,
    /// Text for the model, beside the result.
    pub context: Vec<String>,
    /// The agent should stop altogether, and why.
    pub stop: Option<String>,
}

/// What hooks answer to a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnQuestion {
    /// Yes or no; `None`: somebody else is asked.
    pub yes: Option<bool>,
    /// What the model is told with a no.
    pub message: Option<String>,
    /// The input to judge in place of the one that was said.
    pub input: Option<Value>,
    /// What is granted with a yes.
    pub updates: Vec<Update>,
    /// The agent should stop altogether.
    pub interrupt: bool,
    /// Which hook answered.
    pub by: String,
}

/// What a hook changes with a yes: for the session, and never more than a routine yes could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// More rules.
    AddRules {
        /// What they do.
        effect: Effect,
        /// Their texts.
        rules: Vec<String>,
    },
    /// Another mode.
    SetMode(Mode),
}

/// Whoever runs the hooks of a session.
pub trait Hooks: Debug + Send + Sync {
    /// `PreToolUse`: before the call is judged.
    fn before(&self, call: &HookCall<'_>) -> Before;

    /// `PermissionRequest`: before somebody is asked.
    fn on_question(&self, call: &HookCall<'_>, request: &Request) -> OnQuestion;

    /// `PermissionDenied`: the call was refused in the end. `true` when the agent should try another way at once.
    fn refused(&self, call: &HookCall<'_>, refusal: &Refusal) -> bool;

    /// `PostToolUse`: the deed has ended, with this result. What comes back is text for the model.
    fn after(&self, call: &HookCall<'_>, ended: &str, result: &Value) -> Vec<String>;

    /// Anything else: `SessionStart`, `SessionEnd`, `SubagentStart`, `SubagentStop`, `Notification`. What comes back is
    /// text for the model.
    fn event(&self, session: &str, name: &'static str, detail: &Value) -> Vec<String>;
}
