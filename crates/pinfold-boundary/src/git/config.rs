//! git's configuration, read and edited without running git.
//!
//! Reads the format of [git-config(1)](https://git-scm.com/docs/git-config#_configuration_file): sections,
//! quoted subsections, continuation lines, quotes, escapes, comments. Includes are not followed. An edit leaves
//! every line alone that it is not about. Text that does not parse is an error: then nothing is concluded from it.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Larger than any configuration that people write.
pub(crate) const MAX_SIZE: u64 = 1 << 20;

/// One `name = value` with its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Lower case.
    pub(crate) section: String,
    /// As written; case counts.
    pub(crate) subsection: Option<String>,
    /// Lower case.
    pub(crate) key: String,
    /// `None` for a bare key, which means true.
    pub(crate) value: Option<String>,
    lines: (usize, usize),
}

impl Entry {
    /// `section.subsection.key`.
    pub(crate) fn name(&self) -> String {
        match &self.subsection {
            Some(sub) => format!("{}.{sub}.{}", self.section, self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }
}

/// A section header with the lines up to the next one.
#[derive(Clone, Debug)]
struct Section {
    name: String,
    subsection: Option<String>,
    lines: (usize, usize),
}

/// One configuration file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    text: Vec<String>,
    sections: Vec<Section>,
    entries: Vec<Entry>,
}

impl Config {
    /// Reads a file, following no link in its last component.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let meta = fs::symlink_metadata(path)?;
        if !meta.is_file() || meta.len() > MAX_SIZE {
            return Err(io::Error::other("not a plain file of a sensible size"));
        }
        Self::read_from(fs::File::open(path)?)
    }

    /// Reads what is left of a file.
    pub(crate) fn read_from(file: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_SIZE {
            return Err(io::Error::other("larger than any configuration"));
        }
        let text = String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8"))?;
        Self::parse(&text).ok_or_else(|| io::Error::other("not in the format of git's configuration"))
    }

