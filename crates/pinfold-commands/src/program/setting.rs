//! Settings that are given in a word: which of them are known to do no more than they say.

use pinfold_shell::Word;

const TABLE: &str = include_str!("settings.txt");

/// The words of a kind in the table.
fn look_up(kind: &str) -> impl Iterator<Item = &'static str> {
    let of_kind = move |line: &'static str| line.strip_prefix(kind)?.strip_prefix(' ');
    TABLE.lines().filter_map(of_kind).flat_map(str::split_ascii_whitespace)
}

/// Effect of `git -c name=value`.
pub(super) enum Setting<'a> {
    /// Changes how something looks or is counted.
    Harmless,
    /// Names a command line: an alias, a helper.
    Runs(&'a str),
    /// May name a program, or a place that does.
    Unknown,
}

/// Returns the effect of a setting of git in a word.
pub(super) fn classify(value: &Word) -> Setting<'_> {
    let Some(text) = value.as_static() else { return Setting::Unknown };
    let (name, set) = text.split_once('=').unwrap_or((text, ""));
    if let Some(line) = set.trim_start().strip_prefix('!') {
        return Setting::Runs(line);
    }
    let name = name.to_ascii_lowercase();
    let whole = format!("{name}={set}");
    let known = |known: &str| match known.strip_suffix('.') {
        Some(_) => name.starts_with(known),
        None => name == known || whole == known,
    };
    if look_up("git-harmless").any(known) { Setting::Harmless } else { Setting::Unknown }
}

/// Returns whether `NAME=value` or `NAME:TYPE=value` of a build may name a program.
pub(super) fn defines_program(value: &Word) -> bool {
    let name = value.literal_prefix().split(['=', ':']).next().unwrap_or_default().to_ascii_uppercase();
    name.is_empty() || look_up("build-program").any(|word| name.contains(word))
}

/// Returns whether options that are passed on may name a program.
pub(super) fn passes_program(value: &Word) -> bool {
    value.as_static().is_none_or(|text| look_up("passed-program").any(|passed| text.contains(passed)))
}

/// Returns whether a query runs programs or touches files.
pub(crate) fn query_goes_beyond(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let dotted = |line: &str| {
        line.trim_start().strip_prefix('.').is_some_and(|command| {
            let name = command.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            !look_up("sqlite-shows").any(|shows| shows == name)
        })
    };
    let goes_beyond = |beyond: &str| lower.contains(&beyond.replace('␣', " ").to_ascii_lowercase());
    let opens_file = |word: &str| look_up("query-opens").any(|opens| opens == word);
    let leads_out = |line: &str| {
        line.split_whitespace().next().is_some_and(|first| look_up("query-line").any(|leads| leads == first))
    };
    let vacuums_into = || lower.contains("vacuum") && lower.contains("into");
    look_up("query-beyond").any(goes_beyond)
        || lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(opens_file)
        || vacuums_into()
        || lower.lines().any(|line| dotted(line) || leads_out(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_of_a_kind() {
        const KINDS: [&str; 7] = [
            "git-harmless",
            "build-program",
            "passed-program",
            "query-beyond",
            "query-opens",
            "query-line",
            "sqlite-shows",
        ];
        let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let all: usize = lines.map(|line| line.split_ascii_whitespace().count() - 1).sum();
        assert!(KINDS.iter().all(|kind| look_up(kind).next().is_some()));
        assert_eq!(all, KINDS.iter().map(|kind| look_up(kind).count()).sum());
    }
}
