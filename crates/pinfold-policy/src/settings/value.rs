//! The types that a setting can have: how each is read, and its JSON Schema.

use jsonc_parser::ast::Value;
use serde_json::json;
use std::collections::HashSet;

use super::bad::BadSetting;
use super::hooks::{HookType, OnFailure};
use super::reader::{SettingsReader, quoted, span};
use crate::decision::Decision;
use crate::hook::HookShell;
use crate::mode::{BashMode, MinSeverity, Mode, Reads};
use crate::rule::{BadRule, Rule};
use crate::settings::{Network, SandboxMode};
use crate::source::Located;

/// A type that a setting can have.
pub(super) trait Setting: Sized {
    /// The value; `None` after what is wrong with it has been told.
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self>;

    /// The JSON Schema of the value, without its description.
    fn schema() -> serde_json::Value;
}

impl Setting for bool {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::BooleanLit(truth) = value else { return reader.wrong_type(value, "`true` or `false`") };
        Some(truth.value)
    }

    fn schema() -> serde_json::Value {
        json!({"type": "boolean"})
    }
}

impl Setting for String {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        match value {
            Value::StringLit(text) if text.value.is_empty() => {
                reader.report(
                    span(value),
                    "an empty text stands here",
                    "write what is meant, or take it away",
                );
                None
            }
            Value::StringLit(text) if text.value.contains('\0') => {
                reader.report(
                    span(value),
                    "a NUL stands in this text",
                    "no name and no command can hold one",
                );
                None
            }
            Value::StringLit(text) => Some(text.value.as_ref().to_owned()),
            _ => reader.wrong_type(value, "a text in double quotes"),
        }
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "minLength": 1})
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::Array(list) = value else { return reader.wrong_type(value, "a list in square brackets") };
        Some(list.elements.iter().filter_map(|value| T::read(value, reader)).collect())
    }

    fn schema() -> serde_json::Value {
        json!({"type": "array", "items": T::schema()})
    }
}

impl<T: Setting> Setting for Option<T> {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        T::read(value, reader).map(Some)
    }

    fn schema() -> serde_json::Value {
        T::schema()
    }
}

impl<T: Setting> Setting for Located<T> {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let source = reader.source(span(value).start);
        Some(Self { value: T::read(value, reader)?, source })
    }

    fn schema() -> serde_json::Value {
        T::schema()
    }
}

impl Setting for Rule {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        Self::parse_written(&text).map_err(|bad| reader.report(span(value), no_rule(&bad), bad.mend)).ok()
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "minLength": 1, "examples": ["Bash(npm run *)", "Read(./src/**)", "WebFetch(domain:github.com)"]})
    }
}

/// Allow rules. One that cannot be read is reported and grants nothing, which is no reason to refuse the deny rules
/// beside it; only of an organisation's file is nothing used that cannot be meant in full.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowRules(pub Vec<Located<Rule>>);

impl Setting for AllowRules {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let texts = Vec::<Located<Spanned>>::read(value, reader)?;
        let mut rules = Vec::with_capacity(texts.len());
        for Located { value: Spanned(text, span), source } in texts {
            match Rule::parse_written(&text) {
                Ok(value) => rules.push(Located { value, source }),
                Err(bad) => reader.tell_without_effect(BadSetting {
                    source,
                    span,
                    what: no_rule(&bad),
                    mend: bad.mend,
                }),
            }
        }
        Some(Self(rules))
    }

    fn schema() -> serde_json::Value {
        Vec::<Rule>::schema()
    }
}

fn no_rule(bad: &BadRule) -> String {
    format!("`{}` is no rule: {}", bad.text, bad.why)
}

struct Spanned(String, std::ops::Range<usize>);

impl Setting for Spanned {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        Some(Self(String::read(value, reader)?, span(value)))
    }

    fn schema() -> serde_json::Value {
        String::schema()
    }
}

/// A value with a parser elsewhere: any JSON, in which no key stands twice.
impl Setting for serde_json::Value {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        Some(match value {
            Value::StringLit(text) => Self::from(text.value.as_ref()),
            Value::NumberLit(number) => {
                let parsed = number.value.parse().map_err(|_| {
                    let what = format!("the number {} is too large", quoted(number.value));
                    reader.report(span(value), what, "write a smaller one");
                });
                Self::Number(parsed.ok()?)
            }
            Value::BooleanLit(truth) => Self::from(truth.value),
            Value::NullKeyword(_) => Self::Null,
            Value::Array(list) => {
                Self::Array(list.elements.iter().filter_map(|value| Self::read(value, reader)).collect())
            }
            Value::Object(object) => {
                let mut seen = HashSet::with_capacity(object.properties.len());
                let mut entries = serde_json::Map::with_capacity(object.properties.len());
                for entry in &object.properties {
                    if reader.is_first(entry, &mut seen) {
                        let value = Self::read(&entry.value, reader)?;
                        entries.insert(entry.name.as_str().to_owned(), value);
                    }
                }
                Self::Object(entries)
            }
        })
    }

    fn schema() -> serde_json::Value {
        json!(true)
    }
}

/// Reads one of a few words.
fn choice<T, E: std::fmt::Display>(
    value: &Value<'_>,
    reader: &mut SettingsReader<'_>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<T> {
    let word = String::read(value, reader)?;
    parse(&word).map_err(|bad| reader.report(span(value), bad.to_string(), "")).ok()
}

macro_rules! choices {
    ($($name:ident)+) => { $(
        impl Setting for $name {
            fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
                choice(value, reader, Self::parse)
            }

            fn schema() -> serde_json::Value {
                json!({"type": "string", "enum": Self::WORDS})
            }
        }
    )+ };
}

choices! { BashMode Reads SandboxMode Network HookShell HookType OnFailure }

/// Severities; the words of former versions are read, with a note.
impl Setting for MinSeverity {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let always_ask = choice(value, reader, Self::parse)?;
        if matches!(value, Value::StringLit(word) if word.value == always_ask.former_word()) {
            reader.note_renamed(span(value), always_ask.former_word(), always_ask.as_str());
        }
        Some(always_ask)
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "enum": Self::WORDS})
    }
}

impl Setting for Mode {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        choice(value, reader, Self::parse_chosen)
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "enum": Self::CHOSEN})
    }
}

impl Setting for Decision {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        choice(value, reader, |word| match word {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            other => Err(format!("{} is none of allow, ask, deny", quoted(other))),
        })
    }

    fn schema() -> serde_json::Value {
        json!({"type": "string", "enum": ["allow", "ask", "deny"]})
    }
}
