//! Our rules and our line, told in the settings of another agent.
//!
//! Each thing that holds here becomes a row: what holds it there (the kernel, the agent's own gate, or nothing), and why. What can
//! be said there is said in files of the agent, each a function from the text that stands there to the text that would.
//! Promise: what is exported lets nothing through that a rule here would not. Where their words would mean more, less is
//! said; and where a rule that denies cannot be said, nothing is allowed that it could be about.

mod claude;
mod codex;
mod command;
pub(crate) mod gemini;
mod opencode;
mod path_rule;
mod text;

use std::borrow::Cow;

use pinfold_policy::rule::Effect;
use pinfold_policy::{Layer, Merged};
use serde_json::Value;

use crate::import::{File, NEVER, NotRead, import};
pub use text::ExportedFile;

/// The means by which the agent enforces a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnforcedBy {
    /// Its sandbox: for commands and all that they start.
    Kernel,
    /// Its own look at each call.
    Gate,
    /// Both, each for what it sees.
    KernelAndGate,
    /// Nothing there.
    Nothing,
}

impl EnforcedBy {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Gate => "gate",
            Self::KernelAndGate => "kernel, gate",
            Self::Nothing => "not there",
        }
    }
}

/// One thing that holds here, and what becomes of it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The rule or setting here: `deny Bash(rm:*)`, `sandbox.mode = workspace-write`.
    pub ours: String,
    /// Its enforcement by the agent.
    pub held: EnforcedBy,
    /// Why, where that is not plain.
    pub why: Cow<'static, str>,
    /// Values that the agent's file needs for it, by pointer.
    needs: Vec<(String, Value)>,
}

/// All that holds here, told for one agent.
#[derive(Debug, Clone)]
pub struct Export {
    /// The result for each rule or setting.
    pub rows: Vec<Row>,
    /// The files that say it.
    pub parts: Vec<ExportedFile>,
}

/// The agents whose settings can be written.
pub const EXPORTED: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Translates the effective rules for one agent. `layer`: whose file it is for, the person's own for everything or for one project.
///
/// # Errors
/// When the agent has no such file.
pub fn export(agent: &str, ours: &Merged, layer: Layer) -> Result<Export, NotRead> {
    match (agent, layer) {
        ("claude", _) => Ok(claude::export(ours, layer)),
        (_, Layer::Local) => Err(NotRead(format!("{agent} has no file of your own for a project"))),
        ("codex", _) => Ok(codex::export(ours)),
        ("gemini", _) => Ok(gemini::export(ours)),
        ("opencode", _) => Ok(opencode::export(ours)),
        (other, _) => Err(NotRead(format!("nothing is written for `{other}`"))),
    }
}

impl Export {
    /// Takes back what a row says where something else stands in the file that it needs. `now` is what the agent would read.
    pub fn settle(&mut self, now: &Value) {
        for row in &mut self.rows {
            if let Some((pointer, _)) =
                row.needs.iter().find(|(pointer, value)| now.pointer(pointer) != Some(value))
            {
                row.held = EnforcedBy::Nothing;
                let key =
                    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
                row.why = format!("`{key}` stands otherwise in the file, and stays").into();
            }
        }
    }
}

/// Returns the lines of an agent's file that switch off its enforcement: with them nothing holds there.
///
/// # Errors
/// When the file is not understood.
pub fn switched_off(agent: &str, file: File<'_>) -> Result<Vec<String>, NotRead> {
    let found = import(agent, file)?;
    Ok(found.into_iter().filter(|f| f.why == NEVER).map(|f| format!("{}: {}", f.at, f.said)).collect())
}

/// Rows, while they are made.
#[derive(Debug, Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn held(
        &mut self,
        ours: impl Into<String>,
        held: EnforcedBy,
        why: impl Into<Cow<'static, str>>,
    ) -> Added<'_> {
        self.0.push(Row { ours: ours.into(), held, why: why.into(), needs: Vec::new() });
        Added(self.0.last_mut())
    }

    fn nothing(&mut self, ours: impl Into<String>, why: impl Into<Cow<'static, str>>) {
        self.held(ours, EnforcedBy::Nothing, why);
    }
}

/// The row that was told just now.
struct Added<'a>(Option<&'a mut Row>);

impl Added<'_> {
    /// Adds a value that the agent's file needs.
    fn needs(self, pointer: &str, value: impl Into<Value>) {
        if let Some(row) = self.0 {
            row.needs.push((pointer.to_owned(), value.into()));
        }
    }
}

/// A rule as it is written in the report.
fn format_rule(effect: Effect, rule: &pinfold_policy::Rule) -> String {
    format!("{} {rule}", effect.as_str())
}

/// For an allow that is not said.
const ASKED: &str = "there it would mean more; it is asked about";
/// For an allow beside a deny that could not be said.
const BESIDE: &str =
    "a rule that denies or asks about the same program cannot be said there; it is asked about";
