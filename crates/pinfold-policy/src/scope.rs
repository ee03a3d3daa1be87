//! The scope of one agent: four fields, data bound to one call, not process state.

use std::path::PathBuf;

/// The whole confinement of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The folder: writes and shells belong inside it.
    pub root: PathBuf,
    /// The workspace: relative paths start from it, and every result is rendered relative to it.
    pub display_root: PathBuf,
    /// A write outside is refused instead of asked about; so for every subagent.
    pub enforce_write: bool,
    /// Set if a shell may run at all.
    pub allow_bash: bool,
}

/// The access of a session: whether it may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads, and writes inside its line.
    ReadWrite,
    /// The sandbox mode `default-write`: reads, and writes inside its line and in the home directory, but for guarded
    /// places. Its processes write anywhere else too. An armed scope holds all the same.
    DefaultWrite,
    /// Reads only; every write is denied without a question.
    ReadOnly,
}

/// The principal of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// The agent the person started.
    Main,
    /// An agent that another agent started, by name.
    Subagent(String),
}

impl Principal {
    /// The name for messages and records.
    pub fn name(&self) -> &str {
        match self {
            Self::Main => "main",
            Self::Subagent(name) => name,
        }
    }
}

/// The interaction of a session: whether a person can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interaction {
    /// An approver is there to answer.
    Interactive,
    /// No approver: a question is a denial.
    Headless,
}
