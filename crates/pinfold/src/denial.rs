//! One shape for every no, whichever layer said it.
//!
//! It is written for two readers. The person finds in it which rule it was, where that stands, and what could be added;
//! the model is told only what, why and what to do instead ([`Denial::for_model`]): never what would widen the line.

use serde::{Deserialize, Serialize};

use crate::audit::word::FormatWord;
#[cfg(test)]
use crate::refusal::RefusalCode;

/// The layer that denied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DeniedBy {
    /// The gate: a rule, a mode, a safeguard, a declared scope, or an approver.
    Rule,
    /// The kernel, or the watch beside it.
    Kernel,
    /// The way out to the network.
    Proxy,
    /// A socket to a program on this machine.
    Socket,
    /// A word of another version.
    #[default]
    #[serde(other)]
    #[cfg_attr(test, schemars(skip))]
    Other,
}

impl DeniedBy {
    /// The layer in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Kernel => "kernel",
            Self::Proxy => "proxy",
            Self::Socket => "socket",
            Self::Other => "other",
        }
    }
}

/// The prospect of another attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Retry {
    /// Not in this session.
    Never,
    /// Once it was approved.
    Allowed,
    /// Once the call, or what it is about, was changed as the words say.
    #[serde(rename = "after_fix", alias = "mended")]
    AfterFix,
    /// A word of another version.
    #[default]
    #[serde(other)]
    #[cfg_attr(test, schemars(skip))]
    Other,
}

impl Retry {
    /// The prospect in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Allowed => "allowed",
            Self::AfterFix => "after_fix",
            Self::Other => "other",
        }
    }
}

/// One no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Denial {
    /// Its name: `SESSION:CALL`, `SESSION:CALL:N` for what the kernel refused to the shell of a call, `SESSION:kN`
    /// for what it refused to a run, or `SESSION:nN` for what was refused to it on the way to the network. `pinfold
    /// why` takes it.
    pub id: String,
    /// The layer that denied.
    pub layer: DeniedBy,
    /// The subject: the agent, or the program.
    pub who: String,
    /// The attempt: an operation, or the tool.
    pub what: String,
    /// The object: a path, a host, a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Which no, for a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<RefusalCode>"))]
    pub code: Option<FormatWord>,
    /// The rule, guard, list or safeguard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The source of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why, in one clause.
    pub why: String,
    /// The alternative.
    pub instead: String,
    /// The prospect of another attempt.
    pub retry: Retry,
    /// The number of times, where it happened more than once.
    #[serde(default = "once_default", skip_serializing_if = "is_once")]
    pub times: u64,
    /// For the user alone: what could be added so that it passes, from the narrowest to the widest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_allow: Vec<String>,
}

fn once_default() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde hands over")]
fn is_once(times: &u64) -> bool {
    *times <= 1
}

impl Denial {
    /// The same without what would widen the line.
    #[must_use]
    pub fn for_model(self) -> Self {
        Self { to_allow: Vec::new(), ..self }
    }
}
