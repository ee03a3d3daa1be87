//! The front matter of a definition: YAML between two lines of dashes, each field with the place it stands at.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pinfold_policy::settings::LONGEST;
use pinfold_policy::{BadSetting, BadSettings, Layer, Source};
use serde_json::Value;
use serde_saphyr::Spanned;

/// A text in its two parts.
pub(super) struct Front<'a> {
    pub(super) file: File<'a>,
    pub(super) fields: BTreeMap<String, Spanned<Value>>,
    pub(super) body: &'a str,
}

/// The file that is read, for messages.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) layer: Layer,
    pub(super) shown: &'a Arc<str>,
    pub(super) text: &'a str,
}

const BEGIN: &str = "begin the file with a line `---`, then `name:` and the rest, then a line `---`";

impl<'a> Front<'a> {
    pub(super) fn parse(bytes: &'a [u8], layer: Layer, shown: &'a Arc<str>) -> Result<Self, BadSettings> {
        let file = File { layer, shown, text: "" };
        if bytes.len() > LONGEST {
            return Err(file.whole("it is longer than any definition", "keep the instructions short"));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|e| file.whole(&format!("it is not UTF-8: {e}"), "write it in UTF-8"))?;
        let file = File { text, ..file };
        let (front, body) = parted(text).ok_or_else(|| file.one(1, 1, "it has no front matter", BEGIN))?;
        let fields = serde_saphyr::from_str(front).map_err(|e| file.unreadable(&e))?;
        Ok(Self { file, fields, body })
    }
}

/// Splits a text at the second line of dashes.
fn parted(text: &str) -> Option<(&str, &str)> {
    let is_mark = |line: &str| line.trim_end() == "---";
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        match (i, is_mark(line)) {
            (0, false) => return None,
            (0, true) | (_, false) => {}
            (_, true) => return Some((text.get(..at)?, text.get(at + line.len()..)?)),
        }
        at += line.len();
    }
    None
}

impl File<'_> {
    /// The position of a field's text: its own line, where it is found there or below, else the line of the field.
    pub(super) fn source_of(&self, field: &Spanned<Value>, part: &str) -> Source {
        let first = line_of(field);
        let lines = self.text.lines().enumerate().skip(first.saturating_sub(1) as usize);
        let found = lines.take_while(|(_, line)| line.trim_end() != "---").find_map(|(i, line)| {
            let column = line.find(part)?;
            Some((u32::try_from(i).ok()?.saturating_add(1), u32::try_from(column).ok()?.saturating_add(1)))
        });
        let (line, column) = found.unwrap_or((first, 1));
        Source::in_file(self.layer, Arc::clone(self.shown), line, column)
    }

    /// The error in a field.
    pub(super) fn wrong(&self, field: &Spanned<Value>, part: &str, what: String, mend: String) -> BadSetting {
        let source = self.source_of(field, part);
        let span = source.at.map_or(0..0, |(line, _)| self.span(line));
        BadSetting { source, span, what, mend }
    }

    /// The one thing that is wrong.
    pub(super) fn one(&self, line: u32, column: u32, what: &str, mend: &str) -> BadSettings {
        let source = Source::in_file(self.layer, Arc::clone(self.shown), line, column);
        let bad = BadSetting { source, span: self.span(line), what: what.to_owned(), mend: mend.to_owned() };
        self.all(vec![bad])
    }

    pub(super) fn all(&self, bad: Vec<BadSetting>) -> BadSettings {
        BadSettings { text: self.text.into(), bad }
    }

    fn whole(&self, what: &str, mend: &str) -> BadSettings {
        let source = Source { layer: self.layer, file: Some(Arc::clone(self.shown)), at: None };
        self.all(vec![BadSetting { source, span: 0..0, what: what.to_owned(), mend: mend.to_owned() }])
    }

    fn unreadable(&self, error: &serde_saphyr::Error) -> BadSettings {
        let what = error.to_string();
        // The first line says it; a picture of the place follows, which the place itself replaces.
        let what = what.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let star =
            what.contains("anchor or alias").then_some("a bare `*` begins an alias: write it in quotes");
        let mend = star.unwrap_or("mend the YAML there");
        match error.location() {
            Some(at) => self.one(number(at.line()), number(at.column()), what, mend),
            None => self.whole(what, mend),
        }
    }

    /// The bytes of a line.
    fn span(&self, line: u32) -> Range<usize> {
        let before = self.text.split_inclusive('\n').take(line.saturating_sub(1) as usize);
        let start = before.map(str::len).sum();
        let length = self.text.get(start..).and_then(|rest| rest.lines().next()).map_or(0, str::len);
        start..start + length
    }
}

fn line_of(field: &Spanned<Value>) -> u32 {
    number(field.referenced.line()).max(1)
}

fn number(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
