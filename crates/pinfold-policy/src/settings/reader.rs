//! Takes values out of a parsed file, knows where each stands, and collects what cannot be meant.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::bad::BadSetting;
use crate::merge::Renamed;
use crate::source::{Layer, Source};
use crate::tool::nearest_name;

/// Most errors that are reported of one file: the rest shows when these are mended.
const MAX_TOLD: usize = 100;

/// Reads one file.
pub(super) struct SettingsReader<'t> {
    text: &'t str,
    layer: Layer,
    file: Arc<str>,
    at: TextPosition,
    pub(super) bad: Vec<BadSetting>,
    /// Errors that only fail to grant, and invalidate nothing.
    pub(super) without_effect: Vec<BadSetting>,
    /// Values that are read by a former word.
    pub(super) renamed: Vec<Renamed>,
}

/// Position of the last request. Positions are asked for from the front to the back, so that finding all of
/// them takes one pass, however long a line is.
#[derive(Clone, Copy)]
struct TextPosition {
    byte: usize,
    line: u32,
    column: u32,
}

const START: TextPosition = TextPosition { byte: 0, line: 1, column: 1 };

impl<'t> SettingsReader<'t> {
    pub(super) fn new(text: &'t str, layer: Layer, file: Arc<str>) -> Self {
        Self {
            text,
            layer,
            file,
            at: START,
            bad: Vec::new(),
            without_effect: Vec::new(),
            renamed: Vec::new(),
        }
    }

    /// Returns the position of a byte as a person counts: line and column from 1, columns in characters.
    pub(super) fn source(&mut self, byte: usize) -> Source {
        if byte < self.at.byte {
            self.at = START;
        }
        let passed = self.text.as_bytes().get(self.at.byte..byte).unwrap_or_default();
        for b in passed {
            if *b == b'\n' {
                self.at.line = self.at.line.saturating_add(1);
                self.at.column = 1;
            } else if (*b & 0xC0) != 0x80 {
                self.at.column = self.at.column.saturating_add(1);
            }
        }
        self.at.byte = byte;
        Source::in_file(self.layer, Arc::clone(&self.file), self.at.line, self.at.column)
    }

    pub(super) fn report(&mut self, span: Range<usize>, what: impl Into<String>, mend: impl Into<String>) {
        if self.bad.len() < MAX_TOLD {
            let source = self.source(span.start);
            self.bad.push(BadSetting { source, span, what: what.into(), mend: mend.into() });
        }
    }

    /// Reports a mistake like [`SettingsReader::tell`], where it can only fail to grant something.
    pub(super) fn tell_without_effect(&mut self, bad: BadSetting) {
        if self.without_effect.len() < MAX_TOLD {
            self.without_effect.push(bad);
        }
    }

    /// Notes a value that is read and has another word now.
    pub(super) fn note_renamed(&mut self, span: Range<usize>, from: &'static str, to: &'static str) {
        let source = self.source(span.start);
        self.renamed.push(Renamed { from, to, source });
    }

    /// Tells that something else belongs here. There is no value then.
    pub(super) fn wrong_type<T>(&mut self, value: &Value<'_>, expected: &str) -> Option<T> {
        let found = describe_value(value);
        self.report(span(value), format!("{found} stands where {expected} belongs"), "");
        None
    }

    /// Visits the entries of an object whose keys are `keys`. Other keys are reported, and so is a duplicate key:
    /// parsers differ in which of the two they take.
    pub(super) fn section(
        &mut self,
        value: &Value<'_>,
        keys: &[&'static str],
        mut visit: impl FnMut(&mut Self, &str, &Value<'_>),
    ) {
        let Value::Object(object) = value else {
            self.wrong_type::<()>(value, "an object");
            return;
        };
        let mut seen = HashSet::with_capacity(keys.len());
        for entry in &object.properties {
            let key = entry.name.as_str();
            if !keys.contains(&key) {
                self.unknown(entry, keys);
            } else if self.is_first(entry, &mut seen) {
                visit(self, key, &entry.value);
            }
        }
    }

    /// Tells which of these keys an object does not have.
    pub(super) fn needs(&mut self, value: &Value<'_>, keys: &[&str]) {
        let Value::Object(object) = value else { return };
        let missing = |key: &&&str| object.properties.iter().all(|entry| entry.name.as_str() != **key);
        for key in keys.iter().filter(missing) {
            self.report(span(value), format!("`{key}` is missing"), "");
        }
    }

    /// Returns `true` if a key has not been seen; one that has been is told.
    pub(super) fn is_first<'e>(&mut self, entry: &'e ObjectProp<'_>, seen: &mut HashSet<&'e str>) -> bool {
        let key = entry.name.as_str();
        let first = seen.insert(key);
        if !first {
            let what = format!("{} stands here a second time", quoted(key));
            self.report(span(&entry.name), what, "keep one, with all that belongs to it");
        }
        first
    }

    fn unknown(&mut self, entry: &ObjectProp<'_>, keys: &[&'static str]) {
        let key = entry.name.as_str();
        let mend = match super::section_of(key) {
            Some(section) => format!("it belongs {section}"),
            None => format!("did you mean `{}`?", nearest(key, keys)),
        };
        self.report(span(&entry.name), format!("{} is no setting here", quoted(key)), mend);
    }
}

/// The known key that a key is the beginning of, or else the one that is spelled most alike.
fn nearest(key: &str, keys: &[&'static str]) -> &'static str {
    let longer = keys.iter().copied().find(|known| !key.is_empty() && known.starts_with(key));
    longer.unwrap_or_else(|| nearest_name(key, keys))
}

/// A key or word of the file for a message: what does not show is written out, and the tail of a long one left out.
pub(super) fn quoted(word: &str) -> String {
    /// More than any name; a message is one line.
    const MAX_SHOWN: usize = 80;
    let mut shown = String::from("`");
    for c in word.chars().take(MAX_SHOWN) {
        if matches!(c, '"' | '\'') { shown.push(c) } else { shown.extend(c.escape_debug()) }
    }
    shown.push_str(if word.chars().nth(MAX_SHOWN).is_some() { "…`" } else { "`" });
    shown
}

pub(super) fn span(node: &impl Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

/// A value in words short enough for a message.
fn describe_value(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(text) => format!("the text {}", quoted(&text.value)),
        Value::NumberLit(number) => format!("the number {}", quoted(number.value)),
        Value::BooleanLit(truth) => format!("`{}`", truth.value),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::NullKeyword(_) => "`null`".to_owned(),
    }
}
