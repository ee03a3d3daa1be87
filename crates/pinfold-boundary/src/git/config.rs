//! git's configuration, read and edited without running git.
//!
//! Reads the format of [git-config(1)](https://git-scm.com/docs/git-config#_configuration_file): sections,
//! quoted subsections, continuation lines, quotes, escapes, comments. Includes are not followed. An edit leaves
//! every line alone that it is not about. Text that does not parse is an error: then nothing is concluded from it.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use pinfold_sandbox::{open_plain, open_plain_through_links};

/// Larger than any configuration that people write.
pub(crate) const MAX_SIZE: u64 = 1 << 20;

/// One `name = value` with its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigEntry {
    /// Lower case.
    pub(crate) section: String,
    /// Subsection as written; case counts.
    pub(crate) subsection: Option<String>,
    /// Lower case.
    pub(crate) key: String,
    /// `None` for a bare key, which means true.
    pub(crate) value: Option<String>,
    /// The file is no UTF-8: each character of a text stands for one byte.
    is_bytewise: bool,
    lines: (usize, usize),
}

impl ConfigEntry {
    /// Returns a part of the value as the file has it.
    pub(crate) fn written<'p>(&self, part: &'p str) -> Cow<'p, OsStr> {
        let byte = |c: char| u8::try_from(c).unwrap_or(b'?');
        if self.is_bytewise {
            Cow::Owned(OsString::from_vec(part.chars().map(byte).collect()))
        } else {
            Cow::Borrowed(OsStr::new(part))
        }
    }

    /// `section.subsection.key`.
    pub(crate) fn name(&self) -> String {
        match &self.subsection {
            Some(sub) => format!("{}.{sub}.{}", self.section, self.key),
            None if self.section.is_empty() => self.key.clone(),
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
    entries: Vec<ConfigEntry>,
}

impl Config {
    /// Reads a file, following no link in its last component.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        Self::read_from(open_plain(path)?)
    }

    /// Reads what can be read of a file that [`Self::read`] does not take: through links, and byte by byte where it is no text, as git
    /// does. Nothing may be written by it.
    pub(crate) fn read_roughly(path: &Path) -> io::Result<Self> {
        let text = String::from_utf8(bytes_of(open_plain_through_links(path)?)?);
        let is_bytewise = text.is_err();
        let text = text.unwrap_or_else(|error| bytewise(error.as_bytes()));
        let mut config =
            Self::parse_any(&text).ok_or_else(|| io::Error::other("git does not read it either"))?;
        config.entries.iter_mut().for_each(|entry| entry.is_bytewise = is_bytewise);
        Ok(config)
    }

    /// Reads what is left of a file.
    pub(crate) fn read_from(file: impl Read) -> io::Result<Self> {
        let text = String::from_utf8(bytes_of(file)?).map_err(|_| io::Error::other("not UTF-8"))?;
        Self::parse(&text).ok_or_else(|| io::Error::other("not in the format of git's configuration"))
    }

    /// Parses text; `None` when git would call it a bad config file, or with a NUL: git cuts a key in two there, so that what it does by
    /// the text is not what the text says.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.contains('\0') { None } else { Self::parse_any(text) }
    }

    /// Parses text as far as git does.
    fn parse_any(text: &str) -> Option<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut config =
            Self { text: text.split_inclusive('\n').map(str::to_owned).collect(), ..Self::default() };
        let mut at = 0;
        while let Some(line) = config.text.get(at).cloned() {
            let mut rest = line.trim_start_matches(is_space);
            while rest.starts_with('[') {
                rest = config.header(rest, at)?.trim_start_matches(is_space);
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
        let (subsection, rest) = match rest.trim_start_matches(is_space).strip_prefix('"') {
            Some(quoted) => {
                let (sub, rest) = subsection(quoted)?;
                (Some(sub), rest)
            }
            None => (None, rest),
        };
        let rest = rest.strip_prefix(']')?;
        let (section, subsection) = match (name.split_once('.'), subsection) {
            (Some((section, sub)), None) => (section, Some(sub.to_ascii_lowercase())),
            // A key's name is its section up to the first dot and itself behind the last: all between is the subsection.
            (Some((section, sub)), Some(more)) => {
                (section, Some(format!("{}.{more}", sub.to_ascii_lowercase())))
            }
            (None, subsection) => (name, subsection),
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
        let rest = rest.trim_start_matches([' ', '\t']);
        let (value, next) = match rest.strip_prefix('=') {
            Some(text) => {
                let (value, next) = self.value(text, at)?;
                (Some(value), next)
            }
            None if matches!(rest, "" | "\n" | "\r\n") => (None, at + 1),
            None => return None,
        };
        // git takes those before any section too.
        let section = self.sections.last();
        self.entries.push(ConfigEntry {
            section: section.map(|section| section.name.clone()).unwrap_or_default(),
            subsection: section.and_then(|section| section.subsection.clone()),
            key: key.to_ascii_lowercase(),
            value,
            is_bytewise: false,
            lines: (at, next),
        });
        Some(next)
    }

    /// A value that starts with `text` on line `at` and may go on below.
    fn value(&self, text: &str, at: usize) -> Option<(String, usize)> {
        let (mut value, mut quoted) = (String::new(), false);
        // Where the blanks begin that stand at the end so far.
        let mut blanks = None;
        let (mut line, mut at) = (text.to_owned(), at);
        loop {
            let mut chars = line.strip_suffix("\r\n").unwrap_or(&line).chars();
            let mut goes_on = false;
            while let Some(c) = chars.next() {
                if c == '\n' || !quoted && matches!(c, '#' | ';') {
                    break;
                }
                if is_space(c) && !quoted {
                    if !value.is_empty() {
                        blanks.get_or_insert(value.len());
                        value.push(c);
                    }
                    continue;
                }
                blanks = None;
                match c {
                    '"' => quoted = !quoted,
                    '\\' => match chars.next() {
                        Some('\n') | None => goes_on = true,
                        Some(escaped) => value.push(unescape(escaped)?),
                    },
                    c => value.push(c),
                }
            }
            at += 1;
            match self.text.get(at).filter(|_| goes_on) {
                Some(next) => line.clone_from(next),
                None => break,
            }
        }
        value.truncate(blanks.unwrap_or(value.len()));
        // C programs take it for a text that ends there.
        value.truncate(value.find('\0').unwrap_or(value.len()));
        (!quoted).then_some((value, at))
    }

    /// Every entry in order.
    pub(crate) fn entries(&self) -> &[ConfigEntry] {
        &self.entries
    }

    /// The last value of a key, which is the one that counts.
    pub(crate) fn last(&self, section: &str, subsection: Option<&str>, key: &str) -> Option<&str> {
        let wanted =
            |e: &&ConfigEntry| e.section == section && e.subsection.as_deref() == subsection && e.key == key;
        self.entries.iter().rev().find(wanted)?.value.as_deref()
    }

    /// Returns whether a switch is on: a key alone turns it on, and so does every number but 0.
    pub(crate) fn is_on(&self, section: &str, key: &str) -> bool {
        let here = |e: &&ConfigEntry| e.section == section && e.subsection.is_none() && e.key == key;
        let off =
            |value: &str| ["false", "no", "off", "0", ""].iter().any(|off| value.eq_ignore_ascii_case(off));
        self.entries.iter().rev().find(here).is_some_and(|e| !e.value.as_deref().is_some_and(off))
    }

    /// Returns whether there is such a section.
    pub(crate) fn has_section(&self, section: &str, subsection: &str) -> bool {
        self.sections.iter().any(|s| s.name == section && s.subsection.as_deref() == Some(subsection))
    }

    /// The file's text.
    pub(crate) fn text(&self) -> String {
        self.text.concat()
    }

    /// The text with all values of these keys of one section replaced; a section that is left empty goes too.
    pub(crate) fn with_values(
        &self,
        section: &str,
        subsection: &str,
        keys: &[&str],
        values: &[(&str, &str)],
    ) -> String {
        let ours = |e: &ConfigEntry| {
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
        for (number, s) in self.sections.iter().enumerate() {
            if s.name != section || s.subsection.as_deref() != Some(subsection) {
                continue;
            }
            let header = s.lines.0;
            let with_header = self.entries.iter().find(|e| e.lines.0 == header);
            let alone =
                with_header.is_none() && self.sections.iter().filter(|s| s.lines.0 == header).count() == 1;
            let empty = (header + 1..s.lines.1)
                .all(|i| gone.get(i) == Some(&true) || self.text.get(i).is_some_and(|l| l.trim().is_empty()));
            if empty && alone && values.is_empty() {
                gone.get_mut(header..=header).into_iter().flatten().for_each(|g| *g = true);
            }
            // What stands behind another header belongs to that; an entry goes on to its own end.
            if self.sections.get(number + 1).is_none_or(|next| next.lines.0 != header) {
                home = Some(with_header.map_or(header, |e| e.lines.1.saturating_sub(1)));
            }
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

/// A text with one character for each byte.
fn bytewise(bytes: &[u8]) -> String {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).iter().map(|byte| char::from(*byte)).collect()
}

/// Reads what is left of a file.
fn bytes_of(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(io::Error::other("larger than any configuration"));
    }
    Ok(bytes)
}

/// Returns whether git takes a character for a blank.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Ends the last line, and a value that would go on in the next.
fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if text.ends_with("\\\n") || text.ends_with("\\\r\n") {
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

    fn shown(config: &Config) -> Vec<String> {
        let entries = config.entries().iter();
        entries.map(|e| format!("{}={}", e.name(), e.value.as_deref().unwrap_or("<true>"))).collect()
    }

    fn list(text: &str) -> Vec<String> {
        shown(&Config::parse(text).unwrap())
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
    fn a_switch_is_on_as_git_takes_it() {
        for (line, on) in [
            ("worktreeConfig", true),
            ("worktreeConfig = 2", true),
            ("worktreeConfig = Yes", true),
            ("worktreeConfig = false\nworktreeConfig", true),
            ("worktreeConfig\nworktreeConfig = Off", false),
            ("worktreeConfig =", false),
            ("worktreeConfig = 0", false),
            ("other", false),
        ] {
            let config = Config::parse(&format!("[extensions]\n{line}\n")).unwrap();
            assert_eq!(config.is_on("extensions", "worktreeconfig"), on, "{line}");
        }
    }

    #[test]
    fn what_git_calls_bad_is_an_error() {
        for bad in ["[a\nb=1\n", "[a]\nb=\"x\n", "[a]\nb=\\q\n", "[a]\n1b=2\n", "[a \"b]\n", "[a]\nb c\n"] {
            assert!(Config::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_text_with_a_nul_is_an_error() {
        for text in ["[remote \"origin.uploadpack\0\"]\n\turl = x\n", "[a]\nb = x\0y\n", "# \0\n"] {
            assert!(Config::parse(text).is_none() && Config::parse_any(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn an_edit_keeps_every_other_line() {
        let text = "# mine\n[core]\n\tbare = false ; x\n[branch \"a\"]\n\tremote = o\n\tmerge = refs/heads/a\n[user]\n\tname = n\n";
        let config = Config::parse(text).unwrap();
        let keys = ["remote", "merge"];
        assert_eq!(
            config.with_values("branch", "a", &keys, &[("remote", "p"), ("merge", "refs/heads/a")]),
            text.replace("= o", "= p")
        );
        let without = config.with_values("branch", "a", &keys, &[]);
        assert_eq!(without, "# mine\n[core]\n\tbare = false ; x\n[user]\n\tname = n\n");
        let added = config.with_values("branch", "b", &keys, &[("remote", "o")]);
        assert_eq!(added, format!("{text}[branch \"b\"]\n\tremote = o\n"));
    }

    #[test]
    fn an_edit_leaves_lines_alone_that_say_several_things() {
        for (text, expected) in [
            ("a=\\", "a=\\\n\n[branch \"x\"]\n\tremote = o\n"),
            ("[branch \"x\"] k = a\\\nb\n", "[branch \"x\"] k = a\\\nb\n\tremote = o\n"),
            ("[branch \"x\"][b] k = 1\n", "[branch \"x\"][b] k = 1\n[branch \"x\"]\n\tremote = o\n"),
        ] {
            let config = Config::parse(text).unwrap();
            assert_eq!(config.with_values("branch", "x", &["remote"], &[("remote", "o")]), expected);
        }
        for text in ["[branch \"x\"] k = a\n", "[branch \"x\"][b]\n\tk = 1\n"] {
            assert_eq!(Config::parse(text).unwrap().with_values("branch", "x", &["remote"], &[]), text);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for value in ["x", "", " a ", "a#b", "q\"\\", "l\nm", "t\tb"] {
            let text = Config::default().with_values("branch", "w\"\\ x", &["k"], &[("k", value)]);
            let read = Config::parse(&text).unwrap();
            assert_eq!(read.last("branch", Some("w\"\\ x"), "k"), Some(value), "{text}");
        }
    }

    /// Returns the entries that git lists, where it accepts the text.
    fn by_git(text: &str) -> Option<Vec<String>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let git = std::process::Command::new("git")
            .args(["config", "-z", "--list", "--file"])
            .arg(file.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git");
        let listed = String::from_utf8(git.stdout).unwrap();
        let shown = |one: &str| {
            one.split_once('\n').map_or(format!("{one}=<true>"), |(name, value)| format!("{name}={value}"))
        };
        git.status.success().then(|| listed.split_terminator('\0').map(shown).collect())
    }

    const PIECES: &[&str] = &[
        "[",
        "]",
        "[a]",
        "[core]\n",
        "[B.c]",
        "[a \"B\"]",
        "[a.B \"c\\\"\"]",
        "k",
        "K-1",
        "=",
        " = ",
        "x",
        "\"",
        "\\",
        "\\n",
        "\\\n",
        "\\\r\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "#",
        ";",
        ".",
        "é",
        "\u{a0}",
        "\u{b}",
        "\u{feff}",
        "k = x\n",
        "\tk = \"x y\" ; z\n",
        "k\n",
    ];

    proptest::proptest! {
        /// A text that git accepts is accepted, and read the same.
        #[test]
        fn git_reads_the_same(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..14), begun: bool) {
            let text = format!("{}{}", if begun { "[a]\n" } else { "" }, pieces.concat());
            if let Some(listed) = by_git(&text) {
                proptest::prop_assert_eq!(Config::parse(&text).map(|config| shown(&config)), Some(listed), "{:?}", text);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]a-c \"\\\\=#;\\n\\r\\t.é]{0,60}") {
            if let Some(config) = Config::parse(&text) {
                let edited = config.with_values("branch", "x", &["remote"], &[("remote", "o")]);
                let again = Config::parse(&edited).unwrap();
                proptest::prop_assert_eq!(again.last("branch", Some("x"), "remote"), Some("o"));
            }
        }
    }
}
