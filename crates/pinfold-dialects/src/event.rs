//! The parsed input of a hook.

use pinfold_policy::RawCall;
use serde_json::Value;

/// An event that an agent sent to its hook.
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
    /// The kind of event.
    pub moment: Moment,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    /// A session begins: how.
    Start(String),
    /// A session ends: why.
    End(String),
    /// A call is about to be made.
    Before(AgentCall),
    /// The agent is about to ask the person about a call.
    Permission(AgentCall),
    /// A call was made.
    After(AgentCall, CallEnd),
    /// Something that needs no answer.
    Other(String),
}

/// A call of an agent, in our words.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentCall {
    /// The call.
    pub raw: RawCall,
    /// Key of the call within its session, the same before and after it.
    pub key: String,
    /// A part that is not understood, although it may matter. Such a call is not for a rule to allow.
    pub doubt: Option<String>,
    /// Set for a dialog of the agent with its user: a yes of ours must not answer it.
    pub own_dialog: bool,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    /// As it was meant to.
    pub done: bool,
    /// Duration in milliseconds, where the agent sends it.
    pub took_ms: u64,
    /// The error message.
    pub message: Option<String>,
    /// The result, as the agent has it.
    pub result: Value,
}

/// Input of a hook that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what {agent} sent to its hook is not understood: {what}")]
pub struct UnreadableHookInput {
    /// The agent.
    pub agent: &'static str,
    /// The problem, in one clause.
    pub what: String,
}
