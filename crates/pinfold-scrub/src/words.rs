//! The words of all kinds, found in one pass. The automaton is made when this crate is built, and is read-only data
//! without a pointer in it: a program that scrubs little pays for the few pages of it that it touches.

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// For each state, for each class of bytes, where the row of the next state begins here.
static NEXT: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/words.bin")).as_chunks().0;

/// Where a search stands: the row of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Search(u32);

impl Search {
    /// Nothing was read yet.
    pub(crate) const START: Self = Self(START);

    /// Reads on. Gives where a word has ended, if one has.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            self.step(*byte);
            if self.0 >= FIRST_MATCH {
                return Some(at + 1);
            }
        }
        None
    }

    fn step(&mut self, byte: u8) {
        let class = CLASS.get(usize::from(byte)).copied().unwrap_or_default();
        let next = NEXT.get(self.0 as usize + usize::from(class));
        self.0 = next.map_or(START, |next| u32::from_le_bytes(*next));
    }

    /// The words that end here: the numbers of their kinds, and their lengths.
    pub(crate) fn ending(self) -> impl Iterator<Item = (usize, usize)> {
        let at = self.0.checked_sub(FIRST_MATCH).map(|behind| (behind / CLASSES) as usize);
        let end = |at: usize| ENDS.get(at).map(|end| usize::from(*end));
        let range = at.and_then(|at| Some(end(at)?..end(at + 1)?));
        let words = range.and_then(|range| ENDING.get(range)).unwrap_or_default();
        words.iter().map(|(kind, len)| (usize::from(*kind), usize::from(*len)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::Table;

    /// Every word that ends somewhere in a text: where, its kind, its length.
    fn found(text: &[u8]) -> Vec<(usize, usize, usize)> {
        let (mut search, mut seen, mut all) = (Search::START, 0, Vec::new());
        while let Some(len) = search.find(text.get(seen..).unwrap_or_default()) {
            seen += len;
            all.extend(search.ending().map(|(kind, len)| (seen, kind, len)));
        }
        all.sort_unstable();
        all
    }

    fn expected(text: &[u8]) -> Vec<(usize, usize, usize)> {
        let kinds = Table::get().kinds.iter().enumerate();
        let words = kinds.flat_map(|(at, kind)| kind.spellings().into_iter().map(move |word| (at, word)));
        let mut all: Vec<_> = words
            .flat_map(|(kind, word)| {
                let ends = (word.len()..=text.len()).filter(|end| text[..*end].ends_with(word.as_bytes()));
                ends.map(|end| (end, kind, word.len())).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn every_word_is_found() {
        for kind in &Table::get().kinds {
            for word in kind.spellings() {
                let text = format!("x{word}");
                assert_eq!(found(text.as_bytes()), expected(text.as_bytes()), "{word}");
                assert!(word.len() <= LONGEST);
            }
        }
    }

    proptest! {
        /// Words that overlap, that lie within each other, that are cut off.
        #[test]
        fn what_is_found_is_what_is_there(
            picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3usize), 0..8),
            odd in any::<Vec<u8>>(),
        ) {
            let words: Vec<String> = Table::get().kinds.iter().flat_map(crate::Kind::spellings).collect();
            let mut text = odd;
            for (word, cut, more) in picks {
                let word = word.get(&words).as_bytes();
                text.extend_from_slice(&word[cut.index(word.len())..]);
                text.truncate(text.len() - more.min(text.len()));
            }
            prop_assert_eq!(found(&text), expected(&text));
        }
    }
}
