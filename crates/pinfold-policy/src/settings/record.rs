//! Limits of the audit log.

use jsonc_parser::ast::Value;
use serde::Serialize;
use serde_json::json;

use super::reader::{SettingsReader, quoted, span};
use super::section::section;
use super::value::Setting;
use crate::source::Located;

section! {
    /// The limits of the audit log. Counts in user and managed settings only.
    RecordSettings {
        /// A file of the record is put aside before it is larger than this.
        max_size = "maxSize": Option<Located<Size>>,
        /// The number of files that are kept beside the one that is written; the oldest go first.
        keep = "keep": Option<Located<Count>>,
    }
}

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size(pub u64);

impl Size {
    const MIN: Self = Self(64 << 10);
    const MAX: Self = Self(1 << 40);

    /// A number with a unit: `16M`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text.get(digits.len()..)?.to_ascii_uppercase().as_str() {
            "K" | "KIB" => 10,
            "M" | "MIB" => 20,
            "G" | "GIB" => 30,
            _ => return None,
        };
        let number: u64 = digits.parse().ok()?;
        let bytes = number.checked_mul(1 << shift)?;
        (Self::MIN.0..=Self::MAX.0).contains(&bytes).then_some(Self(bytes))
    }
}

impl Setting for Size {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        let size = Self::parse(&text);
        if size.is_none() {
            let what = format!("{} is no size that a file of the record can have", quoted(&text));
            reader.report(span(value), what, "write a number with K, M or G, from 64K to 1024G");
        }
        size
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "pattern": "^[0-9]+([KkMmGg]|[KkMmGg][Ii][Bb])$", "examples": ["16M"]})
    }
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Count(pub u32);

impl Count {
    const MAX: u32 = 10_000;
}

impl Setting for Count {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::NumberLit(number) = value else { return reader.wrong_type(value, "a whole number") };
        let count = number.value.parse().ok().filter(|count| (1..=Self::MAX).contains(count)).map(Self);
        if count.is_none() {
            let what = format!("{} is no number of files that can be kept", quoted(number.value));
            reader.report(span(value), what, "write a whole number from 1 to 10000");
        }
        count
    }

    fn schema() -> serde_json::Value {
        json!({"type": "integer", "minimum": 1, "maximum": Self::MAX})
    }
}
