//! Definitions as they are stored and shown: as a whole by hash, and as lines, one per value, for a diff.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pinfold::audit::Hash;
use serde_json::{Map, Value};

/// The longest stored text, in bytes; a longer definition is stored as its hash.
const MAX_STORED_BYTES: usize = 64 << 10;

/// A tool definition, or the texts of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    hash: String,
    /// `None` where it is too long, or was stored without its text.
    text: Option<Value>,
    /// The length of the text, in bytes.
    length: usize,
}

impl Definition {
    /// The hash of the canonical JSON: everything that a model or client could read counts.
    pub(crate) fn new(said: &Value) -> Self {
        let sorted = sorted(said);
        let text = sorted.to_string();
        let hash = Hash::digest(text.as_bytes()).to_string();
        let length = text.len();
        if length > MAX_STORED_BYTES {
            Self::from_hash(&hash)
        } else {
            Self { hash, text: Some(sorted), length }
        }
    }

    /// A definition that is known by its hash alone.
    fn from_hash(hash: &str) -> Self {
        Self { hash: hash.to_owned(), text: None, length: 0 }
    }

    fn length(&self) -> usize {
        self.length
    }

    /// The stored form: its text, or its hash where there is none.
    pub(crate) fn to_stored(&self) -> Value {
        match &self.text {
            Some(text) => Value::Object(Map::from_iter([(TEXT.to_owned(), text.clone())])),
            None => Value::String(self.hash.clone()),
        }
    }

    /// Parses a stored form; `None` when it is malformed.
    pub(crate) fn from_stored(kept: &Value) -> Option<Self> {
        match kept {
            Value::String(hash) => Some(Self::from_hash(hash)),
            Value::Object(fields) if fields.len() == 1 => fields.get(TEXT).map(Self::new),
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        }
    }

    /// Returns whether it can be shown.
    pub(crate) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// Returns whether both are equal.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.hash == other.hash
    }

    /// Its content as lines.
    pub(crate) fn lines(&self) -> String {
        let Some(text) = &self.text else {
            return format!("known by its hash alone: {}\n", self.hash);
        };
        let mut lines = String::new();
        write_lines(&mut lines, &mut String::new(), text);
        lines
    }
}

/// Definitions by name. Texts are stored up to a total size, and hashes beyond it.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    by_name: BTreeMap<String, Definition>,
    bytes: usize,
}

/// The most text that is stored for one server: about a hundred times what large servers have.
const MAX_TEXT: usize = 8 << 20;

impl Definitions {
    pub(crate) fn get(&self, name: &str) -> Option<&Definition> {
        self.by_name.get(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Replaces the definition of that name.
    pub(crate) fn insert(&mut self, name: &str, definition: &Definition) {
        self.remove(name);
        let length = definition.length();
        let fits = self.bytes.saturating_add(length) <= MAX_TEXT;
        self.bytes += if fits { length } else { 0 };
        let kept = if fits { definition.clone() } else { Definition::from_hash(&definition.hash) };
        self.by_name.insert(name.to_owned(), kept);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        let gone = self.by_name.remove(name).map_or(0, |gone| gone.length());
        self.bytes = self.bytes.saturating_sub(gone);
    }

    /// Their stored form.
    pub(crate) fn to_stored(&self) -> Value {
        let kept = self.by_name.iter().map(|(name, definition)| (name.clone(), definition.to_stored()));
        Value::Object(kept.collect())
    }

    /// Parses a stored form; `None` when it is malformed.
    pub(crate) fn from_stored(kept: &Value) -> Option<Self> {
        let mut definitions = Self::default();
        for (name, kept) in kept.as_object()? {
            definitions.insert(name, &Definition::from_stored(kept)?);
        }
        Some(definitions)
    }
}

/// The key of the text in the stored form.
const TEXT: &str = "says";

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> =
                map.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            Value::Object(sorted.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain.clone(),
    }
}

/// Writes `path: value`, a line for each value and each line of a text: no text can imitate another field.
fn write_lines(lines: &mut String, at: &mut String, value: &Value) {
    let length = at.len();
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                let separator = if at.is_empty() { "" } else { "." };
                at.push_str(separator);
                at.push_str(&key_text(name));
                write_lines(lines, at, value);
                at.truncate(length);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate() {
                // Writing to a string cannot fail.
                let _ = write!(at, "[{number}]");
                write_lines(lines, at, item);
                at.truncate(length);
            }
        }
        Value::String(text) => text.split('\n').for_each(|line| push(lines, at, line)),
        plain => push(lines, at, &plain.to_string()),
    }
}

fn push(lines: &mut String, at: &str, text: &str) {
    lines.push_str(at);
    lines.push_str(": ");
    lines.push_str(text);
    lines.push('\n');
}

/// A key without quotes, where it is unambiguous.
fn key_text(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/');
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_what_it_says_and_not_how_it_is_written() {
        let one = json!({"name": "a", "inputSchema": {"x": 1, "y": [{"b": 1, "a": 2}]}});
        let two = json!({"inputSchema": {"y": [{"a": 2, "b": 1}], "x": 1}, "name": "a"});
        assert!(Definition::new(&one).is(&Definition::new(&two)));
        let changed = json!({"name": "a", "inputSchema": {"x": 1, "y": [{"b": 1, "a": 2}]}, "_meta": {}});
        assert!(!Definition::new(&one).is(&Definition::new(&changed)));
    }

    #[test]
    fn each_thing_it_says_is_a_line() {
        let said = json!({"name": "a", "description": "One.\nname: b", "a b": [1, []], "x": {}});
        assert_eq!(
            Definition::new(&said).lines(),
            "\"a b\"[0]: 1\n\"a b\"[1]: []\ndescription: One.\ndescription: name: b\nname: a\nx: {}\n"
        );
    }

    #[test]
    fn what_is_too_long_is_kept_by_its_hash() {
        let long = Definition::new(&json!("a".repeat(MAX_STORED_BYTES)));
        assert!(long.to_stored().is_string() && long.lines().starts_with("known by its hash alone"));
        assert!(Definition::from_stored(&long.to_stored()).unwrap().is(&long));
        for other in [json!(1), json!({}), json!({"says": 1, "b": 2}), json!([]), Value::Null] {
            assert_eq!(Definition::from_stored(&other), None, "{other}");
        }
    }

    fn json_values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "[a.:\\[\\]\" \n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a.:\\[\\]\" \n]{0,3}", inner, 0..3)
                    .prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_kept_is_what_was_said(said in json_values()) {
            let definition = Definition::new(&said);
            prop_assert_eq!(Definition::from_stored(&definition.to_stored()), Some(definition));
        }
    }
}
