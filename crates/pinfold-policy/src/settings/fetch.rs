//! Limits of the pages that one agent may fetch.

use jsonc_parser::ast::Value;
use serde::Serialize;
use serde_json::json;

use super::network::NetworkSettings;
use super::reader::{SettingsReader, quoted, span};
use super::record::Size;
use super::value::Setting;

/// Limits of the pages that one agent may fetch in one session. Pages from its cache cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchBudget {
    /// Requests, each redirect one of its own.
    pub fetches: u64,
    /// Bytes of content.
    pub bytes: u64,
}

impl Default for FetchBudget {
    /// More than an agent needs for a day's work, and less than it could do harm with.
    fn default() -> Self {
        Self { fetches: 500, bytes: 256 << 20 }
    }
}

impl FetchBudget {
    /// Returns the limits of the settings.
    pub fn from_settings(settings: &NetworkSettings) -> Self {
        let usual = Self::default();
        Self {
            fetches: settings.fetches.as_ref().map_or(usual.fetches, |fetches| fetches.value.0.into()),
            bytes: settings.fetch_size.as_ref().map_or(usual.bytes, |size| size.value.0),
        }
    }
}

/// A number of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fetches(pub u32);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FetchSize(pub u64);

impl Setting for Fetches {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::NumberLit(number) = value else { return reader.wrong_type(value, "a whole number") };
        let fetches = number.value.parse().ok().map(Self);
        if fetches.is_none() {
            let what = format!("{} is no number of fetches", quoted(number.value));
            reader.report(span(value), what, "write a whole number, 0 for none");
        }
        fetches
    }

    fn schema() -> serde_json::Value {
        json!({"type": "integer", "minimum": 0, "maximum": u32::MAX})
    }
}

impl Setting for FetchSize {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let text = String::read(value, reader)?;
        let size = Size::parse(&text).map(|size| Self(size.0));
        if size.is_none() {
            let what = format!("{} is no size of what is fetched", quoted(&text));
            reader.report(span(value), what, "write a number with K, M or G, from 64K to 1024G");
        }
        size
    }

    fn schema() -> serde_json::Value {
        Size::schema()
    }
}
