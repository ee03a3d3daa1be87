//! Texts of others as a record keeps them: without secrets, and of a long text its beginning and its digest.

use std::borrow::Cow;

use pinfold_scrub::Scrubber;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::event::Cut;

/// The most bytes of one text that are kept: any command that a person would read.
const MAX_TEXT_LEN: usize = 4 << 10;
/// The most bytes of one input that are kept.
const MAX_INPUT_LEN: usize = 48 << 10;

/// The most bytes of a long text that are searched for secrets: one that begins in the kept part ends in here.
const LOOKED_THROUGH: usize = 4 * MAX_TEXT_LEN;
/// The deepest nesting of an input: as deep as JSON is read.
const DEEPEST: usize = 128;

/// The input of a call, as it is recorded, and what was left out.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ScrubbedInput {
    pub(crate) input: Option<Value>,
    pub(crate) cut: Vec<Cut>,
    /// The secrets in it.
    pub(crate) secrets: Secrets,
}

impl ScrubbedInput {
    pub(crate) fn new(input: &Value) -> Self {
        let mut keep =
            InputScrubber { left: MAX_INPUT_LEN, at: String::new(), cuts: Vec::new(), found: false };
        let Some(mut kept) = keep.value(input, DEEPEST) else {
            let cut = vec![cut(String::new(), input.to_string().as_bytes())];
            return Self { input: None, cut, secrets: Secrets::find(input) };
        };
        // Once more, now with the names under which texts stand: a value behind `password` is one.
        let by_name = Scrubber::default().scrub_json(&mut kept);
        let found = keep.found || !by_name.is_empty();
        let secrets = if found { Secrets::find(input) } else { Secrets::default() };
        Self { input: Some(kept), cut: keep.cuts, secrets }
    }
}

/// Prepares a foreign text for the record: without secrets, and cut where it is long.
pub fn kept_text(text: &str) -> String {
    kept(text, MAX_TEXT_LEN).0.into_owned()
}

/// The kept part of a text, and whether there was a secret in it.
fn kept(text: &str, longest: usize) -> (Cow<'_, str>, bool) {
    if text.len() <= MAX_TEXT_LEN.min(longest) {
        return scrubbed(text);
    }
    let (text, found) = scrubbed(looked_through(text));
    (Cow::Owned(shortened(&text, longest)), found)
}

fn looked_through(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LOOKED_THROUGH)).unwrap_or_default()
}

fn scrubbed(text: &str) -> (Cow<'_, str>, bool) {
    let scrubbed = Scrubber::default().scrub(text);
    (scrubbed.text, !scrubbed.found.is_empty())
}

struct InputScrubber {
    /// The bytes that are left.
    left: usize,
    /// The position in the input, as a JSON Pointer.
    at: String,
    cuts: Vec<Cut>,
    /// There was a secret.
    found: bool,
}

