//! The words of all kinds, found in one pass. The automaton is made when this crate is built, and is read-only data
//! without a pointer in it: a program that scrubs little pays for the few pages of it that it touches.

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// For each state, for each class of bytes, where the row of the next state begins here.
static NEXT: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/words.bin")).as_chunks().0;

/// Places at which a text is read side by side. Each step of a search waits for the one before: of four, none for the others.
const LANES: usize = 4;
/// Number of bytes read step by step at first, and the length of the first lanes. They get longer as long as there is no word: where
/// one has ended a block is read twice, which is never longer than what was read before it.
const CLOSE: usize = 256;
const FIRST: usize = 64;
/// The longest lane, and the shortest for which it is worth it: each but the first begins a word's length before its place.
const MAX_LANE: usize = 1024;
const MIN_LANE: usize = 2 * MAX_WORD_LEN;

/// State of a search: the row of its automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordSearch(u32);

impl WordSearch {
    /// Nothing was read yet.
    pub(crate) const START: Self = Self(START);

    /// Reads on. Gives where a word has ended, if one has.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let close = bytes.len().min(CLOSE);
        let (first, mut rest) = bytes.split_at_checked(close)?;
        if let Some(at) = self.find_by_steps(first) {
            return Some(at);
        }
        let mut most = FIRST;
        loop {
            let lane = (rest.len() / LANES).min(most);
            let Some((block, behind)) = rest.split_at_checked(lane * LANES).filter(|_| lane >= MIN_LANE)
            else {
                break;
            };
            let Some(end) = self.passes(block, lane) else { break };
            (*self, rest) = (end, behind);
            most = MAX_LANE.min(most * 2);
        }
        let seen = bytes.len() - rest.len();
        self.find_by_steps(rest).map(|at| seen + at)
    }

    /// Reads lanes of this length side by side. Gives where the search stands then; `None` where a word has ended.
    ///
    /// What is known after a word's length does not depend on what was before, so that a lane can begin anywhere: that much
    /// before its place, where a word that ends is for the lane before it.
    fn passes(self, block: &[u8], lane: usize) -> Option<Self> {
        let mut lanes = block.chunks_exact(lane);
        let (a, b, c, d) = (lanes.next()?, lanes.next()?, lanes.next()?, lanes.next()?);
        let begun = |before: &[u8]| {
            let mut search = Self::START;
            before.iter().rev().take(MAX_WORD_LEN).rev().for_each(|byte| search.step(*byte));
            search
        };
        let mut at = [self, begun(a), begun(b), begun(c)];
        let mut furthest = 0;
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            for (search, byte) in at.iter_mut().zip([a, b, c, d]) {
                search.step(*byte);
            }
            furthest = furthest.max(at.iter().fold(0, |most, search| most.max(search.0)));
        }
        let [.., last] = at;
        (furthest < FIRST_MATCH).then_some(last)
    }

    fn find_by_steps(&mut self, bytes: &[u8]) -> Option<usize> {
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
        found_by(WordSearch::find, text).0
    }

    /// Searches by the given method, and returns the state of the search at the end.
    fn found_by(
        find: impl Fn(&mut WordSearch, &[u8]) -> Option<usize>,
        text: &[u8],
    ) -> (Vec<(usize, usize, usize)>, WordSearch) {
        let (mut search, mut seen, mut all) = (WordSearch::START, 0, Vec::new());
        while let Some(len) = find(&mut search, text.get(seen..).unwrap_or_default()) {
            seen += len;
            all.extend(search.ending().map(|(kind, len)| (seen, kind, len)));
        }
        all.sort_unstable();
        (all, search)
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
                assert!(word.len() <= MAX_WORD_LEN);
            }
        }
    }

    /// A word across every border of lanes and blocks, and of what is read step by step.
    #[test]
    fn a_word_is_found_wherever_it_stands_in_a_long_text() {
        let word =
            Table::get().kinds.iter().flat_map(crate::SecretKind::spellings).max_by_key(String::len).unwrap();
        for len in
            [MIN_LANE * LANES + CLOSE - 1, MIN_LANE * LANES + CLOSE, 1500, 2 * LANES * MAX_LANE + CLOSE + 7]
        {
            for at in 0..len - word.len() {
                let mut text = vec![b' '; len];
                text[at..at + word.len()].copy_from_slice(word.as_bytes());
                assert!(
                    found_by(WordSearch::find_by_steps, &text) == found_by(WordSearch::find, &text),
                    "{at} of {len}"
                );
                assert!(
                    found(&text).iter().any(|(end, _, long)| (*end, *long) == (at + word.len(), word.len()))
                );
            }
        }
    }

    proptest! {
        /// Long texts, of words and pieces of words with more or less between them.
        #[test]
        fn lanes_find_what_steps_find(
            picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..900usize), 0..40),
            filler in any::<u8>(),
        ) {
            let words: Vec<String> = Table::get().kinds.iter().flat_map(crate::SecretKind::spellings).collect();
            let mut text = Vec::new();
            for (word, cut, between) in picks {
                let word = word.get(&words).as_bytes();
                text.extend_from_slice(&word[..cut.index(word.len() + 1)]);
                text.extend(std::iter::repeat_n(filler, between));
            }
            prop_assert_eq!(found_by(WordSearch::find, &text), found_by(WordSearch::find_by_steps, &text));
        }

        /// Words that overlap, that lie within each other, that are cut off.
        #[test]
        fn what_is_found_is_what_is_there(
            picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3usize), 0..8),
            odd in any::<Vec<u8>>(),
        ) {
            let words: Vec<String> = Table::get().kinds.iter().flat_map(crate::SecretKind::spellings).collect();
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
