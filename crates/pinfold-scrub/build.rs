//! Makes the automaton that finds the words of all kinds in one pass. Made here it is read-only data of the program: built
//! at each start it would take longer than all else that a short command does.
//!
//! Writes `words.bin` (for each state, for each class of bytes, where the row of the next state begins: 32 bits, the lowest
//! byte first) and `words.rs` (the rest, as constants for `src/words.rs`).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what cannot be built ends the build"
)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::{Builder, DFA};
use aho_corasick::{Anchored, MatchKind, StartKind};

#[path = "src/spelling.rs"]
mod spelling;

fn main() {
    for file in ["build.rs", "src/kinds.txt", "src/spelling.rs"] {
        println!("cargo:rerun-if-changed={file}");
    }
    let data = fs::read_to_string("src/kinds.txt").expect("the data is there");
    let words = words(&data);
    let dfa = Builder::new()
        .match_kind(MatchKind::Standard)
        .start_kind(StartKind::Unanchored)
        .prefilter(false)
        .build(words.iter().map(|(_, word)| word))
        .expect("an automaton of all words");
    let table = States::of(&dfa);
    let to = env::var("OUT_DIR").expect("cargo says where to");
    fs::write(Path::new(&to).join("words.bin"), table.bytes()).expect("the states can be written");
    fs::write(Path::new(&to).join("words.rs"), table.constants(&dfa, &words)).expect("so can the rest");
}

/// All words, each with the place of its kind in the data. What the data means otherwise is for `src/table.rs`.
fn words(data: &str) -> Vec<(usize, String)> {
    let mut kinds: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in data.lines().map(str::trim) {
        if line.starts_with('[') {
            kinds.push(Default::default());
        }
        let Some((key, value)) = line.split_once(char::is_whitespace) else { continue };
        let values = value.split_whitespace();
        match (key, kinds.last_mut()) {
            ("words", Some((words, _))) => words.extend(values),
            ("names", Some((_, names))) => names.extend(values),
            _ => {}
        }
    }
    let spelled = |(at, (words, names)): (usize, &(Vec<&str>, Vec<&str>))| {
        spelling::spellings(words, names).into_iter().map(move |word| (at, word)).collect::<Vec<_>>()
    };
    kinds.iter().enumerate().flat_map(spelled).collect()
}

/// The states that can be reached, those where a word ends behind all others.
struct States {
    ids: Vec<StateID>,
    /// For each state, for each byte.
    next: Vec<[u32; 256]>,
    /// The first state where a word ends.
    first_match: usize,
    /// The class of each byte. Bytes of one class lead to the same states from everywhere.
    classes: [u8; 256],
    /// One byte of each class.
    of_class: Vec<usize>,
}

impl States {
    fn of(dfa: &DFA) -> Self {
        let step = |state, byte| dfa.next_state(Anchored::No, state, byte);
        let start = dfa.start_state(Anchored::No).expect("a search that may begin anywhere");
        let (mut found, mut at) = (vec![start], 0);
        let mut known: std::collections::HashSet<StateID> = [start].into();
        while let Some(&state) = found.get(at) {
            found.extend((0..=u8::MAX).map(|byte| step(state, byte)).filter(|next| known.insert(*next)));
            at += 1;
        }
        assert!(!dfa.is_match(start), "a word that is empty would be found everywhere");
        let (matches, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|state| dfa.is_match(*state));
        let first_match = others.len();
        let states = [others, matches].concat();
        let numbers: HashMap<StateID, u32> = states
            .iter()
            .enumerate()
            .map(|(number, state)| (*state, u32::try_from(number).expect("fewer states than that")))
            .collect();
        let row = |state: &StateID| {
            std::array::from_fn(|byte| numbers[&step(*state, u8::try_from(byte).expect("a byte"))])
        };
        let next: Vec<[u32; 256]> = states.iter().map(row).collect();
        let (mut classes, mut of_class) = ([0; 256], Vec::new());
        let mut columns: HashMap<Vec<u32>, u8> = HashMap::new();
        for (byte, class) in classes.iter_mut().enumerate() {
            let column: Vec<u32> = next.iter().map(|row| row[byte]).collect();
            *class = *columns.entry(column).or_insert_with(|| {
                of_class.push(byte);
                u8::try_from(of_class.len() - 1).expect("no more classes than bytes")
            });
        }
        Self { ids: states, next, first_match, classes, of_class }
    }

    fn bytes(&self) -> Vec<u8> {
        let cells = self.next.iter().flat_map(|row| self.of_class.iter().map(|byte| row[*byte]));
        let stride = u32::try_from(self.of_class.len()).expect("no more classes than bytes");
        cells.flat_map(|number| (number * stride).to_le_bytes()).collect()
    }

    fn constants(&self, dfa: &DFA, words: &[(usize, String)]) -> String {
        let mut text = String::new();
        let mut constant = |about: &str, line: std::fmt::Arguments<'_>| {
            writeln!(text, "/// {about}\n{line}").expect("a text takes everything");
        };
        let start = dfa.start_state(Anchored::No).expect("as above");
        let start = self.ids.iter().position(|state| *state == start).expect("it was the first to be found");
        let (mut ends, mut ending) = (vec![0], Vec::new());
        for state in &self.ids[self.first_match..] {
            for at in 0..dfa.match_len(*state) {
                let (kind, word) = &words[dfa.match_pattern(*state, at).as_usize()];
                ending.push((*kind, word.len()));
            }
            ends.push(ending.len());
        }
        let longest = words.iter().map(|(_, word)| word.len()).max().unwrap_or(0);
        constant(
            "Where the search begins.",
            format_args!("const START: u32 = {};", start * self.of_class.len()),
        );
        constant(
            "The first state where a word ends.",
            format_args!("const FIRST_MATCH: u32 = {};", self.first_match * self.of_class.len()),
        );
        constant(
            "How many classes of bytes there are.",
            format_args!("const CLASSES: u32 = {};", self.of_class.len()),
        );
        constant("The class of each byte.", format_args!("static CLASS: [u8; 256] = {:?};", self.classes));
        constant(
            "Where the words of each state where one ends begin in `ENDING`, and where the last ones end.",
            format_args!("static ENDS: [u16; {}] = {ends:?};", ends.len()),
        );
        constant(
            "Words that end in a state: the number of the kind, and the length in bytes.",
            format_args!("static ENDING: [(u8, u8); {}] = {ending:?};", ending.len()),
        );
        constant(
            "The longest word, in bytes.",
            format_args!("pub(crate) const MAX_WORD_LEN: usize = {longest};"),
        );
        text
    }
}
