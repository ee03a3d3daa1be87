//! The examples of the data, and what has to be true of it.

use std::fmt::Write as _;

use crate::Scrubber;
use crate::engine::Automaton;
use crate::table::{DATA, Table};

/// An example as it stands in the data, and the kind it belongs to.
struct Example {
    kind: &'static str,
    text: String,
    is_hit: bool,
}

fn examples() -> Vec<Example> {
    let mut kind = "";
    let mut all = Vec::new();
    for line in DATA.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            kind = name;
        } else if let Some((key @ ("hit" | "miss"), text)) = line.split_once(char::is_whitespace) {
            all.push(Example { kind, text: unescaped(text.trim_start()), is_hit: key == "hit" });
        }
    }
    all
}

fn unescaped(text: &str) -> String {
    let mut said = String::new();
    let mut chars = text.chars().filter(|c| *c != '¦');
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => said.push('\n'),
                Some('t') => said.push('\t'),
                Some('e') => said.push('\x1b'),
                Some('\\') | None => said.push('\\'),
                Some(other) => said.extend(['\\', other]),
            },
            _ => said.push(c),
        }
    }
    said
}

#[test]
fn every_example_is_as_the_data_says() {
    let mut wrong = Vec::new();
    for Example { kind, text, is_hit } in examples() {
        let plain: String = text.chars().filter(|c| !matches!(c, '⟦' | '⟧')).collect();
        let hits = Scrubber::default().hits(plain.as_bytes());
        let told: Vec<(&str, &str)> = hits.iter().map(|hit| (hit.kind, &plain[hit.range.clone()])).collect();
        let wanted: Vec<(&str, &str)> =
            text.split('⟦').skip(1).map(|part| (kind, part.split_once('⟧').expect("a hit ends").0)).collect();
        assert_eq!(wanted.is_empty(), !is_hit, "{kind}: a hit says what is hit, a miss has nothing: {text}");
        if told != wanted {
            wrong.push(format!("{kind}: {plain:?}: {told:?}, not {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_is_whole_and_has_examples_of_both_sorts() {
    let table = Table::new(DATA).expect("the data can be read");
    assert!(table.kinds.len() > 40);
    let examples = examples();
    for kind in &table.kinds {
        assert!(
            !kind.about.is_empty() && !kind.forms.is_empty() && kind.keywords().count() > 0,
            "{}",
            kind.name
        );
        let is_named = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(kind.name.len() <= 32 && kind.name.chars().all(is_named), "{}", kind.name);
        for is_hit in [true, false] {
            let has = examples.iter().any(|example| example.kind == kind.name && example.is_hit == is_hit);
            assert!(has, "{} has no {}", kind.name, if is_hit { "hit" } else { "miss" });
        }
    }
}

/// A pattern that cannot be compiled would find nothing, and say nothing.
#[test]
fn every_pattern_compiles_small_and_takes_no_empty_text() {
    let table = Table::new(DATA).expect("the data can be read");
    let is_empty = |automaton: &Automaton| automaton.is_match(automaton.end(automaton.start()));
    for kind in &table.kinds {
        for form in &kind.forms {
            let automata = form.automata(&table.parts);
            assert!(automata.is_some(), "{}: {:?}", kind.name, form.automata.get());
            let automata = automata.expect("as said");
            assert!(!is_empty(&automata.body), "{}: {}", kind.name, form.body);
            let memory = automata.body.memory() + automata.lead.as_ref().map_or(0, Automaton::memory);
            assert!(memory < 512 * 1024, "{}: {memory} bytes: {:?} {}", kind.name, form.lead, form.body);
        }
    }
}

/// Scrubbing twice is scrubbing once only if no word reaches into a marker, and what leads to a secret is certain where
/// it ends.
#[test]
fn no_word_reaches_into_a_marker_and_no_lead_looks_ahead() {
    let table = Table::new(DATA).expect("the data can be read");
    for kind in &table.kinds {
        assert!(kind.keywords().all(|word| !word.contains(['[', ']'])), "{}", kind.name);
        let leads = kind.forms.iter().filter_map(|form| form.lead);
        assert!(leads.clone().all(|lead| !lead.contains(r"\b") && !lead.ends_with('$')), "{}", kind.name);
    }
}

/// `docs/scrubbing.md` ends with a table that is written from the data. `PINFOLD_BLESS=1` writes it afresh.
#[test]
fn the_page_tells_every_kind() {
    const MARK: &str = "<!-- from the code -->\n";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scrubbing.md");
    let page = std::fs::read_to_string(&file).expect("the page is there");
    let (front, behind) = page.split_once(MARK).expect("the page has a mark");
    let mut table = String::from("\n| kind | what it is |\n| --- | --- |\n");
    for kind in Scrubber::default().kinds() {
        let _ = writeln!(table, "| `{}` | {} |", kind.name(), kind.description());
    }
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        std::fs::write(&file, format!("{front}{MARK}{table}")).expect("the page can be written");
    } else {
        assert!(behind == table, "run PINFOLD_BLESS=1 cargo test -p pinfold-scrub page");
    }
}

/// The file itself shows no secret to its readers.
#[test]
fn the_data_itself_has_no_secrets() {
    let found = Scrubber::default().hits(DATA.as_bytes());
    let found: Vec<&str> = found.into_iter().map(|hit| &DATA[hit.range]).collect();
    assert!(found.is_empty(), "{found:#?}");
}
