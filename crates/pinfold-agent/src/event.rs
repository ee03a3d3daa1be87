//! Events of a run as they happen, for listeners and for the file from which it can go on.

use serde::{Deserialize, Serialize};

use crate::budget::UsageTotals;
use crate::model::{AgentIdentity, Answered, ModelDelay, Turn};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An agent begins.
    Started {
        /// The agent.
        #[serde(flatten)]
        who: AgentIdentity,
        /// Its session in the record.
        session: String,
        /// The mode it is in.
        mode: String,
    },
    /// A message to the agent: its task, a message, results of agents below it.
    Told {
        /// The agent.
        agent: String,
        /// The message.
        text: String,
    },
    /// The agent waits until another one has left a folder.
    Waits {
        /// The agent.
        agent: String,
        /// The folder.
        folder: String,
        /// The agent that works there.
        held_by: String,
    },
    /// Its model takes longer to answer.
    Delayed {
        /// The agent.
        agent: String,
        /// Why, and how long.
        #[serde(flatten)]
        delay: ModelDelay,
    },
    /// Its model has answered.
    Turn {
        /// The agent.
        agent: String,
        /// The turn.
        #[serde(flatten)]
        turn: Turn,
    },
    /// A call has ended.
    Called {
        /// The agent.
        agent: String,
        /// The result.
        #[serde(flatten)]
        result: Answered,
    },
    /// A call waits for a person; it was not made.
    Parked {
        /// The agent.
        agent: String,
        /// The model's own name for it.
        id: String,
        /// Short form of the call.
        short: String,
        /// Why a person is needed.
        why: String,
    },
    /// The conversation was shortened.
    Compacted {
        /// The agent.
        agent: String,
        /// Bytes that are not in the conversation any more.
        bytes: usize,
    },
    /// An agent has ended.
    Ended {
        /// The agent.
        agent: String,
        /// The end.
        #[serde(flatten)]
        ending: AgentResult,
        /// Usage with all agents below it.
        spent: UsageTotals,
    },
}

impl Event {
    /// The agent it is about.
    pub fn agent(&self) -> &str {
        match self {
            Self::Started { who, .. } => &who.id,
            Self::Told { agent, .. }
            | Self::Waits { agent, .. }
            | Self::Delayed { agent, .. }
            | Self::Turn { agent, .. }
            | Self::Called { agent, .. }
            | Self::Parked { agent, .. }
            | Self::Compacted { agent, .. }
            | Self::Ended { agent, .. } => agent,
        }
    }
}

/// The end of an agent, with its results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentResult {
    /// The kind of end.
    pub how: End,
    /// Why, where it did not come to its end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Its last words: what it did, and what is left to others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Calls outside its scope, in the words of the gate: for its parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// Calls that were denied.
    #[serde(default)]
    pub denied: u32,
}

/// The kind of an agent's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The model finished the task.
    Done,
    /// A limit was over.
    OverBudget,
    /// Too many calls were denied, or the run was stopped from outside.
    Stopped,
    /// A call waits for a person.
    NeedsHuman,
    /// Its model did not answer, or it could not begin.
    Failed,
}

impl End {
    /// In a word or two.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::OverBudget => "over budget",
            Self::Stopped => "stopped",
            Self::NeedsHuman => "needs approval",
            Self::Failed => "failed",
        }
    }
}

impl AgentResult {
    /// Returns the report for the parent of the agent.
    pub fn report(&self, who: &AgentIdentity) -> String {
        let mut lines = vec![format!("{} ({}): {}", who.id, who.folder, self.how.as_str())];
        if !self.why.is_empty() {
            lines.push(format!("because: {}", self.why));
        }
        if !self.summary.is_empty() {
            lines.push(self.summary.clone());
        }
        if !self.deferred.is_empty() {
            lines.push("deferred to you, since it lies outside the scope of that agent:".to_owned());
            lines.extend(self.deferred.iter().map(|what| format!("- {what}")));
        }
        lines.join("\n")
    }
}

/// An observer of a run. Called by the threads of all its agents.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn handle_event(&self, event: &Event);

    /// Words of a model, as they come.
    fn handle_text(&self, agent: &AgentIdentity, words: &str) {
        let _ = (agent, words);
    }
}
