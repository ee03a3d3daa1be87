//! Rules for commands, in forms that other agents have.

use pinfold_policy::rule::{Effect, RuleSubject};
use pinfold_policy::{Merged, Rule};

/// The form of a pattern for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternForm {
    /// These words and no others.
    Exact(String),
    /// These words, and one or more behind them.
    More(String),
    /// These words, alone or with others behind them.
    Any(String),
    /// Something else, with `*` and `?`.
    Glob(String),
}

impl PatternForm {
    /// The form of a rule for commands. `None` where words mean something to a shell or to the patterns of others.
    pub(super) fn from_rule(rule: &Rule) -> Option<Self> {
        let RuleSubject::Command(pattern) = rule.covers() else { return None };
        let text = pattern_text(rule);
        if pattern.has_operator() || text.split_whitespace().collect::<Vec<_>>().join(" ") != text {
            return None;
        }
        let form = match (text.strip_suffix(":*"), text.strip_suffix(" *")) {
            (Some(words), _) if !has_wildcard(words) => Self::Any(words.to_owned()),
            (None, Some(words)) if !has_wildcard(words) => Self::More(words.to_owned()),
            (None, None) if !has_wildcard(text) => Self::Exact(text.to_owned()),
            _ => Self::Glob(text.to_owned()),
        };
        form.as_str().bytes().all(is_plain).then_some(form)
    }

    /// Its words, with the wildcards of a glob.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Exact(words) | Self::More(words) | Self::Any(words) | Self::Glob(words) => words,
        }
    }
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Stands for itself in every shell and every pattern, but for the wildcards and the blank between words.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./=@%+, *?".contains(&byte)
}

fn pattern_text(rule: &Rule) -> &str {
    let inner = rule.text().split_once('(').map_or("", |(_, rest)| rest);
    inner.strip_suffix(')').unwrap_or(inner).trim()
}

/// The programs of rules that deny or ask and are not said: nothing about them may be allowed. An empty name is every one.
#[derive(Debug, Default)]
pub(super) struct UnexportedPrograms(Vec<String>);

impl UnexportedPrograms {
    /// Collects the rules that `says` has no words for.
    pub(super) fn collect(ours: &Merged, says: impl Fn(&PatternForm) -> bool) -> Self {
        let narrowing = ours.rules.iter().filter(|rule| rule.effect != Effect::Allow);
        let unsaid = narrowing.filter(|rule| {
            matches!(rule.rule.covers(), RuleSubject::Command(_))
                && !PatternForm::from_rule(&rule.rule).is_some_and(|form| says(&form))
        });
        Self(unsaid.map(|rule| program(&rule.rule)).collect())
    }

    /// Returns `true` if an allow of this form could be about one of them.
    pub(super) fn concerns(&self, allow: &PatternForm) -> bool {
        let program = allow.as_str().split(' ').next().unwrap_or_default();
        self.0.iter().any(|unsaid| unsaid.is_empty() || unsaid == program)
    }
}

/// The first word of a rule for commands; empty where it can be any.
fn program(rule: &Rule) -> String {
    let first = pattern_text(rule).split(' ').next().unwrap_or_default();
    let plain = !first.is_empty() && first.bytes().all(is_plain) && !has_wildcard(first);
    if plain { first.to_owned() } else { String::new() }
}

/// Returns `true` if a rule here allows these words with nothing behind them.
pub(super) fn is_allowed_bare(ours: &Merged, words: &str) -> bool {
    let covers = |rule: &Rule| match rule.covers() {
        RuleSubject::Command(pattern) => pattern.matches_text(words),
        _ => false,
    };
    ours.rules.iter().any(|rule| rule.effect == Effect::Allow && covers(&rule.rule))
}
