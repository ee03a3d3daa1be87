//! Attempts of a run outside its boundary, and their outcome.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;

use pinfold_sandbox::Limit;
use serde::Serialize;

/// Most different refusals that are remembered; more are only counted.
pub(crate) const MAX_REMEMBERED: usize = 1000;

/// An attempt that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its name in the record, where it has one already. Others are numbered at the end.
    #[serde(skip)]
    pub id: Option<String>,
    /// Verb of the attempt: `write`, `create`, `remove`, `connect`, `reach`, …
    pub tried: &'static str,
    /// Place of it.
    pub place: PathBuf,
    /// The program, if it could be seen.
    pub program: String,
    /// Number of times.
    pub times: u64,
    /// Why not: one clause.
    pub why: String,
    /// The rule that says so, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Place of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Advice to the process inside. Never how the sandbox is widened: that is for the user to decide.
    pub instead: &'static str,
    /// Advice to the user who wants to allow it.
    pub to_allow: Cow<'static, str>,
}

/// A limit that a program met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitMet {
    /// The limit.
    pub limit: Limit,
    /// The program, by its executable.
    pub program: String,
    /// Number of times.
    pub times: u64,
}

/// Something outside that an approver allowed and that was done, or a host that an approver let be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approved {
    /// Verb of the deed: `write`, `create`, `remove`, `reach`, …
    pub did: &'static str,
    /// Place of it.
    pub place: PathBuf,
    /// The program that it was approved for.
    pub program: String,
    /// Number of times.
    pub times: u64,
}

/// Attempts of a run outside its boundary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EscalationOutcome {
    /// Attempts that were refused.
    pub refused: Vec<Refused>,
    /// Attempts that were approved, and done.
    pub approved: Vec<Approved>,
    /// Number of further ones, which are in neither list.
    pub omitted_count: u64,
    /// Limits that processes met.
    pub limits: Vec<LimitMet>,
}

/// Returns the name of a program in characters that can be shown.
pub(crate) fn shown_program(name: &OsStr) -> String {
    name.to_string_lossy().escape_debug().to_string()
}
