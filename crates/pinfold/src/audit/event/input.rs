//! Input of a recorded call.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The input of a call: as a value where it is written, as the text of its line where it is read.
#[derive(Debug, Clone)]
pub struct RecordedInput(Input);

#[derive(Debug, Clone)]
enum Input {
    Value(Value),
    Text(Box<RawValue>),
}

impl RecordedInput {
    /// The input as a value.
    pub fn to_value(&self) -> Value {
        match &self.0 {
            Input::Value(value) => value.clone(),
            // A part of JSON is JSON.
            Input::Text(text) => serde_json::from_str(text.get()).unwrap_or_default(),
        }
    }

    /// The input as JSON.
    pub fn to_text(&self) -> Cow<'_, str> {
        match &self.0 {
            Input::Value(value) => Cow::Owned(value.to_string()),
            Input::Text(text) => Cow::Borrowed(text.get()),
        }
    }
}

impl From<Value> for RecordedInput {
    fn from(value: Value) -> Self {
        Self(Input::Value(value))
    }
}

impl PartialEq for RecordedInput {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Serialize for RecordedInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Input::Value(value) => value.serialize(serializer),
            Input::Text(text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RecordedInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|text| Self(Input::Text(text)))
    }
}
