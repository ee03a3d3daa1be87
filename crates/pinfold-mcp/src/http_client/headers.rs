//! Request headers: the session, the protocol version, and what the newest revision repeats for intermediaries.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// The session header.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The protocol version header.
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The header to resume an event stream.
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The prefix of headers that repeat an argument.
const PARAM: &str = "mcp-param-";
/// The schema keyword for repeated arguments.
const REPEATED: &str = "x-mcp-header";
/// The encoding of values that are not valid in a header.
const PACKED: (&str, &str) = ("=?base64?", "?=");
/// The most tools of a server.
const MAX_TOOLS: usize = 10_000;

/// Headers that only this client sets.
pub(super) const OURS: [HeaderName; 5] = [SESSION, VERSION, LAST_EVENT, METHOD, NAME];

/// The common headers of all requests, and what is known about the server.
#[derive(Debug, Default)]
pub(super) struct RequestHeaders {
    /// The user's headers.
    pub(super) said: HeaderMap,
    pub(super) session: Option<HeaderValue>,
    /// The negotiated protocol version.
    pub(super) version: Option<HeaderValue>,
    /// By tool: repeated arguments, each with its header.
    repeated: HashMap<String, RepeatedHeaders>,
}

/// The repeated arguments of a tool, or why it cannot be called.
type RepeatedHeaders = Result<Vec<(Vec<String>, HeaderName)>, &'static str>;

impl RequestHeaders {
    /// Creates headers with those of the user.
    pub(super) fn new(said: HeaderMap) -> Self {
        Self { said, ..Self::default() }
    }

    /// The headers of every request.
    pub(super) fn plain(&self) -> HeaderMap {
        let mut heads = self.said.clone();
        heads.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        heads.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        for (name, value) in [(SESSION, &self.session), (VERSION, &self.version)] {
            if let Some(value) = value {
                heads.insert(name, value.clone());
            }
        }
        heads
    }

    /// The headers of a message; in the newest revision with its repeated parts.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub(super) fn for_message(
        &self,
        method: &str,
        params: Option<&Value>,
    ) -> Result<HeaderMap, &'static str> {
        let mut heads = self.plain();
        let Some(version) = newest_revision(params) else { return Ok(heads) };
        heads.remove(SESSION);
        let mut say = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                heads.insert(name, value);
            }
        };
        say(VERSION, version);
        say(METHOD, method);
        if let Some(name) = request_subject(method, params) {
            say(NAME, &encode_value(name));
        }
        let tool = params.and_then(|params| params.get("name")?.as_str()).filter(|_| method == "tools/call");
        let repeated = match tool.and_then(|tool| self.repeated.get(tool)) {
            Some(repeated) => repeated.as_ref().map_err(|why| *why)?.as_slice(),
            None => &[],
        };
        for (path, header) in repeated {
            let arguments = params.and_then(|params| params.get("arguments"));
            let value = path.iter().try_fold(arguments, |at, name| Some(at?.get(name))).flatten();
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(plain @ (Value::Bool(_) | Value::Number(_))) => plain.to_string(),
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
            };
            say(header.clone(), &encode_value(&text));
        }
        Ok(heads)
    }

    /// Learns from a tool list which arguments are repeated.
    pub(super) fn learn_repeated(&mut self, result: &Value) {
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let mut found = Vec::new();
            let said = collect_repeated(tool.pointer("/inputSchema/properties"), &mut Vec::new(), &mut found);
            let found = said.map(|()| found);
            self.repeated.remove(name);
            if found != Ok(Vec::new()) && self.repeated.len() < MAX_TOOLS {
                self.repeated.insert(name.to_owned(), found);
            }
        }
    }
}

/// The revision of a message of the newest kind.
pub(super) fn newest_revision(params: Option<&Value>) -> Option<&str> {
    params?.pointer("/_meta/io.modelcontextprotocol~1protocolVersion")?.as_str()
}

/// The subject of a request, for intermediaries.
fn request_subject<'a>(method: &str, params: Option<&'a Value>) -> Option<&'a str> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params?.get(field)?.as_str()
}

