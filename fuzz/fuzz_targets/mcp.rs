//! Any bytes between an MCP client and its server: lines, messages, schemas of tools and calls of them.
//!
//! Fails when it panics, when a message is another one to a reader that takes the last of two values, when a changed number
//! changes more than that, or when a schema takes a claim away. The first line is a schema, each other a message; what
//! stands in it is tried as the arguments of a call too.
//!
//! Run with `cargo fuzz run -s none mcp -- -dict=fuzz/dictionaries/mcp.dict`.

#![no_main]

#[path = "../../crates/pinfold-mcp/src/wire/frame.rs"]
#[allow(dead_code, reason = "the target takes its part")]
mod frame;
#[path = "../../crates/pinfold-mcp/src/wire/strict.rs"]
#[allow(dead_code, reason = "the target takes its part")]
mod strict;

use frame::{Id, LineReader, Message, WireLine, parse, with_id};
use libfuzzer_sys::fuzz_target;
use pinfold_policy::{McpCall, PathClaim, Shape};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let mut lines = LineReader::new(bytes);
    let mut whole: Vec<Vec<u8>> = Vec::new();
    while let Some(WireLine::Whole(line)) = lines.next().expect("memory is read") {
        whole.push(line);
    }
    assert!(bytes.starts_with(&whole.join(&b'\n')));
    let schema = whole.first().and_then(|line| serde_json::from_slice(line).ok()).unwrap_or(Value::Null);
    let shape = Shape::of_schema(&schema);
    for line in &whole {
        message(line);
        if let Ok(input) = serde_json::from_slice(line) {
            call(&input, shape.as_ref());
        }
    }
});

/// A line is the same message to every reader, and to a later one with another number.
fn message(line: &[u8]) {
    let Ok(read) = parse(line) else { return };
    let text = std::str::from_utf8(line).expect("a message is text");
    let value: Value = serde_json::from_str(text).expect("a message is JSON");
    if let Ok(strict) = strict::parse(text) {
        assert_eq!(strict, value);
    }
    let names =
        |value: &Value| [value["method"].as_str().map(str::to_owned), value.get("id").map(Value::to_string)];
    match read {
        Message::Request { id, method, .. } => {
            assert_eq!(names(&value), [Some(method), Some(id.to_string())])
        }
        Message::Notification { method, .. } => assert_eq!(names(&value), [Some(method), None]),
        Message::Answer { id, .. } => assert_eq!(names(&value), [None, Some(id.to_string())]),
    }
    let mut expected = value.clone();
    if let Some(id) = expected.get_mut("id") {
        *id = Value::from("other");
    }
    let other: Value = serde_json::from_slice(&with_id(line, &Id::new_own("other"))).expect("it stays JSON");
    assert_eq!(other, expected);
}

/// What is known by a schema makes more of a call, never less.
fn call(input: &Value, shape: Option<&Shape>) {
    for name in ["mcp__s__read_file", "mcp__s__move", "mcp__s__frobnicate"] {
        let claims = |shape: Option<&Shape>| -> Option<Vec<PathClaim>> {
            let call = McpCall::parse(name, input, shape)?.ok()?;
            let _ = call.odd();
            Some(call.claims(call.class()))
        };
        // With a schema it may be no call any more: then it is refused.
        let (Some(without), Some(with)) = (claims(None), claims(shape)) else { continue };
        assert!(
            without.iter().all(|claim| with.contains(claim)),
            "{input} by {shape:?}: {without:?}, {with:?}"
        );
    }
}
