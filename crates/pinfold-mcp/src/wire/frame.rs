//! One message per line: read within a limit, forwarded unchanged, parsed only as far as needed.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::strict::fold_key;

/// The longest line that is forwarded, in bytes: more than any tool takes or returns.
pub(crate) const MAX_FRAME_BYTES: usize = 64 << 20;

/// The longest line that is skipped, in bytes. Beyond it the stream is not read any more.
const ENDLESS: u64 = 256 << 20;

/// A line.
#[derive(Debug)]
pub(crate) enum WireLine {
    /// The line without its line feed.
    Whole(Vec<u8>),
    /// A line that was too long and was skipped; with the identifier that it was about, as far as it is known.
    TooLong(Option<Id>),
}

/// Reads lines.
pub(crate) struct LineReader<R> {
    source: R,
    longest: usize,
    /// The longest line that is skipped, in bytes.
    endless: u64,
}

impl<R: BufRead> LineReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, longest: MAX_FRAME_BYTES, endless: ENDLESS }
    }

    /// Reads the next line; `None` at the end.
    ///
    /// # Errors
    /// When reading fails, or a line has no end.
    pub(crate) fn next(&mut self) -> io::Result<Option<WireLine>> {
        let mut line = Vec::new();
        let most = self.longest as u64 + 1;
        if self.source.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > self.longest {
            return self.skip_rest(line).map(Some);
        }
        Ok(Some(WireLine::Whole(line)))
    }

    /// Skips the rest of a line, and finds out its identifier, which may be at the end.
    fn skip_rest(&mut self, begun: Vec<u8>) -> io::Result<WireLine> {
        let left = self.endless.saturating_sub(begun.len() as u64);
        let mut rest = RestOfLine { source: &mut self.source, left, over: false };
        let line = BufReader::new(io::Cursor::new(begun).chain(&mut rest));
        let seen = serde_json::from_reader::<_, IdOfLongMessage>(line);
        io::copy(&mut rest, &mut io::sink())?;
        if !rest.over {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
        }
        Ok(WireLine::TooLong(seen.ok().and_then(|seen| seen.0)))
    }
}

/// The rest of a line, and no more.
struct RestOfLine<'a, R> {
    source: &'a mut R,
    left: u64,
    over: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.over {
            return Ok(0);
        }
        let there = self.source.fill_buf()?;
        let end = there.iter().position(|byte| *byte == b'\n');
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let len = end.unwrap_or(there.len()).min(buffer.len()).min(left);
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), there.get(..len)) {
            to.copy_from_slice(from);
        }
        // At the end of the line or of the stream.
        self.over = end == Some(len) || there.is_empty();
        let consumed = len + usize::from(end == Some(len));
        self.source.consume(consumed);
        self.left = self.left.saturating_sub(len as u64);
        Ok(len)
    }
}

/// The identifier of a message that is too long to be parsed.
struct IdOfLongMessage(Option<Id>);

impl<'de> Deserialize<'de> for IdOfLongMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;
        impl<'de> Visitor<'de> for IdVisitor {
            type Value = Option<Id>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut id = None;
                while let Some(name) = fields.next_key::<String>()? {
                    if name == "id" {
                        id = Id::from_value(&fields.next_value()?);
                    } else {
                        fields.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(id)
            }
        }
        deserializer.deserialize_map(IdVisitor).map(IdOfLongMessage)
    }
}

/// The identifier of a request, as its JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(String);

