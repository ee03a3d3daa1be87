//! Secrets in JSON: in every string, and behind keys that say that a secret follows.

use serde_json::Value;

use crate::counts::Counts;
use crate::keywords::{MAX_WORD_LEN, WordSearch};
use crate::marker;
use crate::scrubber::Scrubber;

pub(crate) fn scrub(scrubber: Scrubber, value: &mut Value, found: &mut Counts) {
    // By hand, not by calls: the nesting depth of JSON is chosen by its author, and may be hostile.
    let mut rest = vec![(None, value)];
    while let Some((key, value)) = rest.pop() {
        match value {
            Value::String(text) => {
                if let Some((scrubbed, counts)) = string(scrubber, key, text) {
                    *text = scrubbed;
                    *found += &counts;
                }
            }
            Value::Array(values) => rest.extend(values.iter_mut().map(|value| (None, value))),
            Value::Object(fields) => {
                rest.extend(fields.iter_mut().map(|(key, value)| (Some(key.as_str()), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// `None` when there is nothing to replace.
fn string(scrubber: Scrubber, key: Option<&str>, text: &str) -> Option<(String, Counts)> {
    let clean = scrubber.scrub(text);
    if !clean.found.is_empty() {
        return Some((clean.text.into_owned(), clean.found));
    }
    let key = key?;
    // As it would stand in a file, which is how the forms know it.
    let before = format!("\"{key}\": \"");
    let start = before.len();
    if !says_that_a_secret_follows(&before, text) {
        return None;
    }
    let line = format!("{before}{text}\"");
    let whole = start..line.len() - 1;
    let hit = scrubber.hits(line.as_bytes()).into_iter().find(|hit| hit.range == whole)?;
    let (mut bytes, mut counts) = (Vec::new(), Counts::default());
    marker::write(hit.kind, &mut bytes);
    counts.add(hit.kind);
    Some((String::from_utf8_lossy(&bytes).into_owned(), counts))
}

/// Returns `true` if a word begins before the text: a text that shows itself to be a secret was found already, so that without
/// one there is nothing to look for in what may be long.
fn says_that_a_secret_follows(before: &str, text: &str) -> bool {
    let head = [before, text.get(..text.floor_char_boundary(MAX_WORD_LEN)).unwrap_or_default()].concat();
    let (mut search, mut seen) = (WordSearch::START, 0);
    while let Some(len) = search.find(head.as_bytes().get(seen..).unwrap_or_default()) {
        seen += len;
        if search.ending().any(|(_, len)| seen - len < before.len()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::table::Table;

    /// Runs the full search, without the short cut.
    fn plainly(key: &str, text: &str) -> Option<&'static str> {
        let line = format!("\"{key}\": \"{text}\"");
        let whole = key.len() + 5..line.len() - 1;
        Scrubber::default()
            .hits(line.as_bytes())
            .into_iter()
            .find(|hit| hit.range == whole)
            .map(|hit| hit.kind)
    }

    proptest! {
        /// Words in keys, in texts, and across the place where they meet.
        #[test]
        fn what_stands_behind_a_key_is_what_would_stand_in_a_file(
            word in any::<prop::sample::Index>(),
            (key, cut, text) in ("[a-zA-Z_\": ]{0,6}", 0..8usize, "[a-zA-Z0-9+/ =\"-]{0,40}"),
            place in 0..3,
        ) {
            let words: Vec<String> = Table::get().kinds.iter().flat_map(crate::SecretKind::spellings).collect();
            let word = word.get(&words).as_str();
            let (in_key, in_text) = word.split_at(word.floor_char_boundary(cut));
            let (key, text) = match place {
                0 => (format!("{key}{word}"), text),
                1 => (key, format!("{word}{text}")),
                _ => (format!("{key}{in_key}"), format!("{in_text}{text}")),
            };
            let by_itself = !Scrubber::default().scrub(&text).found.is_empty();
            let mut value = json!({ &key: &text });
            let found = !Scrubber::default().scrub_json(&mut value).is_empty();
            prop_assert_eq!(found, by_itself || plainly(&key, &text).is_some(), "{:?}: {:?}", key, text);
        }
    }
}
