//! The wrappers that are taken off before an allow rule looks: they start the rest of their words and change
//! nothing that a rule is about, as long as they are called by their exact grammar.

use super::invocation::Invocation;
use super::program::{InvocationEffects, ProgramKind, StartedWords, find};

/// Folders that only the system's owner can write, for a wrapper that is named by its path.
const SYSTEM: &[&str] = &["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];

/// Returns whether a name is that of a wrapper.
pub(super) fn is_name(name: &str) -> bool {
    find(name).is_some_and(|program| program.kind == ProgramKind::Wrapper)
}

/// Returns whether the invocation is a wrapper by its name.
pub(super) fn is_wrapper(invocation: &Invocation, effects: &InvocationEffects<'_>) -> bool {
    let named = |program: &str| {
        SYSTEM.iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program) == effects.name
    };
    effects.kind == Some(ProgramKind::Wrapper) && invocation.program().is_some_and(named)
}

/// Returns whether a rule may look at what it starts in its place.
pub(super) fn strips(invocation: &Invocation, effects: &InvocationEffects<'_>) -> bool {
    is_wrapper(invocation, effects)
        && effects.exact
        && effects.not_allowlistable.is_empty()
        && effects.paths.is_empty()
        && matches!(effects.started.as_slice(), [inner] if matches!(inner.words, StartedWords::Words(_)) && !inner.open_ended)
}
