//! Places of our settings, in forms that other agents have.

use pinfold_policy::pattern::Base;
use pinfold_policy::rule::RuleSubject;
use pinfold_policy::{Guards, Level, Rule, ToolName};

/// The operation that a rule for paths is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathOperation {
    Reads,
    Changes,
}

/// A rule for paths: its tool, what that does, where the pattern starts and how it is written.
pub(super) struct ExportedPathRule<'a> {
    pub(super) tool: ToolName,
    pub(super) deed: PathOperation,
    pub(super) base: Base,
    pub(super) anchored: bool,
    pub(super) pattern: &'a str,
}

impl<'a> ExportedPathRule<'a> {
    pub(super) fn from_rule(rule: &'a Rule) -> Option<Self> {
        let RuleSubject::Path(tool, path) = rule.covers() else { return None };
        let pattern = rule.text().split_once('(')?.1.strip_suffix(')')?.trim();
        let deed = if tool.level() == Level::Write { PathOperation::Changes } else { PathOperation::Reads };
        Some(Self { tool: *tool, deed, base: path.base(), anchored: path.is_anchored(), pattern })
    }

    /// Returns `true` if it names one place and everything beneath, by plain names.
    pub(super) fn is_plain(&self) -> bool {
        is_plain(self.pattern.strip_suffix("/**").unwrap_or(self.pattern))
    }

    /// Returns `true` if it holds characters that mean something else in the patterns of `.gitignore`.
    pub(super) fn is_odd(&self) -> bool {
        self.pattern.contains(['[', ']', '\\', '{', '}'])
            || self.pattern.starts_with('!')
            || self.pattern.split('/').any(|part| part == "..")
    }

    /// Returns the path, from the root or from home on, where plain names give it.
    pub(super) fn absolute(&self) -> Option<String> {
        let place = self.pattern.strip_suffix("/**").unwrap_or(self.pattern).trim_end_matches('/');
        match self.base {
            Base::Root | Base::Home if is_plain(place) && place.len() > 2 => Some(place.to_owned()),
            _ => None,
        }
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(['*', '?', '[', ']', '!', '\\', '{', '}', '(', ')', '#'])
        && !text.trim_end_matches('/').split('/').any(|part| part == ".." || part == "**")
}

/// The places at home whose content no command reads here: `~/.ssh`. What lies elsewhere is the system's to hide.
pub(super) fn hidden() -> Vec<String> {
    let all = Guards::default();
    let patterns = all.read_list().iter().map(|guard| guard.pattern().to_owned());
    patterns
        .filter(|pattern| {
            pattern.starts_with("~/") && !pattern.starts_with("~/Library/") && is_plain(pattern)
        })
        .collect()
}
