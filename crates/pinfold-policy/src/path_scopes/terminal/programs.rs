//! The folders that the words of a command start from.

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
