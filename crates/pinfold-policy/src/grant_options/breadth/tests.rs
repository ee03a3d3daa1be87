//! The table of words itself.

use std::fmt::Write as _;

use super::*;

const HEADINGS: [(&str, &str); 7] = [
    ("anything", "Start whatever they are told to: nothing standing"),
    ("destroys", "Take away what does not come back, or change the machine: nothing standing"),
    ("reaches", "Talk to other machines: the very command"),
    ("exactly", "Run what stands in files, or change more than they say: the very command"),
    ("ordinary", "Make or change files that they name, or check them: the very command"),
    ("prefix", "Subcommands that may be followed by anything"),
    (
        "open",
        "Programs that may be followed by anything, beside those that [only read](read-only-commands.md)",
    ),
];

/// Returns whether nothing standing may be about a program, or a subcommand of one.
fn is_anything(words: &str) -> bool {
    let words: Vec<Option<&str>> = words.split(' ').map(Some).collect();
    command_breadth(&words).kind == CommandBreadth::Anything
}

fn described() -> String {
    let mut text = String::new();
    for (kind, heading) in HEADINGS {
        let lines = WORDS.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
        let mut words: Vec<String> = Vec::new();
        for line in lines {
            match line.split_once(':') {
                Some((program, rest)) if kind == "prefix" => {
                    let subcommand = |word: &str| format!("{program} {}", word.replace('+', " "));
                    words.extend(rest.split_whitespace().map(subcommand));
                }
                _ => words.extend(line.split_whitespace().map(|word| word.replace('+', " "))),
            }
        }
        if kind == "anything" {
            words.extend(pinfold_commands::launchers().into_iter().filter(|words| is_anything(words)));
        }
        words.sort();
        words.dedup();
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let _ = write!(text, "### {heading}\n\n{}\n\n", words.join(" · "));
    }
    text.trim_end().to_owned() + "\n"
}

#[test]
fn the_page_lists_what_the_table_says() {
    crate::generated_docs::check("grants.md", &described());
}

#[test]
fn every_entry_is_of_a_known_kind_and_stands_once() {
    let mut seen = std::collections::HashSet::new();
    for line in WORDS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap();
        let known = ["anything", "destroys", "reaches", "exactly", "ordinary", "prefix", "open"];
        assert!(known.contains(&kind), "{kind}");
        if kind != "prefix" && kind != "open" {
            words.for_each(|word| assert!(seen.insert(word), "{word} stands twice"));
        }
    }
}

#[test]
fn what_is_left_open_is_known_and_starts_nothing() {
    for name in &TABLE.open {
        assert!(
            pinfold_commands::is_in_catalog(name) || read_only::is_in_catalog(name),
            "nothing is known of {name}"
        );
        assert!(!TABLE.kinds.contains_key(name), "{name}");
    }
}

/// Whatever the tables of programs know to start others or to speak a language is in this table too.
#[test]
fn every_program_that_starts_others_is_named() {
    let mut left = pinfold_commands::launchers();
    left.retain(|name| {
        command_breadth(&name.split(' ').chain(["x"]).map(Some).collect::<Vec<_>>()).kind
            < CommandBreadth::Exactly
    });
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_version_and_a_place_make_no_other_program() {
    for name in
        ["python", "python3", "python3.12", "/usr/bin/python3", "./python", "python.exe", "ruby3.3", "php8"]
    {
        assert_eq!(command_breadth(&[Some(name)]).kind, CommandBreadth::Anything, "{name}");
    }
    assert_eq!(command_breadth(&[None]).kind, CommandBreadth::Anything);
    assert_eq!(command_breadth(&[Some("git"), None]).kind, CommandBreadth::Anything);
    assert_eq!(
        command_breadth(&[Some("git"), Some("-C"), Some("x"), Some("push")]).kind,
        CommandBreadth::Reaches
    );
}

/// A fact about a program that the catalog has stands there alone.
#[test]
fn the_table_repeats_no_kind_of_the_catalog() {
    let derived = |word: &str| match word.split('+').collect::<Vec<_>>().as_slice() {
        [name] => by_catalog(program_kind(name)),
        words => by_catalog(subcommand_kind(words)),
    };
    let twice: Vec<_> = TABLE.kinds.iter().filter(|(word, kind)| derived(word) == Some(**kind)).collect();
    assert_eq!(twice, Vec::new());
    for words in [&["xargs"][..], &["lua5.2"], &["zsh"], &["timeout"], &["docker", "run"], &["uv", "run"]] {
        let words: Vec<Option<&str>> = words.iter().copied().map(Some).collect();
        assert_eq!(command_breadth(&words).kind, CommandBreadth::Anything, "{words:?}");
    }
}
