//! Merging the results of several servers.

use serde_json::{Map, Value, json};

/// Merges what servers report about themselves at a handshake or in `server/discover`.
pub(super) fn merge_handshakes(said: &[(&str, Value)]) -> Value {
    let mut merged = Map::new();
    for (_, said) in said {
        for (name, value) in said.as_object().into_iter().flatten() {
            match (name.as_str(), merged.get_mut(name)) {
                ("instructions" | "serverInfo", _) => {}
                // The oldest revision is the one that all support.
                ("protocolVersion", Some(Value::String(so_far))) => {
                    if let Some(version) = value.as_str().filter(|version| *version < so_far.as_str()) {
                        version.clone_into(so_far);
                    }
                }
                ("supportedVersions", Some(Value::Array(so_far))) => {
                    so_far.retain(|version| value.as_array().is_some_and(|these| these.contains(version)));
                }
                (_, Some(so_far)) => widen(so_far, value),
                (_, None) => _ = merged.insert(name.clone(), value.clone()),
            }
        }
    }
    merged.insert("serverInfo".to_owned(), json!({"name": "pinfold", "version": env!("CARGO_PKG_VERSION")}));
    let instructions = said
        .iter()
        .filter_map(|(name, said)| Some(format!("{name}: {}", said.get("instructions")?.as_str()?)));
    let instructions: Vec<String> = instructions.collect();
    if !instructions.is_empty() {
        merged.insert("instructions".to_owned(), instructions.join("\n\n").into());
    }
    Value::Object(merged)
}

/// Merges capabilities: what one server has, the merged one has.
fn widen(so_far: &mut Value, more: &Value) {
    match (so_far, more) {
        (Value::Object(so_far), Value::Object(more)) => {
            for (name, value) in more {
                match so_far.get_mut(name) {
                    Some(so_far) => widen(so_far, value),
                    None => _ = so_far.insert(name.clone(), value.clone()),
                }
            }
        }
        (so_far @ Value::Bool(false), Value::Bool(true)) => *so_far = Value::Bool(true),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_server_can_all_can_and_the_oldest_revision_is_spoken() {
        let one = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": false}},
                         "serverInfo": {"name": "x"}, "instructions": "Do."});
        let two = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}, "prompts": {}},
                         "supportedVersions": ["a", "b"]});
        let three = json!({"supportedVersions": ["b", "c"]});
        let merged = merge_handshakes(&[("one", one), ("two", two), ("three", three)]);
        assert_eq!(merged["protocolVersion"], "2025-06-18");
        assert_eq!(merged["capabilities"], json!({"tools": {"listChanged": true}, "prompts": {}}));
        assert_eq!(
            (&merged["serverInfo"]["name"], &merged["instructions"]),
            (&json!("pinfold"), &json!("one: Do."))
        );
        assert_eq!(merged["supportedVersions"], json!(["b"]));
    }
}
