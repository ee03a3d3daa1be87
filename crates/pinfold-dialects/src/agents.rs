//! The agents that are known. One file each; one table.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod hermes;
mod qwen;
mod shaped;
mod shimmed;

use std::fmt;

use serde_json::Value;

use crate::answer::{Answer, HookOutput};
use crate::event::{Event, Moment, UnreadableHookInput};

/// The hook protocol of one agent.
pub trait Dialect: fmt::Debug + Sync {
    /// The agent, as a person names it.
    fn name(&self) -> &'static str;

    /// Parses the input of a hook.
    ///
    /// # Errors
    /// What is not understood. [`Dialect::closed`] is the answer to it.
    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput>;

    /// An answer in the words that this agent honours.
    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput;

    /// The no to whatever was asked, in the form that it honours without knowing which moment it is.
    fn closed(&self, why: &str) -> HookOutput;

    /// Returns `true` if an `ask` answer reaches the user, and denies where there is none.
    fn asks(&self) -> bool;

    /// Returns `true` if a call does not run when the hook has no opinion. Elsewhere the agent goes on by its own rules, and asks
    /// where they ask.
    fn needs_a_yes(&self) -> bool {
        false
    }

    /// The source of the folder that the agent was started for, which no model can choose.
    fn folder(&self) -> Folder;

    /// A call that would write `path`, as this agent tells its hook: for trying whether the hook answers.
    fn probe(&self, cwd: &str, path: &str) -> Value;
}

/// The source of the folder that an agent was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// From the first of these variables that is set.
    Variables(&'static [&'static str]),
    /// From the event with which a session begins alone: later ones name the folder that a command would start in.
    AtStart,
    /// From each event.
    Event,
}

/// Every agent that is known.
pub const DIALECTS: &[&dyn Dialect] = &[
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &qwen::Qwen,
    &copilot::Copilot,
    &cursor::Cursor,
    &hermes::Hermes,
    &shimmed::OPENCODE,
    &shimmed::PI,
];

/// The dialect of an agent.
pub fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
