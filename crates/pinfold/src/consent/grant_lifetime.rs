//! Lifetimes of grants.

use jiff::Timestamp;
use serde::Serialize;

/// The lifetime of a grant, which never outlasts its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantLifetime {
    /// As long as the session.
    Session,
    /// Until this moment.
    Until(Timestamp),
    /// For this many calls more.
    Calls(u32),
}
