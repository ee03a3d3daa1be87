//! `disguised-flag`: a backslash or a code inside an option or a program's name says nothing to the shell, and hides
//! the word from its reader.

use pinfold_shell::Word;

use super::{Line, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "disguised-flag",
    about: "disguises an option or a program's name by backslashes",
    severity: Severity::Medium,
    hits: &[
        "rm -\\rf x",
        "find . -ex\\ec touch x \\;",
        "r\\m -r\\f x",
        "rm \\-rf x",
        "r\\m x",
        "ls -\\\nla",
        "rm $'-\\x72f' x",
        "$'\\x72m' -f x",
        "git push --fo\\rce",
        "echo $(rm -\\rf x)",
    ],
    passes: &[
        "echo 'a\\-b'",
        "echo a\\ b",
        "\\ls -la",
        "find . -name \\*.rs",
        "find . \\( -name a \\) -exec ls {} \\;",
        "grep '-\\d' f",
        "grep -e \"a\\b\" f",
        "grep -F\\| f",
        "sort -t\\; f",
        "docker run --rm \\\n  -e A=1 x",
        "echo $'a\\tb'",
        "printf '%s\\n' x",
        "sed -e 's/a\\nb/c/' f",
        "./my\\ script -x",
    ],
    blind: "options that a variable holds",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.text.contains('\\')
        && line.script.commands.iter().enumerate().any(|(at, command)| {
            command.words.iter().any(|word| {
                let raw = raw(line, word);
                (is_option(word, raw) && is_disguised(raw))
                    || (is_disguised(raw.trim_start_matches('\\')) && is_program(line, at, word))
            })
        })
}

/// Returns whether a word of a command names a program that it runs.
fn is_program(line: &Line<'_>, at: usize, word: &Word) -> bool {
    line.commands
        .get(at)
        .is_some_and(|claim| claim.readings.iter().any(|reading| reading.words.first() == Some(word)))
}

fn raw<'a>(line: &Line<'a>, word: &Word) -> &'a str {
    line.text.get(word.span.clone()).unwrap_or_default()
}

fn is_option(word: &Word, raw: &str) -> bool {
    known_start(word).starts_with('-') || raw.starts_with("\\-")
}

/// Returns whether a word as it is written says a plain letter, digit or dash by a backslash or a code. Only up to its
/// first expansion: behind that stands other text than the word's own.
fn is_disguised(raw: &str) -> bool {
    let mut rest = raw.chars();
    let mut quote = Quote::None;
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Quote::Codes, '\\') => return true,
            (Quote::Single | Quote::Codes, '\'') | (Quote::Double, '"') => quote = Quote::None,
            (Quote::Single | Quote::Codes, _) => {}
            (_, '\\') => match rest.next() {
                Some('\n') => return rest.next().is_some_and(is_plain),
                // In double quotes the backslash stays.
                Some(next) if quote == Quote::None && is_plain(next) => return true,
                Some(_) => {}
                None => return false,
            },
            (Quote::None, '\'') => quote = Quote::Single,
            (Quote::None, '"') => quote = Quote::Double,
            (Quote::None, '$') if rest.as_str().starts_with('\'') => {
                rest.next();
                quote = Quote::Codes;
            }
            (_, '$' | '`') => return false,
            (_, _) => {}
        }
    }
    false
}

/// Quotes around a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
    /// `$'…'`, where `\\x72` is a letter.
    Codes,
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}
