//! What happens in a run, as it happens: for whoever follows it, and for the file from which it can go on.

use serde::{Deserialize, Serialize};

use crate::budget::Spent;
use crate::model::{Answered, Turn, Who};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An agent begins.
    Started {
        /// Which.
        #[serde(flatten)]
        who: Who,
        /// Its session in the record.
        session: String,
        /// The mode it is in.
        mode: String,
    },
    /// It is told something: its task, a message, what agents below it came to.
    Told {
        /// Which.
        agent: String,
        /// What.
        text: String,
    },
    /// It waits until another agent has left a folder.
    Waits {
        /// Which.
        agent: String,
        /// The folder.
        folder: String,
        /// Who works there.
        held_by: String,
    },
    /// Its model has answered.
    Turn {
        /// Which.
        agent: String,
        /// What.
        #[serde(flatten)]
        turn: Turn,
    },
    /// A call has ended.
    Called {
        /// Whose.
        agent: String,
        /// How.
        #[serde(flatten)]
        result: Answered,
    },
    /// A call waits for a person; it was not made.
    Parked {
        /// Whose.
        agent: String,
        /// The model's own name for it.
        id: String,
        /// What it is, short.
        short: String,
        /// Why a person is needed.
        why: String,
    },
    /// What it remembers was made shorter.
    Compacted {
        /// Which.
        agent: String,
        /// Bytes that are not in the conversation any more.
        bytes: usize,
    },
    /// An agent has ended.
    Ended {
        /// Which.
        agent: String,
        /// How.
        #[serde(flatten)]
        ending: Ending,
        /// What it used up, with all below it.
        spent: Spent,
    },
}

impl Event {
    /// The agent it is about.
    pub fn agent(&self) -> &str {
        match self {
            Self::Started { who, .. } => &who.id,
            Self::Told { agent, .. }
            | Self::Waits { agent, .. }
            | Self::Turn { agent, .. }
            | Self::Called { agent, .. }
            | Self::Parked { agent, .. }
            | Self::Compacted { agent, .. }
            | Self::Ended { agent, .. } => agent,
        }
    }
}

/// How an agent ended, and what it leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// How.
    pub how: End,
    /// Why, where it did not come to its end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Its last words: what it did, and what is left to others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What lay outside its scope, as the gate told it: for whoever started it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// Calls that were denied.
    #[serde(default)]
    pub denied: u32,
}

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It said that it is done.
    Done,
    /// A limit was over.
    OverBudget,
    /// Too many calls were denied, or somebody stopped it.
    Stopped,
    /// A call waits for a person.
    NeedsHuman,
    /// Its model did not answer, or it could not begin.
    Failed,
}

impl End {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::OverBudget => "over budget",
            Self::Stopped => "stopped",
            Self::NeedsHuman => "needs a person",
            Self::Failed => "failed",
        }
    }
}

impl Ending {
    /// What whoever started the agent is told.
    pub fn told(&self, who: &Who) -> String {
        let mut lines = vec![format!("{} ({}): {}", who.id, who.folder, self.how.words())];
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

/// Whoever follows a run. Called by the threads of all its agents.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn tell(&self, event: &Event);

    /// Words of a model, as they come.
    fn heard(&self, agent: &Who, words: &str) {
        let _ = (agent, words);
    }
}