    /// Parses text; `None` when git would call it a bad config file.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut config =
            Self { text: text.split_inclusive('\n').map(str::to_owned).collect(), ..Self::default() };
        let mut at = 0;
        while let Some(line) = config.text.get(at).cloned() {
            let mut rest = line.trim_start();
            if rest.starts_with('[') {
                rest = config.header(rest, at)?.trim_start();
            }
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                at += 1;
                continue;
            }
            at = config.entry(rest, at)?;
        }
        config.close_section(at);
        Some(config)
    }

    fn close_section(&mut self, at: usize) {
        if let Some(open) = self.sections.last_mut() {
            open.lines.1 = at;
        }
    }

    /// `[name]`, `[name "sub"]` or `[name.sub]`; returns what stands behind it on the line.
    fn header<'t>(&mut self, line: &'t str, at: usize) -> Option<&'t str> {
        let inner = line.strip_prefix('[')?;
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))?;
        let (name, rest) = inner.split_at_checked(end)?;
        let (subsection, rest) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (sub, rest) = subsection(quoted)?;
                (Some(sub), rest)
            }
            None => (None, rest),
        };
        let rest = rest.strip_prefix(']')?;
        let (section, subsection) = match (name.split_once('.'), subsection) {
            (Some((section, sub)), None) => (section, Some(sub.to_ascii_lowercase())),
            (_, subsection) => (name, subsection),
        };
        self.close_section(at);
        self.sections.push(Section { name: section.to_ascii_lowercase(), subsection, lines: (at, at + 1) });
        Some(rest)
    }

    /// One entry that starts on line `at`; returns the line after it.
    fn entry(&mut self, line: &str, at: usize) -> Option<usize> {
        let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(line.len());
        let (key, rest) = line.split_at_checked(end)?;
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let rest = rest.trim_start_matches([' ', '\t', '\r']);
        let (value, next) = match rest.strip_prefix('=') {
            Some(text) => {
                let (value, next) = self.value(text, at)?;
                (Some(value), next)
            }
            None if rest.trim_start().is_empty() || rest.starts_with(['#', ';']) => (None, at + 1),
            None => return None,
        };
        let section = self.sections.last()?;
        self.entries.push(Entry {
            section: section.name.clone(),
            subsection: section.subsection.clone(),
            key: key.to_ascii_lowercase(),
            value,
            lines: (at, next),
        });
        Some(next)
    }

    /// A value that starts with `text` on line `at` and may go on below.
    fn value(&self, text: &str, at: usize) -> Option<(String, usize)> {
        let (mut value, mut kept, mut quoted) = (String::new(), 0, false);
        let (mut line, mut at) = (text.to_owned(), at);
        loop {
            let mut chars = line.chars().peekable();
            let mut goes_on = false;
            while let Some(c) = chars.next() {
                match c {
                    '\n' if quoted => return None,
                    '\r' if chars.peek() == Some(&'\n') => {}
                    '\n' => break,
                    '#' | ';' if !quoted => break,
                    '"' => {
                        quoted = !quoted;
                        kept = value.len();
                    }
                    '\\' => match chars.next()? {
                        '\n' => goes_on = true,
                        '\r' if chars.peek() == Some(&'\n') => {
                            chars.next();
                            goes_on = true;
                        }
                        escaped => {
                            value.push(unescape(escaped)?);
                            kept = value.len();
                        }
                    },
                    ' ' | '\t' if !quoted && value.is_empty() && kept == 0 => {}
                    c => {
                        value.push(c);
                        if quoted || !c.is_whitespace() {
                            kept = value.len();
                        }
                    }
                }
            }
            at += 1;
            if !goes_on {
                break;
            }
            match self.text.get(at) {
                Some(next) => line.clone_from(next),
                None => break,
            }
        }
        value.truncate(kept);
        (!quoted).then_some((value, at))
    }

    /// Every entry in order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The last value of a key, which is the one that counts.
    pub(crate) fn last(&self, section: &str, subsection: Option<&str>, key: &str) -> Option<&str> {
        let wanted =
            |e: &&Entry| e.section == section && e.subsection.as_deref() == subsection && e.key == key;
        self.entries.iter().rev().find(wanted)?.value.as_deref()
    }

    /// Whether there is such a section.
    pub(crate) fn has_section(&self, section: &str, subsection: &str) -> bool {
        self.sections.iter().any(|s| s.name == section && s.subsection.as_deref() == Some(subsection))
    }

    /// The file's text.
    pub(crate) fn text(&self) -> String {
        self.text.concat()
    }

    /// The text with all values of these keys of one section replaced; a section that is left empty goes too.
    pub(crate) fn with(
        &self,
        section: &str,
        subsection: &str,
        keys: &[&str],
        values: &[(&str, &str)],
    ) -> String {
        let ours = |e: &Entry| {
            e.section == section
                && e.subsection.as_deref() == Some(subsection)
                && keys.contains(&e.key.as_str())
        };
        let mut gone = vec![false; self.text.len()];
        for entry in self.entries.iter().filter(|e| ours(e)) {
            // A header on the same line stays; git writes none, people hardly do: then the entry stays as well.
            let shared = self.sections.iter().any(|s| s.lines.0 == entry.lines.0);
            let lines = gone.get_mut(entry.lines.0..entry.lines.1).filter(|_| !shared);
            if let Some(lines) = lines {
                lines.fill(true);
            }
        }
        let mut home = None;
        for s in &self.sections {
            if s.name != section || s.subsection.as_deref() != Some(subsection) {
                continue;
            }
            let empty = (s.lines.0 + 1..s.lines.1)
                .all(|i| gone.get(i) == Some(&true) || self.text.get(i).is_some_and(|l| l.trim().is_empty()));
            if empty && values.is_empty() {
                gone.get_mut(s.lines.0..=s.lines.0).into_iter().flatten().for_each(|g| *g = true);
            }
            home = Some(s.lines.0);
        }
        self.assemble(&gone, home, section, subsection, values)
    }

    fn assemble(
        &self,
        gone: &[bool],
        home: Option<usize>,
        section: &str,
        subsection: &str,
        values: &[(&str, &str)],
    ) -> String {
        let mut lines = String::new();
        for (key, value) in values {
            let _ = writeln!(lines, "\t{key} = {}", quote(value));
        }
        let mut out = String::new();
        for (i, line) in self.text.iter().enumerate() {
            if gone.get(i) != Some(&true) {
                out.push_str(line);
            }
            if home == Some(i) && !lines.is_empty() {
                end_line(&mut out);
                out.push_str(&lines);
            }
        }
        if home.is_none() && !lines.is_empty() {
            end_line(&mut out);
            let name = subsection.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(out, "[{section} \"{name}\"]\n{lines}");
        }
        out
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn subsection(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((name, quoted.get(i + 1..)?)),
            '\\' => name.push(chars.next().map(|(_, c)| c).filter(|c| *c != '\n')?),
            '\n' => return None,
            c => name.push(c),
        }
    }
    None
}

