//! JSON that every parser reads the same way.
//!
//! With duplicate keys, one parser takes the first value and another the last; some parsers ignore case. What is judged
//! here is parsed elsewhere, so both are rejected.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses text.
///
/// # Errors
/// When it is not JSON, too deep, or has a duplicate key.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str::<StrictValue>(text).map(|strict| strict.0).map_err(|e| e.to_string())
}

/// A key as a case-insensitive parser compares it.
pub(crate) fn fold_key(name: &str) -> String {
    // Both mappings: some letters are equal under only one of them.
    name.to_uppercase().to_lowercase()
}

/// Returns whether no two keys of an object differ only in case, also from `known` ones.
pub(crate) fn is_plain(object: &Map<String, Value>, known: &[&str]) -> bool {
    let mut seen = HashSet::new();
    object.keys().all(|name| {
        let folded = fold_key(name);
        let is_other = known.iter().all(|known| *known == name || self::fold_key(known) != folded);
        is_other && seen.insert(folded)
    })
}

struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(StrictValue(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if all.contains_key(&name) {
                return Err(Error::custom(format_args!("`{}` stands twice", name.escape_debug())));
            }
            let StrictValue(value) = fields.next_value()?;
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        let value = json!({"a": [1, -2, 0.5, null, true, "x"], "b": {"c": {}}});
        assert_eq!(parse(&value.to_string()), Ok(value));
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":[{"b":{"a":1,"a":2}}]}"#,
            "",
            "{",
            "{} {}",
            "\u{feff}{}",
            r#""\ud800""#,
            &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let plain = |value: Value| is_plain(value.as_object().unwrap(), &["task", "nextTask"]);
        assert!(plain(json!({"task": 1, "nextTask": 2, "Other": 3})));
        for value in [
            json!({"a": 1, "A": 2}),
            json!({"Task": 1}),
            json!({"nexttask": 1}),
            json!({"tas\u{212a}": 1}),
            json!({"ta\u{17f}k": 1}),
        ] {
            assert!(!plain(value.clone()), "{value}");
        }
    }
}
