//! Outcomes of permitted operations.

use crate::refusal::{Refusal, RefusalCode};

/// The outcome of a permitted operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As the call wanted.
    Done,
    /// Not as the call wanted; the failure says how far it came.
    Failed(Failure),
}

/// Why a permitted deed did not come to its end. Nothing was changed unless the message says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Which failure.
    pub code: RefusalCode,
    /// The path it is about, as the caller knows it.
    pub path: Option<String>,
    /// The failure, in one clause.
    pub message: String,
    /// The alternative.
    pub hint: String,
}

impl Failure {
    /// A failure about `path`.
    pub fn with_path(
        code: RefusalCode,
        path: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { code, path: Some(path.to_owned()), message: message.into(), hint: hint.into() }
    }

    /// A failure that is not about a place.
    pub fn plain(code: RefusalCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, path: None, message: message.into(), hint: hint.into() }
    }

    /// A failure about the input, not about a place.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::plain(RefusalCode::InvalidInput, message, hint)
    }

    /// The same in the envelope of every no.
    pub fn into_refusal(self, tool: &str) -> Refusal {
        Refusal::plain(self.code, tool, self.path, &self.message, &self.hint)
    }
}
