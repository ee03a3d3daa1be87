//! Settings that were read and do not count, and settings that stand under a former name or with a former word.

use std::fmt;

use serde::Serialize;

use crate::rule::Rule;
use crate::source::{Located, Source};

/// A setting that stands under its former name, or with the former word for its value: it counts, and the person is told the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// The key or word that was read.
    pub from: &'static str,
    /// The key or word for it now.
    pub to: &'static str,
    /// The settings file with the former key or word.
    pub source: Source,
}

impl fmt::Display for Renamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: `{}` is called `{}` now, and still read: write the new name",
            self.source, self.from, self.to
        )
    }
}

/// Something that was said and does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The setting: `allow Bash(make)`, `defaultMode: "bypassPermissions"`.
    pub what: String,
    /// Its position.
    pub source: Source,
    /// Why it does not count.
    pub why: WhyIgnored,
}

/// Reason why something that was said does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyIgnored {
    /// A value that would widen, in a file that is not trusted as it is now.
    NotTrusted,
    /// Only managed settings may say it.
    ManagedOnly,
    /// Only managed settings and the person's own may say it.
    UserOrManagedOnly,
    /// Managed settings allow no other allow rules.
    ManagedRulesOnly,
    /// Managed settings allow no other hooks.
    ManagedHooksOnly,
    /// Managed settings have locked `bypassPermissions`.
    BypassLocked,
    /// A rule that cannot be read, and would only have granted something.
    NoRule {
        /// The text to write instead.
        mend: String,
    },
}

impl fmt::Display for WhyIgnored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotTrusted => "this file is not trusted as it is now",
            Self::ManagedOnly => "only managed settings can say it",
            Self::UserOrManagedOnly => "only user and managed settings can say it",
            Self::ManagedRulesOnly => "managed settings allow no other allow rules",
            Self::ManagedHooksOnly => "managed settings allow no other hooks",
            Self::BypassLocked => "managed settings have locked `bypassPermissions`",
            Self::NoRule { mend } => mend,
        })
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} does not count: {}", self.source, self.what, self.why)
    }
}

impl Ignored {
    pub(super) fn new(key: &str, value: &impl Serialize, source: &Source, why: WhyIgnored) -> Self {
        let value = serde_json::to_string(value).unwrap_or_default();
        Self { what: format!("`{key}: {}`", short(&value)), source: source.clone(), why }
    }

    pub(super) fn allow_rule(rule: &Located<Rule>, why: WhyIgnored) -> Self {
        Self { what: format!("`allow {}`", rule.value), source: rule.source.clone(), why }
    }
}

/// Shortens a text for a message.
fn short(text: &str) -> String {
    const MAX_SHOWN: usize = 120;
    if text.chars().nth(MAX_SHOWN).is_none() {
        text.to_owned()
    } else {
        text.chars().take(MAX_SHOWN).chain(['…']).collect()
    }
}