impl Id {
    /// Strings and integers are identifiers, nothing else is.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let is_number = value.is_i64() || value.is_u64();
        (is_number || value.is_string()).then(|| Self(value.to_string()))
    }

    /// A new identifier.
    pub(crate) fn new_own(name: &str) -> Self {
        Self(Value::from(name).to_string())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A parsed line.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: Id, method: String, params: Option<&'a RawValue> },
    Notification { method: String, params: Option<&'a RawValue> },
    Answer { id: Id, outcome: ResponseOutcome<'a> },
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseOutcome<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
}

/// Why a line is no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) why: String,
    /// The identifiers of the requests that it contains, as far as they are known.
    pub(crate) about: Vec<Id>,
}

/// Parses a line.
pub(crate) fn parse(line: &[u8]) -> Result<Message<'_>, Malformed> {
    let text = std::str::from_utf8(line)
        .map_err(|_| Malformed { why: "it is no UTF-8".to_owned(), about: Vec::new() })?;
    let malformed = |why: String| Malformed { why, about: ids_of(text) };
    if text.strip_suffix('\r').unwrap_or(text).contains('\r') {
        // Readers that treat this as the end of a line would parse other messages.
        return Err(malformed("it has a carriage return in it".to_owned()));
    }
    if text.trim_start().starts_with('[') {
        return Err(malformed(BATCH.to_owned()));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|e| malformed(e.to_string()))?;
    envelope.message().map_err(|why| malformed(why.to_owned()))
}

/// The refusal of a batch: no revision since 2025-06-18 has batches.
const BATCH: &str = "it is a batch; send each message by itself";

/// Collects identifiers from a line that is no message, or a batch.
fn ids_of(text: &str) -> Vec<Id> {
    let parts = serde_json::from_str::<Vec<IdOfLongMessage>>(text);
    let parts = parts.or_else(|_| serde_json::from_str::<IdOfLongMessage>(text).map(|one| vec![one]));
    parts.unwrap_or_default().into_iter().filter_map(|part| part.0).collect()
}

/// The fields of a message.
#[derive(Default)]
struct Envelope<'a> {
    version: Option<Value>,
    id: Option<Value>,
    method: Option<String>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

