//! The agents that are known. One file each; one table.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod hermes;
mod qwen;
mod shaped;
mod shimmed;

use std::fmt;

use serde_json::Value;

use crate::answer::{Answer, Said};
use crate::event::{Event, Moment, NotHeard};

/// How one agent talks to its hooks.
pub trait Dialect: fmt::Debug + Sync {
    /// The agent, as a person names it.
    fn name(&self) -> &'static str;

    /// What it told.
    ///
    /// # Errors
    /// What is not understood. [`Dialect::closed`] is the answer to it.
    fn hear(&self, input: &[u8]) -> Result<Event, NotHeard>;

    /// An answer in the words that this agent honours.
    fn say(&self, moment: &Moment, answer: &Answer) -> Said;

    /// The no to whatever was asked, in the form that it honours without knowing which moment it is.
    fn closed(&self, why: &str) -> Said;

    /// Whether a question that it is answered reaches its person, and is a no where there is none.
    fn asks(&self) -> bool;

    /// The variables in which it tells its hooks the folder that it was started for.
    fn folder_variables(&self) -> &'static [&'static str];

    /// A call that would write `path`, as this agent tells its hook: for trying whether the hook answers.
    fn probe(&self, cwd: &str, path: &str) -> Value;
}

/// Every agent that is known.
pub const DIALECTS: &[&dyn Dialect] = &[
    &claude::Claude,
    &codex::Codex,
    &gemini::Gemini,
    &qwen::Qwen,
    &copilot::Copilot,
    &hermes::Hermes,
    &shimmed::OPENCODE,
    &shimmed::PI,
];

/// The dialect of an agent.
pub fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