impl InputScrubber {
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
                let kept = kept.map(|(i, value)| self.member(&i.to_string(), value, deeper));
                Value::Array(kept.collect::<Option<_>>()?)
            }
            Value::Object(fields) => {
                let mut kept = serde_json::Map::with_capacity(fields.len());
                for (key, value) in fields {
                    self.takes(key.len())?;
                    let (key, found) = scrubbed(key);
                    self.found |= found;
                    let name = key.replace('~', "~0").replace('/', "~1");
                    kept.insert(key.into_owned(), self.member(&name, value, deeper)?);
                }
                Value::Object(kept)
            }
        })
    }

    fn member(&mut self, name: &str, value: &Value, deeper: usize) -> Option<Value> {
        let outer = self.at.len();
        self.at.push('/');
        self.at.push_str(name);
        let kept = self.value(value, deeper);
        self.at.truncate(outer);
        kept
    }

    fn text(&mut self, text: &str) -> Option<String> {
        // An eighth of the room at most, so that many long texts leave some for each.
        if text.len() > MAX_TEXT_LEN.min(self.left / 8) {
            // A note about a cut takes room too.
            self.takes(128 + self.at.len())?;
            self.cuts.push(cut(self.at.clone(), text.as_bytes()));
        }
        let (kept, found) = kept(text, MAX_TEXT_LEN.min(self.left / 8));
        self.found |= found;
        self.takes(kept.len())?;
        Some(kept.into_owned())
    }

    fn takes(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

/// The secrets of a call. What is told of its parts, places and rules is made from its words: cut out of what stood
/// around it, a secret may not look like one any more, but it is the same text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(Vec<(String, &'static str)>);

/// A shorter text is more likely a word than a secret.
const SHORTEST: usize = 4;
/// A shorter line of a secret with several says nothing by itself.
const SHORTEST_LINE: usize = 8;

impl Secrets {
    /// Finds the secrets of an input.
    pub(crate) fn find(input: &Value) -> Self {
        let mut secrets = Self::default();
        // By hand, not by calls: an input may be nested as deep as its writer liked.
        let mut rest = vec![(None, input)];
        while let Some((name, value)) = rest.pop() {
            match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
                Value::String(text) => secrets.look_at(name, text),
                Value::Array(values) => rest.extend(values.iter().map(|value| (None, value))),
                Value::Object(fields) => {
                    fields.keys().for_each(|name| secrets.look_at(None, name));
                    rest.extend(fields.iter().map(|(name, value)| (Some(name.as_str()), value)));
                }
            }
        }
        secrets.sorted()
    }

    /// Finds the secrets of a text.
    pub(crate) fn find_in_text(text: &str) -> Self {
        let mut secrets = Self::default();
        secrets.look_at(None, text);
        secrets.sorted()
    }

    fn look_at(&mut self, name: Option<&str>, text: &str) {
        let text = looked_through(text);
        let hits = Scrubber::default().hits(text.as_bytes());
        if let (true, Some(name)) = (hits.is_empty(), name) {
            let mut named =
                Value::Object([(name.to_owned(), Value::String(text.to_owned()))].into_iter().collect());
            if !Scrubber::default().scrub_json(&mut named).is_empty() {
                self.add(text, "secret");
            }
        }
        for hit in hits {
            self.add(text.get(hit.range).unwrap_or_default(), hit.kind);
        }
    }

    fn add(&mut self, secret: &str, kind: &'static str) {
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
        let whole = Some(secret).filter(|secret| secret.len() >= SHORTEST);
        self.0.extend(lines.chain(whole).map(|text| (text.to_owned(), kind)));
    }

    /// The longest first: a short one may be a part of it.
    fn sorted(mut self) -> Self {
        self.0.sort_unstable_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        self.0.dedup();
        self
    }

    /// A text about the call, without them.
    pub(crate) fn taken_out<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_there = |(secret, _): &&(String, &str)| text.contains(secret.as_str());
        if !self.0.iter().any(|secret| is_there(&secret)) {
            return Cow::Borrowed(text);
        }
        let without = |text: String, (secret, kind): &(String, &str)| {
            text.replace(secret.as_str(), &format!("[REDACTED:{kind}]"))
        };
        Cow::Owned(self.0.iter().fold(text.to_owned(), without))
    }

    /// A text about the call, as it is recorded.
    pub(crate) fn kept(&self, text: &str) -> String {
        kept_text(&self.taken_out(text))
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
        assert_eq!(
            ScrubbedInput::new(&input),
            ScrubbedInput { input: Some(input), ..ScrubbedInput::default() }
        );
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_told_whole() {
        let text = "ä".repeat(MAX_TEXT_LEN);
        let input = json!({"edits": [{"x": 1}, {"new/string": text}]});
        let ScrubbedInput { input: kept, cut: cuts, .. } = ScrubbedInput::new(&input);
        let kept = kept.unwrap();
        let kept = kept["edits"][1]["new/string"].as_str().unwrap();
        assert!(kept.len() <= MAX_TEXT_LEN && kept.len() > MAX_TEXT_LEN - 8 && kept.ends_with("ä…"));
        assert_eq!(cuts, [cut("/edits/1/new~1string".to_owned(), text.as_bytes())]);
        assert_eq!(input.pointer(&cuts[0].at).unwrap().as_str().unwrap().len() as u64, cuts[0].bytes);
    }

    #[test]
    fn an_input_never_takes_more_room_than_there_is() {
        let many = |value: Value| json!({"list": vec![value; 100_000]});
        for (input, is_kept) in [
            (json!({"a": "x".repeat(1 << 20), "b": "y".repeat(1 << 20)}), true),
            (json!({"list": vec!["z".repeat(MAX_TEXT_LEN + 1); 20]}), true),
            (many(json!(1)), false),
            (many(json!("")), false),
            (many(json!({})), false),
            (many(json!([])), false),
            (json!({"k".repeat(MAX_INPUT_LEN): 1}), false),
        ] {
            let ScrubbedInput { input: kept, cut: cuts, .. } = ScrubbedInput::new(&input);
            assert_eq!(kept.is_some(), is_kept);
            let size = kept.map_or(0, |kept| kept.to_string().len());
            assert!(size <= MAX_INPUT_LEN + 1024 && !cuts.is_empty(), "{size}");
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
            format!("{}{secret} {}", "x ".repeat((MAX_TEXT_LEN - n) / 2), "y ".repeat(MAX_TEXT_LEN))
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
            let kept = ScrubbedInput::new(&input).input.unwrap().to_string();
            assert!(!kept.contains(&secret[..12]), "{kept}");
        }
        assert!(!kept_text(&format!("no such tool: {secret}")).contains(&secret[..12]));
    }

    #[test]
    fn a_secret_is_known_again_where_nothing_around_it_tells() {
        let secret = secret(0);
        for (input, told) in [
            (
                json!({"command": "login --password hunter2hunter2 && echo hunter2hunter2"}),
                "echo hunter2hunter2",
            ),
            (json!({"password": "Tr0ub4dor&3xyz"}), "`Tr0ub4dor&3xyz`"),
            (json!({"a": [{ secret.clone(): 1 }]}), secret.as_str()),
            (
                json!({"command": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA04up8hoqzS1\nabcdefgh12345678\n-----END RSA PRIVATE KEY-----"}),
                "MIIEpAIBAAKCAQEA04up8hoqzS1",
            ),
        ] {
            let secrets = ScrubbedInput::new(&input).secrets;
            let kept = secrets.kept(told);
            assert!(kept.contains("[REDACTED:"), "{input}: {kept}");
            assert_eq!(secrets.kept("plain words"), "plain words");
        }
        assert_eq!(
            ScrubbedInput::new(&json!({"command": "echo hunter2hunter2"})).secrets,
            Secrets::default()
        );
    }
}
