//! Why a declared scope says no.

use super::terminal::Unauditable;
use crate::source::Source;

/// A no of a declared scope: final, whatever rules, modes and persons say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeViolation {
    /// Why.
    pub why: ScopeViolationReason,
    /// The key that says so: `tools.terminal.allowed_paths`.
    pub list: String,
    /// Places where the operation is allowed, as the person wrote them. Empty when no list names one, or none is allowed.
    pub allowed: Vec<String>,
    /// Position of the scope in the settings.
    pub source: Source,
}

/// Reason why a declared scope says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeViolationReason {
    /// The tool is switched off.
    Off,
    /// The path is under no entry of an allowed list.
    Outside,
    /// The path is under this entry of a denied list.
    Denied(String),
    /// A pattern in the path can lead under this entry of a denied list.
    MayReach(String),
    /// The whole of a folder would be taken, and this entry of a denied list lies in it.
    Holds(String),
    /// The path does not resolve.
    Unknown,
    /// This argument may be a path, and is none.
    NoPath(String),
    /// The effect of the MCP operation is unknown.
    UnknownOperation,
    /// The text cannot be audited.
    Unauditable(Unauditable),
}

impl ScopeViolationReason {
    /// Why, in one clause.
    pub fn clause(&self) -> String {
        match self {
            Self::Off => "the tool is switched off".to_owned(),
            Self::Outside => "the path is outside the allowed places".to_owned(),
            Self::Denied(entry) => format!("the path is under the denied `{entry}`"),
            Self::MayReach(entry) => format!("the pattern can lead under the denied `{entry}`"),
            Self::Holds(entry) => format!("the denied `{entry}` lies in the folder"),
            Self::NoPath(field) => format!("`{field}` may be a path, and is none"),
            Self::Unknown => "it is not known where the path leads".to_owned(),
            Self::UnknownOperation => "it is not known whether the operation reads or writes".to_owned(),
            Self::Unauditable(what) => format!("{} cannot be audited", what.clause()),
        }
    }
}

impl ScopeViolation {
    /// Returns an alternative, for the model.
    pub fn hint(&self) -> &'static str {
        match &self.why {
            ScopeViolationReason::Off => "use another tool, or ask the user",
            ScopeViolationReason::Outside if self.allowed.is_empty() => {
                "no path is allowed here; ask the user"
            }
            ScopeViolationReason::Outside | ScopeViolationReason::Unknown => {
                "try a path under one of the allowed roots, or ask the user"
            }
            ScopeViolationReason::Denied(_)
            | ScopeViolationReason::MayReach(_)
            | ScopeViolationReason::Holds(_) => {
                "leave that place alone; name other paths one by one, or ask the user"
            }
            ScopeViolationReason::NoPath(_) => "give paths as strings, or ask the user",
            ScopeViolationReason::UnknownOperation => {
                "use an operation that says whether it reads or writes, or ask the user"
            }
            ScopeViolationReason::Unauditable(_) => {
                "write plain words, or put the logic into a script under an allowed root and run that"
            }
        }
    }
}
