//! One line as it comes in: which fields it has, each still as text, so that lines of one setup are told by it.

use std::fmt;

use pinfold_policy::Shape;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::bad_line::BadLine;
use super::fields::no_such;

/// The longest line that is read: more than any tool takes for a verdict.
pub const MAX_LINE_LEN: usize = 4 << 20;

/// The fields of the call itself.
const ID: usize = 0;
const TOOL: usize = 1;
const INPUT: usize = 2;
const SHAPE: usize = 3;

/// Every field, by its place.
pub(super) const FIELDS: &[&str] = &[
    "id",
    "tool",
    "input",
    "shape",
    "cwd",
    "project_root",
    "home",
    "mode",
    "headless",
    "agent",
    "agent_def",
    "rules",
    "session",
    "scope",
    "tools",
    // The former name of `always_ask`.
    "immune",
    "always_ask",
    "bash",
    "reads",
    "sandbox",
    "additional_directories",
    "trusted",
    "ask_rules_in_bypass",
];

/// A line taken apart.
pub(super) struct CheckLine<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) shape: Option<Shape>,
    fields: [Option<&'a RawValue>; FIELDS.len()],
}

impl<'a> CheckLine<'a> {
    pub(super) fn read(line: &'a [u8]) -> Result<Self, BadLine> {
        if line.len() > MAX_LINE_LEN {
            return Err(BadLine(format!("the line is longer than {} MiB", MAX_LINE_LEN >> 20)));
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        let fields = Fields.deserialize(&mut json).and_then(|fields| json.end().map(|()| fields));
        let fields = fields.map_err(|error| BadLine(format!("the line is no call: {error}")))?;
        let [id, tool, input, shape, ..] = fields;
        let needed = |name: &str, field: Option<&'a RawValue>| {
            field.map(RawValue::get).ok_or_else(|| BadLine(format!("the field `{name}` is missing")))
        };
        let tool = serde_json::from_str(needed("tool", tool)?)
            .map_err(|_| BadLine("`tool` holds something else than the name of a tool".to_owned()))?;
        let input = serde_json::from_str(needed("input", input)?)
            .map_err(|error| BadLine(format!("`input` cannot be read: {error}")))?;
        let shape = shape.map(|raw| shape_of(raw.get())).transpose()?;
        Ok(Self { id, tool, input, shape, fields })
    }

    /// The fields of the line beside the call: equal for lines of one setup.
    pub(super) fn setup_key(&self, key: &mut String) {
        key.clear();
        for (name, raw) in self.setup() {
            key.push_str(name);
            key.push('=');
            key.push_str(raw.get());
            key.push('\n');
        }
    }

    /// The fields beside the call, with their names.
    pub(super) fn setup(&self) -> impl Iterator<Item = (&'static str, &'a RawValue)> + '_ {
        let named = FIELDS.iter().zip(&self.fields).skip(SHAPE + 1);
        named.filter_map(|(name, raw)| raw.map(|raw| (*name, raw)))
    }
}

fn shape_of(text: &str) -> Result<Shape, BadLine> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| BadLine(format!("`shape` cannot be read: {error}")))?;
    Shape::parse(&value).map_err(|bad| {
        BadLine(format!("`shape{}`: expected {}, found {}", bad.field, bad.expected, bad.found))
    })
}

const _: () =
    assert!(ID == 0 && TOOL == 1 && INPUT == 2 && SHAPE == 3, "a line takes its first fields by their place");

/// Reads an object whose keys are [`FIELDS`].
struct Fields;

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = [Option<&'de RawValue>; FIELDS.len()];

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = [Option<&'de RawValue>; FIELDS.len()];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object such as {\"tool\":\"Read\",\"input\":{\"file_path\":\"a\"}}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = [None; FIELDS.len()];
        while let Some(at) = map.next_key_seed(FieldName)? {
            let value: &'de RawValue = map.next_value()?;
            match fields.get_mut(at) {
                // Readers differ in which of the two they take.
                Some(Some(_)) => return Err(M::Error::custom(twice(at))),
                // What is null is not said.
                Some(_) if value.get() == "null" && at >= SHAPE => {}
                Some(field) => *field = Some(value),
                None => {}
            }
        }
        Ok(fields)
    }
}

fn twice(at: usize) -> String {
    format!("`{}` stands here twice", FIELDS.get(at).copied().unwrap_or_default())
}

/// Reads a key as its place in [`FIELDS`].
struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let at = FIELDS.iter().position(|known| *known == name);
        at.ok_or_else(|| E::custom(no_such("", name, FIELDS).0))
    }
}
