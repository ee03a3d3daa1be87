//! The grants and rules that an answer gives beyond the call.

use pinfold_policy::{Grant, Offer, Rule};

use super::answer::Choice;

/// The grants and rules that an answer gives beyond the call.
#[derive(Default)]
pub(crate) struct AnswerGrants {
    pub(crate) grants: Vec<Grant>,
    pub(crate) rules: Vec<Rule>,
}

impl AnswerGrants {
    /// The grants of a choice; `None` when it was not offered.
    pub(crate) fn from_choice(offer: &Offer, choice: &Choice) -> Option<Self> {
        let mut given = Self::default();
        match choice {
            Choice::No { .. } => {}
            Choice::Yes => given.grants.clone_from(&offer.kept),
            Choice::Session { width, .. } => given.grants.clone_from(&offer.session.get(*width)?.grants),
            Choice::Always { widths, .. } => {
                if offer.always.is_empty() || widths.len() > offer.always.len() {
                    return None;
                }
                for (i, part) in offer.always.iter().enumerate() {
                    let chosen = widths.get(i).copied().unwrap_or(part.usual);
                    let width = part.widths.get(chosen)?;
                    given.grants.extend(width.grants.iter().cloned());
                    given.rules.extend(width.rule.clone());
                }
            }
        }
        Some(given)
    }
}
