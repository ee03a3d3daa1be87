//! What a record keeps of words that others said: no secrets, and of a long text its beginning and its digest.

use std::borrow::Cow;

use pinfold_scrub::Scrubber;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::record::Cut;

/// How much of one text is kept, in bytes: any command that a person would read.
const LONGEST_TEXT: usize = 4 << 10;
/// How much of one input is kept, in bytes.
const LONGEST_INPUT: usize = 48 << 10;

/// How much of a long text is looked through for secrets: one that begins in what is kept ends in here.
const LOOKED_THROUGH: usize = 4 * LONGEST_TEXT;
/// How deep an input may be nested: as deep as JSON is read.
const DEEPEST: usize = 128;

/// The input of a call, as it is recorded, and what was left out.
pub(crate) fn kept_input(input: &Value) -> (Option<Value>, Vec<Cut>) {
    let mut keep = Keep { left: LONGEST_INPUT, at: String::new(), cuts: Vec::new() };
    match keep.value(input, DEEPEST) {
        Some(mut kept) => {
            // Once more, now with the names under which texts stand: a value behind `password` is one.
            Scrubber::default().scrub_json(&mut kept);
            (Some(kept), keep.cuts)
        }
        None => (None, vec![cut(String::new(), input.to_string().as_bytes())]),
    }
}

/// A text of somebody else as it is recorded: without secrets, and cut where it is long.
pub fn kept_text(text: &str) -> String {
    kept(text, LONGEST_TEXT).into_owned()
}

fn kept(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT.min(longest) {
        return scrubbed(text);
    }
    let looked_through = text.get(..text.floor_char_boundary(LOOKED_THROUGH)).unwrap_or_default();
    Cow::Owned(shortened(&scrubbed(looked_through), longest))
}

fn scrubbed(text: &str) -> Cow<'_, str> {
    Scrubber::default().scrub(text).text
}

struct Keep {
    /// How many bytes there is room for.
    left: usize,
    /// Where in the input.
    at: String,
    cuts: Vec<Cut>,
}

impl Keep {
    /// `None` when there is no room.
    fn value(&mut self, input: &Value, deeper: usize) -> Option<Value> {
        let deeper = deeper.checked_sub(1)?;
        // Quotes, brackets, commas and what else stands around a value.
        self.takes(4)?;
        Some(match input {
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.takes(16)?;
                input.clone()
            }
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(values) => {
                let kept = values.iter().enumerate();
                let kept = kept.map(|(i, value)| self.below(&i.to_string(), value, deeper));
                Value::Array(kept.collect::<Option<_>>()?)
            }
            Value::Object(fields) => {
                let mut kept = serde_json::Map::with_capacity(fields.len());
                for (key, value) in fields {
                    self.takes(key.len())?;
                    let key = scrubbed(key);
                    let name = key.replace('~', "~0").replace('/', "~1");
                    kept.insert(key.into_owned(), self.below(&name, value, deeper)?);
                }
                Value::Object(kept)
            }
        })
    }

    fn below(&mut self, name: &str, value: &Value, deeper: usize) -> Option<Value> {
        let outer = self.at.len();
        self.at.push('/');
        self.at.push_str(name);
        let kept = self.value(value, deeper);
        self.at.truncate(outer);
        kept
    }

    fn text(&mut self, text: &str) -> Option<String> {
        // An eighth of the room at most, so that many long texts leave some for each.
        if text.len() > LONGEST_TEXT.min(self.left / 8) {
            // A note about a cut takes room too.
            self.takes(128 + self.at.len())?;
            self.cuts.push(cut(self.at.clone(), text.as_bytes()));
        }
        let kept = kept(text, LONGEST_TEXT.min(self.left / 8)).into_owned();
        self.takes(kept.len())?;
        Some(kept)
    }

    fn takes(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

fn cut(at: String, text: &[u8]) -> Cut {
    let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    Cut { at, bytes: u64::try_from(text.len()).unwrap_or(u64::MAX), sha256 }
}

/// The beginning of a text, no longer than so many bytes.
fn shortened(text: &str, longest: usize) -> String {
    const MORE: &str = "…";
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest.saturating_sub(MORE.len()));
    format!("{}{MORE}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_short_is_kept_as_it_is() {
        let input = json!({"command": "ls", "deep": [{"a~/b": [1, null, true, "ä"]}]});
        assert_eq!(kept_input(&input), (Some(input), Vec::new()));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_told_whole() {
        let text = "ä".repeat(LONGEST_TEXT);
        let input = json!({"edits": [{"x": 1}, {"new/string": text}]});
        let (kept, cuts) = kept_input(&input);
        let kept = kept.unwrap();
        let kept = kept["edits"][1]["new/string"].as_str().unwrap();
        assert!(kept.len() <= LONGEST_TEXT && kept.len() > LONGEST_TEXT - 8 && kept.ends_with("ä…"));
        assert_eq!(cuts, [cut("/edits/1/new~1string".to_owned(), text.as_bytes())]);
        assert_eq!(input.pointer(&cuts[0].at).unwrap().as_str().unwrap().len() as u64, cuts[0].bytes);
    }

    #[test]
    fn an_input_never_takes_more_room_than_there_is() {
        let many = |value: Value| json!({"list": vec![value; 100_000]});
        for (input, is_kept) in [
            (json!({"a": "x".repeat(1 << 20), "b": "y".repeat(1 << 20)}), true),
            (json!({"list": vec!["z".repeat(LONGEST_TEXT + 1); 20]}), true),
            (many(json!(1)), false),
            (many(json!("")), false),
            (many(json!({})), false),
            (many(json!([])), false),
            (json!({"k".repeat(LONGEST_INPUT): 1}), false),
        ] {
            let (kept, cuts) = kept_input(&input);
            assert_eq!(kept.is_some(), is_kept);
            let size = kept.map_or(0, |kept| kept.to_string().len());
            assert!(size <= LONGEST_INPUT + 1024 && !cuts.is_empty(), "{size}");
        }
    }

    /// A secret that no list of secrets has, in a form that it knows.
    fn secret(n: usize) -> String {
        format!(
            "ghp_{}",
            "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8".chars().cycle().skip(n).take(36).collect::<String>()
        )
    }

    #[test]
    fn a_secret_is_not_kept_wherever_it_stands() {
        let secret = secret(0);
        let before_the_cut = |n: usize| {
            format!("{}{secret} {}", "x ".repeat((LONGEST_TEXT - n) / 2), "y ".repeat(LONGEST_TEXT))
        };
        for input in [
            json!({"command": format!("curl -H 'Authorization: Bearer {secret}' x")}),
            json!({"env": {"deep": [[{"GITHUB_TOKEN": secret}]]}}),
            json!({"content": before_the_cut(100)}),
            json!({"content": before_the_cut(20)}),
            json!({"content": before_the_cut(2)}),
            json!(secret),
            json!({ secret.clone(): 1 }),
        ] {
            let (kept, _) = kept_input(&input);
            let kept = kept.unwrap().to_string();
            assert!(!kept.contains(&secret[..12]), "{kept}");
        }
        assert!(!kept_text(&format!("no such tool: {secret}")).contains(&secret[..12]));
    }
}