fn unescape(c: char) -> Option<char> {
    match c {
        'n' => Some('\n'),
        't' => Some('\t'),
        'b' => Some('\u{8}'),
        '"' | '\\' => Some(c),
        _ => None,
    }
}

fn quote(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    let plain = !value.is_empty() && !value.contains(['#', ';']) && value.trim() == value;
    if plain { escaped } else { format!("\"{escaped}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        let config = Config::parse(text).unwrap();
        config
            .entries()
            .iter()
            .map(|e| format!("{}={}", e.name(), e.value.as_deref().unwrap_or("<true>")))
            .collect()
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        let text = "[core]\n\tbare\n a = x # c\n b = \"x # y\" ; z\n\tc = one \\\n   two\n[remote \"o\\\"p\"] url = z\n\
                    [branch.X]\nD=\\t\\\\\n e =\n";
        let expected = [
            "core.bare=<true>",
            "core.a=x",
            "core.b=x # y",
            "core.c=one    two",
            "remote.o\"p.url=z",
            "branch.x.d=\t\\",
            "branch.x.e=",
        ];
        assert_eq!(list(text), expected);
    }

    #[test]
    fn what_git_calls_bad_is_an_error() {
        for bad in
            ["x = 1\n", "[a\nb=1\n", "[a]\nb=\"x\n", "[a]\nb=\\q\n", "[a]\n1b=2\n", "[a \"b]\n", "[a]\nb c\n"]
        {
            assert!(Config::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn an_edit_keeps_every_other_line() {
        let text = "# mine\n[core]\n\tbare = false ; x\n[branch \"a\"]\n\tremote = o\n\tmerge = refs/heads/a\n[user]\n\tname = n\n";
        let config = Config::parse(text).unwrap();
        let keys = ["remote", "merge"];
        assert_eq!(
            config.with("branch", "a", &keys, &[("remote", "p"), ("merge", "refs/heads/a")]),
            text.replace("= o", "= p")
        );
        let without = config.with("branch", "a", &keys, &[]);
        assert_eq!(without, "# mine\n[core]\n\tbare = false ; x\n[user]\n\tname = n\n");
        let added = config.with("branch", "b", &keys, &[("remote", "o")]);
        assert_eq!(added, format!("{text}[branch \"b\"]\n\tremote = o\n"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for value in ["x", "", " a ", "a#b", "q\"\\", "l\nm", "t\tb"] {
            let text = Config::default().with("branch", "w\"\\ x", &["k"], &[("k", value)]);
            let read = Config::parse(&text).unwrap();
            assert_eq!(read.last("branch", Some("w\"\\ x"), "k"), Some(value), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]a-c \"\\\\=#;\\n\\r\\t.é]{0,60}") {
            if let Some(config) = Config::parse(&text) {
                let edited = config.with("branch", "x", &["remote"], &[("remote", "o")]);
                let again = Config::parse(&edited).unwrap();
                proptest::prop_assert_eq!(again.last("branch", Some("x"), "remote"), Some("o"));
            }
        }
    }
}
