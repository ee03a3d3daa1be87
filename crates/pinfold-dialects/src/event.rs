//! What an agent told its hook, understood.

use pinfold_policy::RawCall;
use serde_json::Value;

/// What an agent told its hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The agent's name for its session.
    pub session: Option<String>,
    /// The folder that it works in at this moment.
    pub cwd: Option<String>,
    /// The subagent that acts, by its type; none for the main loop.
    pub subagent: Option<String>,
    /// The agent is in a mode of its own that is stricter than its usual one, such as planning: what we let through is
    /// for it to allow.
    pub strict: bool,
    /// What happens.
    pub moment: Moment,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    /// A session begins: how.
    Start(String),
    /// A session ends: why.
    End(String),
    /// A call is about to be made.
    Before(TheirCall),
    /// The agent is about to ask the person about a call.
    Permission(TheirCall),
    /// A call was made.
    After(TheirCall, Ended),
    /// Something that needs no answer.
    Other(String),
}

/// A call of an agent, in our words.
#[derive(Debug, Clone, PartialEq)]
pub struct TheirCall {
    /// The call.
    pub raw: RawCall,
    /// What tells it from the other calls of its session: before and after it is the same.
    pub key: String,
    /// What about it is not understood, although it may matter. Such a call is not for a rule to allow.
    pub doubt: Option<String>,
    /// It is a dialog of the agent's with its person: a yes of ours must not answer it.
    pub own_dialog: bool,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// As it was meant to.
    pub done: bool,
    /// How long it took, where that is said.
    pub took_ms: u64,
    /// What went wrong.
    pub message: Option<String>,
    /// The result, as the agent has it.
    pub result: Value,
}

/// What an agent sent is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what {agent} sent to its hook is not understood: {what}")]
pub struct NotHeard {
    /// The agent.
    pub agent: &'static str,
    /// What is wrong, in one clause.
    pub what: String,
}
