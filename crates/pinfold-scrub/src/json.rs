//! Secrets in JSON: in every string, and behind keys that say that a secret follows.

use serde_json::Value;

use crate::counts::Counts;
use crate::marker;
use crate::scrubber::Scrubber;

pub(crate) fn scrub(scrubber: Scrubber, value: &mut Value, found: &mut Counts) {
    // By hand, not by calls: JSON may be nested as deep as whoever wrote it liked.
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
    let line = format!("\"{key}\": \"{text}\"");
    let start = key.len() + "\"\": \"".len();
    let whole = start..line.len() - 1;
    let hit = scrubber.hits(line.as_bytes()).into_iter().find(|hit| hit.range == whole)?;
    let (mut bytes, mut counts) = (Vec::new(), Counts::default());
    marker::write(hit.kind, &mut bytes);
    counts.add(hit.kind);
    Some((String::from_utf8_lossy(&bytes).into_owned(), counts))
}
