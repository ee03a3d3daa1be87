//! Rules and policies from text.

use std::path::Path;

use pinfold::policy::{Bases, Effect, Layer, Mode, Policy, Rule, Source, SourcedRule};

/// A rule of the user.
///
/// # Panics
/// When the text is no rule.
pub fn rule(effect: Effect, text: &str) -> SourcedRule {
    let rule = Rule::parse(text).unwrap_or_else(|bad| panic!("{text}: {bad}"));
    SourcedRule { effect, rule, source: Source::plain(Layer::User) }
}

/// The folders that paths of rules start from: the project, and no home.
pub fn bases(folder: &Path) -> Bases {
    Bases { cwd: folder.to_owned(), project: folder.to_owned(), home: Vec::new() }
}

/// `policy` in this mode, with these rules of the user.
///
/// # Panics
/// When a text is no rule.
pub fn policy_with(policy: Policy, mode: Mode, rules: &[(Effect, &str)], bases: &Bases) -> Policy {
    let rules = rules.iter().map(|(effect, text)| rule(*effect, text));
    let mut policy = policy.with_rules(rules, bases);
    policy.mode = mode;
    policy
}
