//! The builtin that a command is, and the folders that its words start from.

use pinfold_shell::{Part, Word};

/// Returns whether a word in front of a builtin only says that a builtin follows.
fn says_nothing(word: &str) -> bool {
    matches!(word, "builtin" | "command" | "exec" | "time" | "-p" | "--")
}

/// The builtin that a command is, behind words that only say so, and its arguments. The name is `None` when it is
/// known only by running, and `/` for a program by its path, which is no builtin.
pub(super) fn builtin(words: &[Word]) -> Option<(Option<&str>, &[Word])> {
    let at = words.iter().take_while(|word| word.as_static().is_some_and(says_nothing)).count();
    let (name, args) = words.get(at..)?.split_first()?;
    let by_path = name.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains('/')));
    Some((if by_path { Some("/") } else { name.as_static() }, args))
}

/// Options that name the folder which other words of the command start from.
const ELSEWHERE: &[&str] = &["-C", "--chdir", "--directory"];

/// The folders that other words of a command may start from, besides the one that it stands in.
pub(super) fn starts_from<'a>(words: &[Option<&'a str>]) -> Vec<&'a str> {
    let behind = words.windows(2).filter_map(|pair| match pair {
        [Some(option), Some(value)] if ELSEWHERE.contains(option) => Some(*value),
        _ => None,
    });
    let glued = words
        .iter()
        .flatten()
        .filter_map(|word| ELSEWHERE.iter().find_map(|option| word.strip_prefix(option)?.strip_prefix('=')));
    behind.chain(glued).collect()
}
