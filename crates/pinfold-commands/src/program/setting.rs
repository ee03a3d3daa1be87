//! Settings that are given in a word: which of them are known to do no more than they say.

use std::sync::LazyLock;

use pinfold_shell::Word;

const TABLE: &str = include_str!("settings.txt");

static WORDS: LazyLock<SettingWords> = LazyLock::new(|| SettingWords::parse(TABLE));

/// The table of words, by kind.
#[derive(Debug, Default)]
struct SettingWords {
    git_harmless: Vec<&'static str>,
    build_program: Vec<&'static str>,
    passed_program: Vec<&'static str>,
    query_beyond: Vec<String>,
    query_opens: Vec<&'static str>,
    query_line: Vec<&'static str>,
    sqlite_shows: Vec<&'static str>,
}

impl SettingWords {
    fn parse(table: &'static str) -> Self {
        let mut own = Self::default();
        for line in table.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("git-harmless") => own.git_harmless.extend(words),
                Some("build-program") => own.build_program.extend(words),
                Some("passed-program") => own.passed_program.extend(words),
                Some("query-beyond") => {
                    own.query_beyond.extend(words.map(|word| word.replace('␣', " ").to_ascii_lowercase()));
                }
                Some("query-opens") => own.query_opens.extend(words),
                Some("query-line") => own.query_line.extend(words),
                Some("sqlite-shows") => own.sqlite_shows.extend(words),
                Some(_) | None => {}
            }
        }
        own
    }
}

/// What `git -c name=value` does.
pub(super) enum Setting<'a> {
    /// It changes how something looks or is counted.
    Harmless,
    /// It names a command line: an alias, a helper.
    Runs(&'a str),
    /// It may name a program, or a place that does.
    Unknown,
}

/// What a setting of git in a word does.
pub(super) fn classify(value: &Word) -> Setting<'_> {
    let Some(text) = value.as_static() else { return Setting::Unknown };
    let (name, set) = text.split_once('=').unwrap_or((text, ""));
    if let Some(line) = set.trim_start().strip_prefix('!') {
        return Setting::Runs(line);
    }
    let name = name.to_ascii_lowercase();
    let whole = format!("{name}={set}");
    let known = |known: &&str| match known.strip_suffix('.') {
        Some(_) => name.starts_with(*known),
        None => name == **known || whole == **known,
    };
    if WORDS.git_harmless.iter().any(known) { Setting::Harmless } else { Setting::Unknown }
}

/// Returns whether `NAME=value` or `NAME:TYPE=value` of a build may name a program.
pub(super) fn defines_program(value: &Word) -> bool {
    let name = value.literal_prefix().split(['=', ':']).next().unwrap_or_default().to_ascii_uppercase();
    name.is_empty() || WORDS.build_program.iter().any(|word| name.contains(word))
}

/// Returns whether options that are passed on may name a program.
pub(super) fn passes_program(value: &Word) -> bool {
    value.as_static().is_none_or(|text| WORDS.passed_program.iter().any(|passed| text.contains(passed)))
}

/// Returns whether a query runs programs or touches files.
pub(crate) fn query_goes_beyond(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let dotted = |line: &str| {
        line.trim_start().strip_prefix('.').is_some_and(|command| {
            let name = command.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            !WORDS.sqlite_shows.contains(&name)
        })
    };
    let mut words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let leads_out =
        |line: &str| line.split_whitespace().next().is_some_and(|first| WORDS.query_line.contains(&first));
    let vacuums_into = || lower.contains("vacuum") && lower.contains("into");
    WORDS.query_beyond.iter().any(|beyond| lower.contains(beyond))
        || words.any(|word| WORDS.query_opens.contains(&word))
        || vacuums_into()
        || lower.lines().any(dotted)
        || lower.lines().any(leads_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_understood() {
        let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let words: usize = lines.map(|line| line.split_ascii_whitespace().count() - 1).sum();
        let SettingWords {
            git_harmless,
            build_program,
            passed_program,
            query_beyond,
            query_opens,
            query_line,
            sqlite_shows,
        } = &*WORDS;
        let lists = [git_harmless, build_program, passed_program, query_opens, query_line, sqlite_shows]
            .map(Vec::len);
        assert_eq!(words, lists.iter().sum::<usize>() + query_beyond.len());
        assert!(lists.iter().all(|list| *list > 0) && query_beyond.contains(&"\\s ".to_owned()));
    }
}
