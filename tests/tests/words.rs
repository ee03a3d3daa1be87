//! The voice of the comments and names, counted: a smoke alarm for words that a stranger has to decode.
//!
//! Measured as in a review beside tokio, rustls, jiff and rustix, whose doc comments begin with a clause in 0 to 4 of a
//! hundred cases and have 0.1 to 0.6 indefinite persons in a thousand words. The limits only ever go down.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// First words of a doc comment that is a clause and no noun phrase or verb.
const CLAUSES: [&str; 9] = ["What", "Who", "Whose", "Whether", "Where", "How", "That", "It", "Those"];
/// Persons that are no role.
const PERSONS: [&str; 6] = ["whoever", "whom", "somebody", "nobody", "anybody", "everybody"];
/// Names of functions that are a preposition, an adverb, or what a voice does.
const NO_VERBS: [&str; 50] = [
    "of",
    "within",
    "beside",
    "beyond",
    "below",
    "above",
    "apart",
    "around",
    "against",
    "upon",
    "without",
    "along",
    "says",
    "said",
    "say",
    "tells",
    "told",
    "tell",
    "hears",
    "heard",
    "hear",
    "speaks",
    "spoken",
    "talks",
    "knocks",
    "knock",
    "word",
    "words",
    "wishes",
    "wish",
    "about",
    "after",
    "at",
    "before",
    "behind",
    "between",
    "by",
    "elsewhere",
    "here",
    "instead",
    "meanwhile",
    "near",
    "on",
    "over",
    "since",
    "there",
    "through",
    "under",
    "via",
    "with",
];

/// Most doc comments in a thousand that begin with a clause.
const MAX_CLAUSES: usize = 1;
/// Most persons without a role in a million words of doc comments.
const MAX_PERSONS: usize = 10;
/// Most names of types that are defined more than twice.
const MAX_TYPES: usize = 0;
/// Most functions that are named by a preposition or by what a voice does.
const MAX_FUNCTIONS: usize = 1;

#[derive(Default)]
struct Counts {
    comments: usize,
    words: usize,
    clauses: BTreeMap<PathBuf, usize>,
    persons: BTreeMap<PathBuf, usize>,
    functions: BTreeMap<String, usize>,
    types: BTreeMap<String, usize>,
}

impl Counts {
    fn read(&mut self, file: &Path, text: &str) {
        let mut in_comment = false;
        for line in text.lines().map(str::trim) {
            let comment = ["///", "//!"].iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim);
            if let Some(comment) = comment {
                let words = || comment.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                self.words += comment.split_whitespace().count();
                let persons = words().filter(|word| PERSONS.contains(&word.to_lowercase().as_str())).count();
                *self.persons.entry(file.to_owned()).or_default() += persons;
                if !in_comment && !comment.is_empty() {
                    self.comments += 1;
                    let is_clause = words().next().is_some_and(|first| CLAUSES.contains(&first));
                    *self.clauses.entry(file.to_owned()).or_default() += usize::from(is_clause);
                }
            }
            in_comment = comment.is_some();
            let mut code =
                line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            while let Some(word) = code.next() {
                match word {
                    "struct" | "enum" | "trait" if comment.is_none() => {
                        let name = code.next().unwrap_or_default();
                        // `"enum": Self::WORDS` of a JSON Schema defines nothing.
                        if name != "Self" && name.starts_with(|c: char| c.is_ascii_uppercase()) {
                            *self.types.entry(name.to_owned()).or_default() += 1;
                        }
                    }
                    "fn" if comment.is_none() => {
                        let name = code.next().unwrap_or_default();
                        if NO_VERBS.contains(&name) {
                            *self.functions.entry(name.to_owned()).or_default() += 1;
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The largest counts first.
fn worst<K: std::fmt::Debug>(counts: &BTreeMap<K, usize>, least: usize) -> String {
    let mut all: Vec<_> = counts.iter().filter(|(_, count)| **count >= least).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let lines: Vec<String> =
        all.iter().take(12).map(|(key, count)| format!("  {count:4} {key:?}\n")).collect();
    lines.concat()
}

#[test]
fn comments_and_names_use_the_words_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut files = Vec::new();
    for krate in fs::read_dir(&root).expect("the crates") {
        sources(&krate.expect("a crate").path().join("src"), &mut files);
    }
    let mut counts = Counts::default();
    for file in &files {
        let text = fs::read_to_string(file).expect("a source file");
        counts.read(file.strip_prefix(&root).unwrap_or(file), &text);
    }
    assert!(counts.comments > 5_000 && counts.words > 50_000, "the sources were found");
    let clauses = counts.clauses.values().sum::<usize>() * 1_000 / counts.comments;
    let persons = counts.persons.values().sum::<usize>() * 1_000_000 / counts.words;
    let types = counts.types.values().filter(|count| **count > 2).count();
    let functions = counts.functions.values().sum::<usize>();
    println!("doc comments that begin with a clause: {clauses} in a thousand\n{}", worst(&counts.clauses, 1));
    println!("persons without a role: {persons} in a million words\n{}", worst(&counts.persons, 1));
    println!("types defined more than twice: {types}\n{}", worst(&counts.types, 3));
    println!("functions named by no verb: {functions}\n{}", worst(&counts.functions, 1));
    let found = [clauses, persons, types, functions];
    let most = [MAX_CLAUSES, MAX_PERSONS, MAX_TYPES, MAX_FUNCTIONS];
    let too_many = found.iter().zip(most).any(|(found, most)| *found > most);
    assert!(!too_many, "clauses, persons, types, functions: {found:?}, where {most:?} are the most");
}
