//! The definition of a subagent, as a line or `AGENT.md` gives it: a mode, the tools it may use, those it may not.

use pinfold_policy::Mode;

use super::bad_line::BadLine;
use super::fields::CheckField;
use crate::agents::{FORMS, listed};

/// A subagent's definition.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentDefinition {
    pub(super) mode: Option<Mode>,
    /// Rules as written; `None` when nothing is listed, and then nothing is left out.
    pub(super) allow_tools: Option<Vec<String>>,
    pub(super) deny_tools: Vec<String>,
}

impl AgentDefinition {
    pub(super) fn read(at: &CheckField<'_>) -> Result<Self, BadLine> {
        let mut agent = Self::default();
        for (at, name, value) in at.entries(&["mode", "allow_tools", "deny_tools"])? {
            let at = CheckField(&at, value);
            match name {
                "mode" if value.as_str() == Some("") => {}
                "mode" => agent.mode = Some(at.choice(Mode::parse)?),
                // An empty list is no list; an object that allows nothing does.
                "allow_tools" => {
                    let listed = tools(&at)?;
                    agent.allow_tools = (!listed.is_empty() || value.is_object()).then_some(listed);
                }
                _ => agent.deny_tools = tools(&at)?,
            }
        }
        Ok(agent)
    }
}

/// A list of rules in any of its forms.
fn tools(at: &CheckField<'_>) -> Result<Vec<String>, BadLine> {
    listed(at.1).ok_or_else(|| at.wrong(FORMS))
}
