//! Rules and sandbox settings of another agent, told as changes to ours.
//!
//! Each thing that an agent's file says about what may happen becomes a finding: taken as it is, narrowed, or left out with
//! the reason. Promise: nothing that is taken allows more here than it does there; what denies there denies here at
//! least as much, or is told as left out. What switches a line off altogether is never taken.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod patterns;

use std::borrow::Cow;

use pinfold_policy::Layer;
use pinfold_policy::rule::{Effect, Rule};
use pinfold_policy::settings::{SettingsChange, edited};
use serde_json::Value;

use crate::jsonc;

/// The result for one setting of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Taken over with the same meaning.
    Taken,
    /// Taken over with a stricter meaning.
    Narrowed,
    /// Not taken over.
    LeftOut,
}

impl Outcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Narrowed => "narrowed",
            Self::LeftOut => "left out",
        }
    }
}

/// One thing that a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Position: `permissions.allow[2]`.
    pub at: String,
    /// Text of the setting.
    pub said: String,
    /// The result.
    pub outcome: Outcome,
    /// Why, where it was not simply taken.
    pub why: Cow<'static, str>,
    /// Changes to our settings.
    pub changes: Vec<SettingsChange>,
}

/// A file of an agent.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// The layer of our settings that it corresponds to.
    pub layer: Layer,
    /// Name of the file, which tells its format.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Why a file was not understood.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotRead(pub(crate) String);

/// The agents whose rules can be taken over.
pub const IMPORTED: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Translates a file of an agent into our settings.
///
/// # Errors
/// When the file, or the agent, is not understood.
pub fn import(agent: &str, file: File<'_>) -> Result<Vec<Finding>, NotRead> {
    let mut findings = match agent {
        "claude" => claude::findings(file),
        "codex" => codex::findings(file),
        "gemini" => gemini::findings(file),
        "opencode" => opencode::findings(file),
        other => Err(NotRead(format!("rules of `{other}` cannot be taken over"))),
    }?;
    for finding in &mut findings {
        finding.can_be_written(file.layer);
    }
    Ok(findings)
}

impl Finding {
    /// Leaves out a value that a settings file of ours would not take: a place with a NUL byte in its name.
    fn can_be_written(&mut self, layer: Layer) {
        let written = edited(None, layer, &"settings.json".into(), &self.changes);
        if let Err(bad) = written {
            self.outcome = Outcome::LeftOut;
            self.why = bad.bad.first().map_or_else(String::new, |bad| bad.what.clone()).into();
            self.changes.clear();
        }
    }
}

/// A JSON file as a value.
pub(crate) fn json(text: &str) -> Result<Value, NotRead> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let root = jsonc::parsed(text).map_err(NotRead)?;
    match root.to_serde_value() {
        Some(value @ Value::Object(_)) => Ok(value),
        _ => Err(NotRead("it is no object".to_owned())),
    }
}

/// Findings, while a file is gone through.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn taken(&mut self, at: &str, said: &str, changes: Vec<SettingsChange>) {
        self.push(at, said, Outcome::Taken, "".into(), changes);
    }

    fn narrowed(
        &mut self,
        at: &str,
        said: &str,
        why: impl Into<Cow<'static, str>>,
        changes: Vec<SettingsChange>,
    ) {
        self.push(at, said, Outcome::Narrowed, why.into(), changes);
    }

    fn left_out(&mut self, at: &str, said: &str, why: impl Into<Cow<'static, str>>) {
        self.push(at, said, Outcome::LeftOut, why.into(), Vec::new());
    }

    /// Reports the keys that are not looked at.
    fn others(&mut self, object: &Value, known: &[&str], at: &str) {
        for key in object.as_object().into_iter().flatten().map(|(key, _)| key) {
            if !known.contains(&key.as_str()) {
                let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                self.left_out(&at, "…", NOT_A_RULE);
            }
        }
    }

    fn push(
        &mut self,
        at: &str,
        said: &str,
        outcome: Outcome,
        why: Cow<'static, str>,
        changes: Vec<SettingsChange>,
    ) {
        let (at, said) = (at.to_owned(), said.to_owned());
        self.0.push(Finding { at, said, outcome, why, changes });
    }
}

/// For keys that are about other things.
const NOT_A_RULE: &str = "it says nothing about what may happen, or nothing that is understood here";
/// For what would switch everything off.
pub(crate) const NEVER: &str = "a line that is switched off is not taken over";

/// Rules from texts that are known to be rules; `None` where one is none, or would hold nothing here.
fn rules(effect: Effect, texts: &[String]) -> Option<Vec<SettingsChange>> {
    texts
        .iter()
        .map(|text| Rule::parse_written(text).ok().map(|rule| SettingsChange::Add(effect, rule)))
        .collect()
}

/// A value in a few words.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The entries of a list with where each stands; other values are told as not understood.
fn entries<'v>(value: &'v Value, at: &str, findings: &mut Findings) -> Vec<(String, &'v str)> {
    let Some(list) = value.as_array() else {
        if !value.is_null() {
            findings.left_out(at, &shown(value), "it is no list");
        }
        return Vec::new();
    };
    let mut texts = Vec::new();
    for (number, entry) in list.iter().enumerate() {
        let at = format!("{at}[{number}]");
        match entry.as_str() {
            Some(text) => texts.push((at, text)),
            None => findings.left_out(&at, &shown(entry), "it is no text"),
        }
    }
    texts
}
