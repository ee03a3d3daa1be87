//! Spellings of the words of a kind. Shared with `build.rs`, which makes one automaton of all of them.

/// Every spelling: `words` letter by letter, `names` in small letters, in capitals, or with a capital at the beginning.
pub(crate) fn spellings(words: &[&str], names: &[&str]) -> Vec<String> {
    let plain = words.iter().map(|word| (*word).to_owned());
    let spelled = names.iter().flat_map(|name| {
        let mut title = (*name).to_owned();
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        [(*name).to_owned(), name.to_ascii_uppercase(), title]
    });
    let mut all: Vec<String> = plain.chain(spelled).collect();
    all.sort_unstable();
    all.dedup();
    all
}
