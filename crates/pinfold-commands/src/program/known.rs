//! Options of a program that are known to do no more than they say: a text that can be proof-read beside its manual.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::read_only;

/// Options of git, by subcommand.
static GIT: LazyLock<HashMap<&'static str, Known>> = LazyLock::new(|| parse(include_str!("git_options.txt")));

/// What is known of one subcommand.
#[derive(Debug, Default)]
struct Known {
    long: HashSet<&'static str>,
    /// Letters without a value.
    plain: HashSet<char>,
    /// Letters behind which the rest of the word is a value.
    valued: HashSet<char>,
}

/// Whether an option of a subcommand of git is known, as it is written without its value: `--amend`, `-a`, `-am`.
pub(super) fn is_known(command: &str, option: &str) -> bool {
    let here = GIT.get(command);
    let lists = || here.into_iter().chain(GIT.get("*"));
    match option.strip_prefix("--") {
        Some("no-index") => false,
        Some(long) => {
            long.starts_with("no-")
                || lists().any(|known| known.long.contains(long))
                || read_only::git_knows_long(command, long)
        }
        None => option.strip_prefix('-').is_some_and(|letters| {
            for letter in letters.chars() {
                if lists().any(|known| known.valued.contains(&letter))
                    || read_only::git_values(command, letter)
                {
                    return true;
                }
                let plain = lists().any(|known| known.plain.contains(&letter));
                if !plain && !read_only::git_knows_letter(command, letter) {
                    return false;
                }
            }
            true
        }),
    }
}

fn parse(text: &'static str) -> HashMap<&'static str, Known> {
    let mut all: HashMap<&'static str, Known> = HashMap::new();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    for (names, options) in lines.filter_map(|line| line.split_once(':')) {
        for name in names.split_whitespace() {
            let known = all.entry(name).or_default();
            options.split_whitespace().for_each(|option| known.add(option));
        }
    }
    all
}

impl Known {
    fn add(&mut self, option: &'static str) {
        let name = option.trim_end_matches("[=]").trim_end_matches('=');
        if let Some(long) = name.strip_prefix("--") {
            self.long.insert(long);
        } else if let Some(letter) = name.strip_prefix('-').and_then(|letters| letters.chars().next()) {
            if name.len() < option.len() {
                self.valued.insert(letter)
            } else {
                self.plain.insert(letter)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_known_by_its_subcommand_alone_or_in_a_cluster() {
        for (command, option, known) in [
            ("commit", "--amend", true),
            ("commit", "-am", true),
            ("commit", "--amendx", false),
            ("log", "--oneline", true),
            ("diff", "-M90%", true),
            ("diff", "--no-index", false),
            ("diff", "--no-color", true),
            ("push", "--receive-pack", false),
            ("fetch", "--amend", false),
        ] {
            assert_eq!(is_known(command, option), known, "git {command} {option}");
        }
    }

    #[test]
    fn every_line_of_the_text_is_read() {
        let text = include_str!("git_options.txt");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (names, options) = line.split_once(": ").unwrap();
            assert!(options.split(' ').all(|option| option.starts_with('-')), "{names}");
        }
    }
}
