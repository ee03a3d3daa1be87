//! Variables that change what a program runs, loads, reaches or writes: what an assignment means, by `variables.txt`.
//!
//! A name that is not in the table is judged by its shape: a name that ends like one of a program, a path, an address or
//! options does what it says, and a value that could be one of them is not let through under an unknown name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pinfold_shell::{Assignment, Word};

use super::NotAllowlistable;
use super::name_map::{NameMap, NameSet};

const TABLE: &str = include_str!("variables.txt");

static VARIABLES: LazyLock<Variables> = LazyLock::new(|| Variables::parse(TABLE));

/// The table of variables.
#[derive(Debug, Default)]
struct Variables {
    matters: NameSet<&'static str>,
    /// By the first byte.
    matters_start: BTreeMap<Option<u8>, Vec<&'static str>>,
    /// By the last byte.
    matters_end: BTreeMap<Option<u8>, Vec<&'static str>>,
    harmless: NameSet<&'static str>,
    harmless_start: Vec<&'static str>,
    /// Values with which a variable is harmless.
    harmless_with: NameMap<&'static str, Vec<&'static str>>,
}

impl Variables {
    fn parse(table: &'static str) -> Self {
        let mut own = Self::default();
        for line in table.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("matters") => own.matters.extend(words),
                Some("matters-start") => {
                    for start in words {
                        own.matters_start.entry(start.bytes().next()).or_default().push(start);
                    }
                }
                Some("matters-end") => {
                    for end in words {
                        own.matters_end.entry(end.bytes().last()).or_default().push(end);
                    }
                }
                Some("harmless") => own.harmless.extend(words),
                Some("harmless-start") => own.harmless_start.extend(words),
                Some("harmless-with") => {
                    let values: Vec<_> = words.next().into_iter().flat_map(|all| all.split('|')).collect();
                    own.harmless_with.extend(words.map(|name| (name, values.clone())));
                }
                Some(_) | None => {}
            }
        }
        own
    }

    /// Returns whether a variable is known to be harmless, whatever its value.
    fn is_harmless(&self, name: &str) -> bool {
        self.harmless.contains(name) || self.harmless_start.iter().any(|start| name.starts_with(start))
    }

    /// Returns whether a variable matters, whatever its value.
    fn matters(&self, name: &str) -> bool {
        let starts = self.matters_start.get(&name.bytes().next());
        let ends = self.matters_end.get(&name.bytes().last());
        let ends_so = |end: &&str| name.len() > end.len() && name.ends_with(*end);
        (self.matters.contains(name)
            || starts.is_some_and(|starts| starts.iter().any(|start| name.starts_with(start)))
            || ends.is_some_and(|ends| ends.iter().any(ends_so)))
            && !self.is_harmless(name)
    }

    fn is_harmless_with(&self, name: &str, value: &str) -> bool {
        self.harmless_with.get(name).is_some_and(|values| values.contains(&value))
    }
}

/// Why an assignment in front of a command, or exported to later ones, is not let through by a rule.
pub(super) fn of_assignment(assignment: &Assignment) -> Option<NotAllowlistable> {
    let value = assignment.elements.is_empty().then_some(&assignment.value);
    exclusion(&assignment.name, value.filter(|_| !assignment.appends))
}

/// The same for `NAME=value` as a word, as `env` and `export` take it.
pub(super) fn of_word(word: &Word) -> Option<NotAllowlistable> {
    let (name, _) = word.literal_prefix().split_once('=')?;
    let value = super::words::strip_start(word, name.len() + 1);
    let name = name.trim_end_matches('+');
    if !is_name(name) {
        // `BASH_FUNC_ls%%=() { …; }` defines a function for the next shell.
        return Some(NotAllowlistable::new(
            "env-assignment",
            format!("`{name}=` is no name of a variable, and may be read as code"),
        ));
    }
    exclusion(name, Some(&value))
}

/// Returns whether a word reads `NAME=value`.
pub(super) fn is_assignment(word: &Word) -> bool {
    word.literal_prefix().split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Returns whether a variable of that name matters by itself, whatever its value: one that only the shell sees until it
/// is exported, or that programs see already.
pub(super) fn matters(name: &str) -> bool {
    VARIABLES.matters(name)
}

fn exclusion(name: &str, value: Option<&Word>) -> Option<NotAllowlistable> {
    let text = value.and_then(Word::as_static);
    if name == "NODE_OPTIONS" && text.is_some_and(only_sizes) {
        return None;
    }
    if text.is_some_and(|text| VARIABLES.is_harmless_with(name, text)) {
        return None;
    }
    if !matters(name) && (VARIABLES.is_harmless(name) || text.is_some_and(is_plain)) {
        return None;
    }
    let why = if matters(name) {
        format!("`{name}=` changes what runs, what it loads or where it reaches")
    } else {
        format!("`{name}=` is not a variable that is known to be harmless")
    };
    Some(NotAllowlistable::new("env-assignment", why))
}

/// Options of node that say how much memory it takes and what it warns of.
fn only_sizes(options: &str) -> bool {
    options.split_whitespace().all(|option| {
        matches!(option, "--no-warnings" | "--no-deprecation" | "--trace-warnings" | "--enable-source-maps")
            || option
                .strip_prefix("--max-old-space-size=")
                .is_some_and(|size| size.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// A word that is no path, no option, no address and no command line.
fn is_plain(value: &str) -> bool {
    !value.starts_with(['-', '.'])
        && value.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b',' | b':' | b'+' | b'@' | b'%')
        })
}

fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('+').unwrap_or(name);
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_has_a_kind_and_every_name_one_place() {
        let kinds =
            ["matters", "matters-start", "matters-end", "harmless", "harmless-start", "harmless-with"];
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            assert!(words.next().is_some_and(|kind| kinds.contains(&kind)), "{line}");
            assert!(words.next().is_some(), "{line}");
        }
        assert!(VARIABLES.harmless.is_disjoint(&VARIABLES.matters));
    }

    #[test]
    fn a_variable_matters_by_its_name_or_by_the_start_or_end_of_it() {
        for (name, expected) in [
            ("PATH", true),
            ("LD_X", true),
            ("MY_URL", true),
            ("_URL", true),
            ("GIT_AUTHOR_NAME", false),
            ("LC_ALL", false),
            ("NODE_ENV", false),
            ("x", false),
        ] {
            assert_eq!(matters(name), expected, "{name}");
        }
        let not_allowlistable =
            |line: &str| of_assignment(&pinfold_shell::parse(line).commands[0].assignments[0]).is_some();
        for (line, expected) in [
            ("PAGER= x", false),
            ("PAGER=cat x", false),
            ("PAGER=less x", true),
            ("EDITOR=: x", false),
            ("HUSKY=0 x", false),
            ("HUSKY=2 x", true),
            ("x=1 y", false),
            ("x=/etc y", true),
        ] {
            assert_eq!(not_allowlistable(line), expected, "{line}");
        }
    }
}
