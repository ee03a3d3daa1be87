//! The table of keys in `docs/settings.md` is what the schema says, and settings that pages show can be read.

use std::fmt::Write as _;
use std::sync::Arc;

use pinfold::policy::{Layer, Settings};
use serde_json::Value;

use super::{check_page, user_pages};

#[test]
fn the_table_of_keys_is_what_the_schema_says() {
    let mut table = String::from("| key | type | means |\n| --- | --- | --- |\n");
    describe_keys(&Settings::schema(), "", &mut table);
    check_page("settings.md", &table);
}

/// Appends a row for each key below an object of the schema.
fn describe_keys(object: &Value, above: &str, table: &mut String) {
    for (name, key) in object["properties"].as_object().into_iter().flatten() {
        let name = format!("{above}{name}");
        if key["properties"].is_object() {
            describe_keys(key, &format!("{name}."), table);
        } else {
            let means = key["description"].as_str().unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(table, "| `{name}` | {} | {means} |", kind(key));
        }
    }
}

/// The type of a value, with its choices, bounds and default.
fn kind(key: &Value) -> String {
    let choices = |key: &Value| {
        let words = key["enum"].as_array()?.iter().filter_map(Value::as_str);
        Some(words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
    };
    let kind = key["type"].as_str().unwrap_or("object");
    let mut kind = choices(key).unwrap_or_else(|| match kind {
        "array" => format!("list of {}", key["items"]["type"].as_str().unwrap_or("string")),
        "object" if key["$ref"].is_string() => "list of [hooks](hooks.md#where-they-stand)".to_owned(),
        kind => kind.to_owned(),
    });
    if let (Some(least), Some(most)) = (key["minimum"].as_u64(), key["maximum"].as_u64()) {
        let _ = write!(kind, ", {least} to {most}");
    }
    if !key["default"].is_null() {
        let _ = write!(kind, ", default {}", key["default"]);
    }
    kind
}

/// A block of JSON is taken for settings where its first key is one of theirs. `…` in it stands for something left out.
#[test]
fn settings_in_the_pages_can_be_read() {
    let schema = Settings::schema();
    let keys: Vec<&String> = schema["properties"].as_object().expect("keys").keys().collect();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for page in user_pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for block in text.split("```json").skip(1).filter_map(|rest| rest.split("```").next()) {
            let block = block.trim_start_matches('c').trim();
            let first = block.split('"').nth(1).unwrap_or_default();
            if !keys.iter().any(|key| *key == first) || block.contains('…') {
                continue;
            }
            seen += 1;
            let name: Arc<str> = page.display().to_string().into();
            if let Err(bad) = Settings::parse(block.as_bytes(), Layer::Managed, &name) {
                wrong.push(format!("{name}: {bad}\n{block}"));
            }
        }
    }
    assert!(seen > 5, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
