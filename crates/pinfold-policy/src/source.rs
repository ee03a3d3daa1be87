//! Sources of rules and settings.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Layers of settings, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Deployed by an organisation; no other layer can undo it.
    Managed,
    /// Flags of the command line: for one run.
    CommandLine,
    /// `.pinfold/settings.local.json` of the project: one person's, not shared.
    Local,
    /// `.pinfold/settings.json` of the project: shared with the repository, trusted only once a person said so.
    Project,
    /// `pinfold/settings.json` of the person, for all projects.
    User,
    /// The definition of an agent.
    Agent,
    /// Given with the call itself, as in a line of `pinfold check`.
    Call,
    /// A person's answer in this session.
    Session,
    /// Part of pinfold.
    BuiltIn,
}

impl Layer {
    /// The layer in a word or two, for messages and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::CommandLine => "command line",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Call => "call",
            Self::Session => "session",
            Self::BuiltIn => "built-in",
        }
    }
}

/// Position of a rule or setting: `project .pinfold/settings.json:7:5`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// The layer.
    pub layer: Layer,
    /// The file, as the person knows it; none for flags, calls and what is built in.
    pub file: Option<Arc<str>>,
    /// Line and column in the file, from 1.
    pub at: Option<(u32, u32)>,
}

impl Source {
    /// A source that is no file.
    pub fn plain(layer: Layer) -> Self {
        Self { layer, file: None, at: None }
    }

    /// A place in a file. `line` and `column` count from 1.
    pub fn in_file(layer: Layer, file: Arc<str>, line: u32, column: u32) -> Self {
        Self { layer, file: Some(file), at: Some((line, column)) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.layer.as_str())?;
        if let Some(file) = &self.file {
            write!(f, " {file}")?;
        }
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        Ok(())
    }
}

/// A value with the place it was written at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Position.
    pub source: Source,
}