/// The repeated arguments of a schema. One that is invalid or ambiguous makes the tool uncallable.
fn collect_repeated(
    properties: Option<&Value>,
    path: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, HeaderName)>,
) -> Result<(), &'static str> {
    for (name, schema) in properties.and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        if let Some(said) = schema.get(REPEATED) {
            let header = said.as_str().filter(|header| !header.is_empty());
            let header = header.and_then(|header| format!("{PARAM}{header}").parse::<HeaderName>().ok());
            let header = header.ok_or("its definition has an invalid header name")?;
            if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
                return Err("its definition has a header for what cannot stand in one");
            }
            if found.iter().any(|(_, other)| *other == header) {
                return Err("its definition has one header for two arguments");
            }
            found.push((path.clone(), header));
        }
        collect_repeated(schema.get("properties"), path, found)?;
        path.pop();
    }
    Ok(())
}

/// Encodes a value for a header.
fn encode_value(text: &str) -> String {
    let (begin, end) = PACKED;
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with(begin) && text.ends_with(end));
    if plain { text.to_owned() } else { format!("{begin}{}{end}", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_revision_repeats_above_what_the_message_says() {
        let mut heads =
            RequestHeaders { session: Some(HeaderValue::from_static("s")), ..RequestHeaders::default() };
        heads.learn_repeated(&json!({"tools": [{"name": "t", "inputSchema": {"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "other": {"type": "string"},
        }}}]}));
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        let params = json!({"name": "t", "arguments": {"region": " é", "deep": {"n": 5}, "other": "x"}, "_meta": meta});
        let above = heads.for_message("tools/call", Some(&params)).unwrap();
        let said = |name: &str| above.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(said("mcp-method"), Some("tools/call"));
        assert_eq!(said("mcp-name"), Some("t"));
        assert_eq!(said("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!((said("mcp-param-region"), said("mcp-param-n")), (Some("=?base64?IMOp?="), Some("5")));
        assert_eq!((said("mcp-session-id"), said("mcp-param-other")), (None, None));
        let older = heads.for_message("tools/call", Some(&json!({"name": "t"}))).unwrap();
        assert!(older.get("mcp-method").is_none() && older.get("mcp-session-id").is_some());
    }

    #[test]
    fn a_tool_whose_headers_cannot_be_said_is_not_called() {
        for (properties, why) in [
            (json!({"a": {"type": "string", "x-mcp-header": ""}}), "invalid header name"),
            (json!({"a": {"type": "string", "x-mcp-header": "a b"}}), "invalid header name"),
            (json!({"a": {"type": "string", "x-mcp-header": "a:b"}}), "invalid header name"),
            (json!({"a": {"type": "string", "x-mcp-header": "é"}}), "invalid header name"),
            (json!({"a": {"type": "string", "x-mcp-header": "a\r\nb"}}), "invalid header name"),
            (json!({"a": {"type": "string", "x-mcp-header": 7}}), "invalid header name"),
            (json!({"a": {"type": "object", "x-mcp-header": "A"}}), "cannot stand"),
            (json!({"a": {"type": "number", "x-mcp-header": "A"}}), "cannot stand"),
            (json!({"a": {"x-mcp-header": "A"}}), "cannot stand"),
            (
                json!({"a": {"type": "string", "x-mcp-header": "X"}, "b": {"properties": {"c": {"type": "string", "x-mcp-header": "x"}}}}),
                "two arguments",
            ),
        ] {
            let mut heads = RequestHeaders::default();
            heads.learn_repeated(
                &json!({"tools": [{"name": "t", "inputSchema": {"properties": properties}}, {"name": "u"}]}),
            );
            let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
            let of =
                |tool: &str| heads.for_message("tools/call", Some(&json!({"name": tool, "_meta": meta})));
            assert!(of("t").unwrap_err().contains(why), "{properties}");
            assert!(of("u").is_ok() && heads.for_message("tools/call", Some(&json!({"name": "t"}))).is_ok());
        }
    }
}
