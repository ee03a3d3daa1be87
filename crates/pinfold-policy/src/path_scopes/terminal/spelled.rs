//! A word → every text that the shell can make of it, as far as the words and the environment tell.

use pinfold_commands::pieces::PossibleText;
use pinfold_shell::{Part, Word};

use super::variables::{VariableValue, Variables};
use super::{UnauditableReason, marks};

/// Wildcard for an unknown part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// Some characters of one name.
    Names,
    /// Anything, with slashes.
    Anything,
}

/// More texts than that one word hardly has; beyond, it is not followed.
const MAX_TEXTS: usize = 256;

/// Every text that `word` can become, and what of it cannot be told.
pub(super) fn expand(word: &Word, variables: &Variables<'_>) -> (Vec<PossibleText>, Vec<UnauditableReason>) {
    let mut blinds = Vec::new();
    let mut all = vec![PossibleText::default()];
    for part in &word.parts {
        let next = alternatives(part, variables, &mut blinds);
        if all.len().saturating_mul(next.len()) > MAX_TEXTS {
            blinds.push(UnauditableReason::TooMuch);
            return (Vec::new(), blinds);
        }
        all = all.iter().flat_map(|front| next.iter().map(|part| front.with_all(part))).collect();
    }
    (all, blinds)
}

/// Expands one part of a word.
fn alternatives(
    part: &Part,
    variables: &Variables<'_>,
    blinds: &mut Vec<UnauditableReason>,
) -> Vec<PossibleText> {
    let unknown = |blind, blinds: &mut Vec<UnauditableReason>| {
        blinds.push(blind);
        vec![open(Tail::Anything)]
    };
    match part {
        Part::Literal(text) => vec![PossibleText::plain(text)],
        Part::Glob(pattern) => vec![PossibleText::default().with_open(pattern)],
        Part::Arithmetic => vec![open(Tail::Names)],
        Part::Substitution { .. } => unknown(UnauditableReason::Substitution, blinds),
        Part::Process => unknown(UnauditableReason::Process, blinds),
        Part::Tilde(name) => match variables.tilde(name) {
            Some(home) => vec![PossibleText::plain(&home)],
            None => unknown(UnauditableReason::Tilde(name.clone()), blinds),
        },
        Part::Parameter { name, quoted, plain } => match variables.value(name, *quoted, *plain) {
            VariableValue::Number => vec![open(Tail::Names)],
            VariableValue::OneOf(values) => values,
            VariableValue::Perhaps(mut values) => {
                values.extend(unknown(UnauditableReason::Variable(name.clone()), blinds));
                values
            }
            // What is not set here may be set where it runs.
            VariableValue::Unset | VariableValue::Unknown => {
                unknown(UnauditableReason::Variable(name.clone()), blinds)
            }
        },
        Part::Brace(words) if words.is_empty() => unknown(UnauditableReason::TooMuch, blinds),
        Part::Brace(words) => {
            let mut all = Vec::new();
            for word in words {
                // A brace in a brace comes as its own alternatives already; deeper ones are not followed.
                if word.parts.iter().any(|part| matches!(part, Part::Brace(_))) {
                    return unknown(UnauditableReason::TooMuch, blinds);
                }
                let (texts, more) = expand(word, variables);
                blinds.extend(more);
                all.extend(texts);
            }
            all
        }
    }
}

fn open(tail: Tail) -> PossibleText {
    PossibleText::default().with_open(marks(tail))
}

/// Returns the substitutions that would run while the word is expanded.
pub(super) fn substitutions(word: &Word) -> Vec<UnauditableReason> {
    let blind = |part: &Part| match part {
        Part::Substitution { .. } => Some(UnauditableReason::Substitution),
        Part::Process => Some(UnauditableReason::Process),
        Part::Literal(_)
        | Part::Glob(_)
        | Part::Tilde(_)
        | Part::Parameter { .. }
        | Part::Arithmetic
        | Part::Brace(_) => None,
    };
    word.parts.iter().filter_map(blind).collect()
}
