//! The front matter of a definition: YAML between two lines of dashes, each field with the place it stands at.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pinfold_policy::settings::MAX_BYTES;
use pinfold_policy::{BadSetting, BadSettings, Layer, Source};

use crate::yaml::{self, Field, YamlError};

/// A text in its two parts.
pub(super) struct FrontMatter<'a> {
    pub(super) file: File<'a>,
    pub(super) fields: BTreeMap<String, Field>,
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

impl<'a> FrontMatter<'a> {
    pub(super) fn parse(bytes: &'a [u8], layer: Layer, shown: &'a Arc<str>) -> Result<Self, BadSettings> {
        let file = File { layer, shown, text: "" };
        if bytes.len() > MAX_BYTES {
            return Err(file.whole("it is longer than any definition", "keep the instructions short"));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|e| file.whole(&format!("it is not UTF-8: {e}"), "write it in UTF-8"))?;
        let file = File { text, ..file };
        let (front, body) = parted(text).ok_or_else(|| file.one(1, 1, "it has no front matter", BEGIN))?;
        let fields = yaml::parse_fields(front).map_err(|error| file.unreadable(&error))?;
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
    pub(super) fn source_of(&self, field: &Field, part: &str) -> Source {
        let first = field.line;
        let lines = self.text.lines().enumerate().skip(first.saturating_sub(1) as usize);
        let found = lines.take_while(|(_, line)| line.trim_end() != "---").find_map(|(i, line)| {
            let column = line.find(part)?;
            Some((u32::try_from(i).ok()?.saturating_add(1), u32::try_from(column).ok()?.saturating_add(1)))
        });
        let (line, column) = found.unwrap_or((first, 1));
        Source::in_file(self.layer, Arc::clone(self.shown), line, column)
    }

    /// The error in a field.
    pub(super) fn wrong(&self, field: &Field, part: &str, what: String, mend: String) -> BadSetting {
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

    fn unreadable(&self, error: &YamlError) -> BadSettings {
        match error.at {
            Some((line, column)) => self.one(line, column, &error.what, error.mend),
            None => self.whole(&error.what, error.mend),
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
