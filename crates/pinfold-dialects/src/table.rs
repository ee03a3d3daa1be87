//! The tools of an agent as a table: which of ours each is, and what its fields are called.
//!
//! Trap: an agent grows. A field that is not in its row here may be a place or a command, so it raises a doubt; only what
//! is a number or a switch is let go, since it can be neither.

use pinfold_policy::{PathText, RawCall};
use serde_json::{Map, Value};

use crate::event::AgentCall;

/// A tool of an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// Its name there.
    pub(crate) theirs: &'static str,
    /// Its name here.
    pub(crate) ours: &'static str,
    /// Its fields that matter: as they are called there and here.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    /// Its fields that name nothing that is touched.
    pub(crate) aside: &'static [&'static str],
    /// The field that names the folder it runs in.
    pub(crate) cwd: Option<&'static str>,
    /// Switches that take a protection of the agent's own away.
    pub(crate) weakens: &'static [&'static str],
    /// Set for a dialog with the user.
    pub(crate) own_dialog: bool,
}

/// A row with fields of the same names there and here.
pub(crate) const fn tool(
    theirs: &'static str,
    ours: &'static str,
    fields: &'static [(&'static str, &'static str)],
    aside: &'static [&'static str],
) -> Tool {
    Tool { theirs, ours, fields, aside, cwd: None, weakens: &[], own_dialog: false }
}

impl Tool {
    pub(crate) const fn starts_in(self, field: &'static str) -> Self {
        Self { cwd: Some(field), ..self }
    }

    pub(crate) const fn weakened_by(self, switches: &'static [&'static str]) -> Self {
        Self { weakens: switches, ..self }
    }

    pub(crate) const fn is_a_dialog(self) -> Self {
        Self { own_dialog: true, ..self }
    }

    /// The call in our words. `cwd`: the folder that the agent works in.
    pub(crate) fn call(&self, input: &Value, cwd: Option<&str>, key: String) -> AgentCall {
        let mut raw = RawCall { cwd: cwd.map(PathText::new), ..RawCall::new(self.ours, input.clone()) };
        let mut doubt = None;
        if let Value::Object(said) = input {
            let mut ours = Map::new();
            for (field, value) in said {
                match self.fields.iter().find(|(theirs, _)| theirs == field) {
                    Some((_, name)) => {
                        let other =
                            ours.insert((*name).to_owned(), value.clone()).filter(|other| other != value);
                        doubt = doubt.or_else(|| other.map(|_| format!("`{field}` says it another time")));
                    }
                    None if self.cwd == Some(field.as_str()) => raw.cwd = started_in(value, cwd, &mut doubt),
                    None => doubt = doubt.or_else(|| self.doubt(field, value)),
                }
            }
            raw.input = Value::Object(ours);
        }
        AgentCall { raw, key, doubt, own_dialog: self.own_dialog }
    }

    /// Returns the doubt that a field outside the table leaves.
    fn doubt(&self, field: &str, value: &Value) -> Option<String> {
        if self.weakens.contains(&field) {
            let off = matches!(value, Value::Null | Value::Bool(false));
            return (!off).then(|| format!("`{field}` takes a protection of the agent's own away"));
        }
        let plain = matches!(value, Value::Null | Value::Bool(_) | Value::Number(_));
        let known = plain || self.aside.contains(&field);
        (!known).then(|| format!("the field `{}` of {} is not known", shortened(field), self.theirs))
    }
}

/// The folder that a call names for itself, below the one that the agent works in.
fn started_in(value: &Value, cwd: Option<&str>, doubt: &mut Option<String>) -> Option<PathText> {
    match value {
        Value::Null => cwd.map(PathText::new),
        Value::String(folder) if folder.is_empty() => cwd.map(PathText::new),
        Value::String(folder) => {
            let below = |cwd: &str| format!("{}/{folder}", cwd.trim_end_matches('/'));
            let there = cwd.filter(|_| !folder.starts_with('/')).map_or_else(|| folder.clone(), below);
            Some(PathText::new(there))
        }
        _ => {
            *doubt = Some("the folder that it runs in is no text".to_owned());
            cwd.map(PathText::new)
        }
    }
}

/// Renames a field that holds one text, alone or in a list of its own, to the field that holds one. Of
/// several nothing is changed, so that the field stays one that no row knows.
pub(crate) fn one_of_a_list(input: &Value, list: &str, one: &str) -> Value {
    let said = input.get(list);
    let only = match said {
        Some(Value::Array(values)) => values.first().filter(|_| values.len() == 1),
        said => said,
    };
    let mut input = input.clone();
    if let (Some(only @ Value::String(_)), Some(fields)) = (only.cloned().as_ref(), input.as_object_mut())
        && !fields.contains_key(one)
    {
        fields.remove(list);
        fields.insert(one.to_owned(), only.clone());
    }
    input
}

/// A call of a tool that is in no table: it is judged as an unknown tool.
pub(crate) fn unknown(name: &str, input: &Value, cwd: Option<&str>, key: String) -> AgentCall {
    let raw = RawCall { cwd: cwd.map(PathText::new), ..RawCall::new(name, input.clone()) };
    AgentCall { raw, key, doubt: None, own_dialog: false }
}

fn shortened(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Returns the key of a call: its own id where it has one, or its content.
pub(crate) fn key(id: Option<&str>, tool: &str, input: &Value) -> String {
    id.map_or_else(|| format!("{tool} {input}"), str::to_owned)
}