const FIELDS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl<'a> Envelope<'a> {
    fn message(self) -> Result<Message<'a>, &'static str> {
        if self.version.as_ref().and_then(Value::as_str) != Some("2.0") {
            return Err("`jsonrpc` is not \"2.0\"");
        }
        let id = self.id.as_ref().map(Id::from_value);
        match (id, self.method, self.params, self.result, self.error) {
            (Some(None), ..) => Err("`id` is neither a text nor a whole number"),
            (Some(Some(id)), Some(method), params, None, None) => Ok(Message::Request { id, method, params }),
            (None, Some(method), params, None, None) => Ok(Message::Notification { method, params }),
            (Some(Some(id)), None, None, Some(result), None) => {
                Ok(Message::Answer { id, outcome: ResponseOutcome::Result(result) })
            }
            (Some(Some(id)), None, None, None, Some(error)) => {
                Ok(Message::Answer { id, outcome: ResponseOutcome::Error(error) })
            }
            _ => Err("it is neither a request nor an answer"),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message, which is an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(name) = fields.next_key::<String>()? {
                    let twice = match name.as_str() {
                        "jsonrpc" => envelope.version.replace(fields.next_value()?).is_some(),
                        "id" => envelope.id.replace(fields.next_value()?).is_some(),
                        "method" => envelope.method.replace(fields.next_value()?).is_some(),
                        "params" => envelope.params.replace(fields.next_value()?).is_some(),
                        "result" => envelope.result.replace(fields.next_value()?).is_some(),
                        "error" => envelope.error.replace(fields.next_value()?).is_some(),
                        other => {
                            fields.next_value::<IgnoredAny>()?;
                            FIELDS.contains(&fold_key(other).as_str())
                        }
                    };
                    if twice {
                        return Err(Error::custom(format_args!("`{}` stands twice", name.escape_debug())));
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Replaces the identifier.
pub(crate) fn with_id(line: &[u8], id: &Id) -> Vec<u8> {
    let fields: Option<HashMap<String, &RawValue>> = serde_json::from_slice(line).ok();
    let part = fields.and_then(|fields| fields.get("id").copied());
    // A message without an identifier needs none.
    part.map_or_else(|| line.to_vec(), |part| splice(line, part, &id.0))
}

/// Replaces a part of the line.
pub(crate) fn splice(line: &[u8], part: &RawValue, text: &str) -> Vec<u8> {
    let from = part.get().as_ptr() as usize - line.as_ptr() as usize;
    let (before, rest) = line.split_at_checked(from).unwrap_or((line, &[]));
    let after = rest.get(part.get().len()..).unwrap_or_default();
    [before, text.as_bytes(), after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], longest: usize) -> Vec<Option<Id>> {
        let mut lines =
            LineReader { source: io::BufReader::with_capacity(7, bytes), longest, endless: ENDLESS };
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                WireLine::Whole(line) => match parse(&line) {
                    Ok(Message::Request { id, .. } | Message::Answer { id, .. }) => Some(id),
                    _ => None,
                },
                WireLine::TooLong(id) => id,
            });
        }
        all
    }

    #[test]
    fn a_line_that_is_too_long_still_says_what_it_was_about() {
        let long = "x".repeat(1000);
        let first = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":"{long}"}}}}"#);
        let last = format!(r#"{{"result":{{"a":"{long}"}},"jsonrpc":"2.0","id":"seven"}}"#);
        let none = format!("{long}{{");
        let small = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
        let all = [&first, small, &last, small, &none, small, ""].join("\n");
        let eight = Some(Id("8".to_owned()));
        let expected = [
            Some(Id("7".to_owned())),
            eight.clone(),
            Some(Id("\"seven\"".to_owned())),
            eight.clone(),
            None,
            eight,
        ];
        assert_eq!(lines(all.as_bytes(), 100), expected);
    }

    #[test]
    fn a_line_has_an_end_at_its_bound_and_none_beyond() {
        for (length, longest, endless, passes) in [
            (100, 100, 200, true),
            (101, 100, 200, true),
            (199, 100, 200, true),
            (200, 100, 200, true),
            (201, 100, 200, false),
            (300, 100, 200, false),
        ] {
            let text = format!("{}\nnext\n", "x".repeat(length));
            for capacity in [1, 7, 64, 4096] {
                let source = io::BufReader::with_capacity(capacity, text.as_bytes());
                let mut lines = LineReader { source, longest, endless };
                let first = lines.next();
                assert_eq!(first.is_ok(), passes, "{length} {capacity}: {first:?}");
                if passes {
                    let next = lines.next().unwrap();
                    assert!(
                        matches!(next, Some(WireLine::Whole(line)) if line == b"next"),
                        "{length} {capacity}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_message_is_what_every_reader_takes_it_for() {
        let request = br#" {"jsonrpc":"2.0","id":-1,"method":"a\/b","params":{"x":{"x":1,"x":2}},"other":1}"#;
        assert!(matches!(parse(request), Ok(Message::Request { method, .. }) if method == "a/b"));
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","PARAMS":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"re\u017fult":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"ID":2,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
            r#"{"id":1,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            "{\"x\":\r{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r}",
            "[]",
            "null",
            "",
        ] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
        assert!(parse(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").is_err());
        assert!(parse(b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r").is_ok(), "lines of another system");
        let batch = parse(br#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"id":"b"},{}]"#).unwrap_err().about;
        assert_eq!(batch, [Id("1".to_owned()), Id("\"b\"".to_owned())]);
    }

    #[test]
    fn a_part_is_replaced_and_nothing_else() {
        let line = br#"{"a\u0062":1, "id" :"x","jsonrpc":"2.0","method":"a"}"#;
        assert_eq!(
            with_id(line, &Id("7".to_owned())),
            br#"{"a\u0062":1, "id" :7,"jsonrpc":"2.0","method":"a"}"#
        );
        let line = br#"{ "id":1, "jsonrpc":"2.0","result" : {"a" :1}  , "x":2}"#;
        let Ok(Message::Answer { outcome: ResponseOutcome::Result(result), .. }) = parse(line) else {
            panic!()
        };
        assert_eq!(splice(line, result, "{}"), br#"{ "id":1, "jsonrpc":"2.0","result" : {}  , "x":2}"#);
    }
}
