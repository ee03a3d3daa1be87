//! Meanings of a word where it stands.

use pinfold_shell::{Part, Word};

/// Returns whether a word names files that can be judged by it: it is known, starts in a home directory, is a glob for
/// ordinary names below the folder, or the pipe of a process whose command is judged by itself.
pub(super) fn names_files(word: &Word) -> bool {
    match word.parts.as_slice() {
        [Part::Process] => true,
        [Part::Tilde(_), rest @ ..] => rest.iter().all(|part| matches!(part, Part::Literal(_))),
        parts => match word.as_static() {
            Some(_) => true,
            None => is_plain_glob(parts),
        },
    }
}

/// Returns whether the parts are a relative glob that finds no hidden names: what those hold may be guarded, and a glob
/// does not say their names.
fn is_plain_glob(parts: &[Part]) -> bool {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Glob(glob) => {
                if text.rsplit('/').next().is_some_and(|name| name.starts_with('.')) || glob.contains('/') {
                    return false;
                }
                text.push_str(glob);
            }
            Part::Tilde(_)
            | Part::Parameter { .. }
            | Part::Substitution { .. }
            | Part::Process
            | Part::Arithmetic
            | Part::Brace(_) => return false,
        }
    }
    !text.starts_with('/') && text.split('/').all(|step| step != "..")
}

/// Returns whether a word is known not to become an option: it starts with text, and that is no dash.
pub(super) fn is_no_option(word: &Word) -> bool {
    match word.parts.first() {
        Some(Part::Literal(text)) => !text.starts_with('-') || text == "-" && word.parts.len() == 1,
        Some(Part::Tilde(_) | Part::Process) | None => true,
        Some(
            Part::Glob(_)
            | Part::Parameter { .. }
            | Part::Substitution { .. }
            | Part::Arithmetic
            | Part::Brace(_),
        ) => false,
    }
}
