//! Errors of lines.

/// The reason for which a line has no answer, in one clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadLine(pub(super) String);
