//! Errors of a `tools:` section.

use std::fmt;

/// A part of a `tools:` section that cannot be taken, with the place and a mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadScope {
    /// Key: `tools.terminal.allowed_paths[2]`.
    pub key: String,
    /// The problem, in one clause.
    pub problem: String,
    /// The text to write instead.
    pub hint: String,
}

impl BadScope {
    pub(super) fn new(key: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into(), hint: hint.into() }
    }
}

impl fmt::Display for BadScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.problem)
    }
}

impl std::error::Error for BadScope {}
