//! The grants and rules that an answer gives beyond the call.

use pinfold_policy::{Grant, GrantOptions, Rule};

use super::answer::Choice;

/// The grants and rules that an answer gives beyond the call.
#[derive(Default)]
pub(crate) struct AnswerGrants {
    pub(crate) grants: Vec<Grant>,
    pub(crate) rules: Vec<Rule>,
}

impl AnswerGrants {
    /// The grants of a choice; `None` when it was not offered.
    pub(crate) fn from_choice(offer: &GrantOptions, choice: &Choice) -> Option<Self> {
        let mut given = Self::default();
        match choice {
            Choice::No { .. } => {}
            Choice::Yes => given.grants.clone_from(&offer.kept),
            Choice::Session { scope, .. } => given.grants.clone_from(&offer.session.get(*scope)?.grants),
            Choice::Always { scopes, .. } => {
                if offer.always.is_empty() || scopes.len() > offer.always.len() {
                    return None;
                }
                for (i, part) in offer.always.iter().enumerate() {
                    let chosen = scopes.get(i).copied().unwrap_or(part.usual);
                    let scope = part.scopes.get(chosen)?;
                    given.grants.extend(scope.grants.iter().cloned());
                    given.rules.extend(scope.rule.clone());
                }
            }
        }
        Some(given)
    }
}
