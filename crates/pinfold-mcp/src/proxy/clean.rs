//! What a server answers, without its secrets.

use pinfold_scrub::Scrubber;
use serde_json::Value;

/// Fields that hold pictures, sound and files as base64, in which nothing can be looked for.
const ENCODED: [&str; 2] = ["data", "blob"];

/// Takes secrets out of a result or an error. `false`: there were none.
pub(crate) fn clean(answer: &mut Value) -> bool {
    let mut aside = Vec::new();
    set_aside(answer, &mut aside);
    let found = Scrubber::default().scrub_json(answer);
    aside.reverse();
    put_back(answer, &mut aside);
    !found.is_empty()
}

fn pieces(answer: &mut Value) -> impl Iterator<Item = &mut Value> {
    answer.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten()
}

/// Where base64 stands in a piece: in itself, or in the resource that it embeds.
fn encoded(piece: &mut Value) -> Option<&mut String> {
    let holder = if piece.get("type")?.as_str()? == "resource" { piece.get_mut("resource")? } else { piece };
    let field = ENCODED.into_iter().find(|field| holder.get(field).is_some_and(Value::is_string))?;
    match holder.get_mut(field)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn set_aside(answer: &mut Value, aside: &mut Vec<String>) {
    for text in pieces(answer).filter_map(encoded) {
        let is_encoded = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b));
        // Its place stays, so that it is found again.
        aside.push(if is_encoded { std::mem::take(text) } else { String::new() });
    }
}

fn put_back(answer: &mut Value, aside: &mut Vec<String>) {
    for text in pieces(answer).filter_map(encoded) {
        if let Some(kept) = aside.pop().filter(|kept| !kept.is_empty()) {
            *text = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// In pieces, so that no scanner takes this file for a leak.
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
        answer["structuredContent"] = json!({"x": secret()});
        assert!(clean(&mut answer));
        assert_eq!(answer["content"], pieces);
    }
}
