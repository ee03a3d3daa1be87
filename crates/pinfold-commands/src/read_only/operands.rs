//! Operands of a command that only reads.

use pinfold_shell::{Part, Word};

use super::strict::Argument;
use super::words::names_files;
use crate::program::{ReadOnly, Span};
use crate::safeguard::is_root_kind;

/// Returns whether the operands among `arguments`, read from `args`, are of this kind.
pub(super) fn accept(kind: ReadOnly, args: &[Word], arguments: &[Argument<'_>]) -> bool {
    let mut operands = arguments.iter().filter_map(Argument::operand);
    let has = |names: Span| {
        arguments.iter().any(|argument| match argument {
            Argument::Option(name, _) => names.names().any(|wanted| wanted == *name),
            Argument::Operand(_) => false,
        })
    };
    let begins = |verbs: Span| {
        args.first().and_then(Word::as_static).is_some_and(|verb| verbs.names().any(|own| own == verb))
    };
    let none = operands.clone().next().is_none();
    match kind {
        ReadOnly::No | ReadOnly::Own(_) => false,
        ReadOnly::None => none,
        ReadOnly::Text => operands.all(|word| word.as_static().is_some()),
        ReadOnly::Files => operands.all(names_files),
        ReadOnly::Objects => {
            operands.all(|word| names_files(word) && !word.literal_prefix().starts_with('@'))
        }
        ReadOnly::Trees => operands.all(is_narrow_tree),
        ReadOnly::AtMost(most) => {
            operands.clone().count() <= usize::from(most)
                && operands.all(|word| names_files(word) && is_one(word))
        }
        ReadOnly::Starting(first) => {
            operands.all(|word| word.as_static().is_some_and(|text| text.starts_with(first)))
        }
        ReadOnly::Search(instead) => {
            if !has(instead) && operands.next().is_some_and(|pattern| pattern.as_static().is_none()) {
                return false;
            }
            operands.all(is_narrow_tree)
        }
        ReadOnly::Any => operands.all(is_inside),
        ReadOnly::With(options) => (none || has(options)) && operands.all(is_inside),
        ReadOnly::Verb(verbs) => (none || begins(verbs)) && operands.all(is_inside),
        ReadOnly::Needs(verbs) => begins(verbs) && operands.all(is_inside),
    }
}

/// Returns whether a word names files, or folders below which no guarded file of a home lies unnamed.
fn is_narrow_tree(word: &Word) -> bool {
    names_files(word) && !is_root_kind(word, None)
}

/// Returns whether a word stays one word.
fn is_one(word: &Word) -> bool {
    word.as_static().is_some() || !word.parts.iter().any(|part| matches!(part, Part::Glob(_)))
}

/// Returns whether an operand is a revision or a name in the repository, as far as its text says.
fn is_inside(word: &Word) -> bool {
    names_files(word)
        && word
            .as_static()
            .is_none_or(|text| !text.starts_with(['/', '~']) && text.split('/').all(|step| step != ".."))
        && !matches!(word.parts.first(), Some(Part::Tilde(_) | Part::Process))
}
