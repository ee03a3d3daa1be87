use std::fmt::Write as _;

use pinfold_commands::Assumption;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(name: &str, input: &Value) -> Result<McpCall, String> {
    match McpCall::parse(name, input, None) {
        Some(call) => {
            call.map_err(|bad| format!("{}: expected {}, found {}", bad.field, bad.expected, bad.found))
        }
        None => Err("no name of an MCP tool".to_owned()),
    }
}

fn shown(claims: &[PathClaim]) -> String {
    let one = |claim: &PathClaim| {
        let path = claim.path.as_ref().map(|path| path.as_os_str().to_string_lossy().into_owned());
        let why = match claim.origin {
            Origin::Supposed(Assumption::Reading) => "reading ",
            Origin::Supposed(Assumption::Evident) => "evident ",
            Origin::Supposed(Assumption::Text) => "text ",
            Origin::Supposed(Assumption::Prose) => "prose ",
            _ => "",
        };
        format!("{why}{} {}", claim.operation.as_str(), path.unwrap_or_default())
    };
    claims.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Each line: a tool, its input, and every path that is claimed with what is done to it. In front of what is no path by
/// its name stands why it could be one. `PINFOLD_BLESS=1` writes them anew, to be proof-read.
#[test]
fn every_text_of_a_call_that_could_be_a_path_is_claimed() {
    const CASES: &str = include_str!("cases.jsonl");
    let mut written = String::new();
    for line in CASES.lines() {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let call = call(&format!("mcp__fs__{}", case["tool"].as_str().unwrap()), &case["input"]).unwrap();
        case["claims"] = shown(&call.claims(call.class())).into();
        let _ = writeln!(written, "{case}");
    }
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/cases.jsonl"), &written).unwrap();
    }
    for (found, expected) in written.lines().zip(CASES.lines()) {
        assert_eq!(found, expected);
    }
}

#[test]
fn what_is_known_of_arguments_counts_before_their_names() {
    let shape =
        json!({"f": "path", "where": {"*": "path"}, "files": "text", "path": "text", "content": "path"});
    let shape = Shape::parse(&shape).unwrap();
    for (input, claims) in [
        (json!({"f": "a"}), "read a"),
        (json!({"f": ["a", "b"]}), "read a, read b"),
        (json!({"where": {"x": "a", "y": ["b"]}}), "read a, read b"),
        (json!({"content": "a"}), "read a"),
        // A path by its name is what it says, also where it could be a URL.
        (json!({"f": "https://example.org"}), "read https://example.org"),
        (json!({"f": 3, "where": "no"}), ""),
        (json!({"path": "/etc/passwd", "files": 3}), ""),
        (json!({"below": {"f": "a", "path": "b"}}), "read b"),
    ] {
        let call = McpCall::parse("mcp__fs__read_file", &input, Some(&shape)).unwrap().unwrap();
        let mut named = call.claims(call.class());
        named.retain(|claim| claim.origin == Origin::Foreign);
        assert_eq!(shown(&named), claims, "{input}");
    }
}

#[test]
fn a_path_argument_that_is_no_path_is_an_error() {
    for (input, words) in [
        (json!({"path": 42}), "path: expected a path as a string, found the number 42"),
        (json!({"paths": ["a", true]}), "paths[1]: expected a path as a string, found the boolean true"),
        (json!({"a": {"file_path": ""}}), "a.file_path: expected a path, found an empty string"),
        (json!({"path": "a\u{0}b"}), "path: expected a path without NUL bytes, found a NUL byte"),
        (json!("a"), ": expected an object, found a string"),
    ] {
        assert_eq!(call("mcp__fs__read_file", &input), Err(words.to_owned()), "{input}");
    }
    // A name that may mean something else is only noted.
    let paging = call("mcp__search__list", &json!({"from": 0, "to": 10})).unwrap();
    assert_eq!(paging.odd().len(), 2);
    assert_eq!(paging.claims(paging.class()), []);
}

#[test]
fn names_are_taken_apart() {
    for (name, parts) in [
        ("mcp__fs__read_file", Some(("fs", "read_file"))),
        ("mcp__my_server__a__b", Some(("my_server", "a__b"))),
        ("mcp__fs", None),
        ("mcp____x", None),
        ("mcp__fs__", None),
        ("Read", None),
    ] {
        assert_eq!(split_name(name), parts, "{name}");
    }
}

#[test]
fn depth_is_no_recursion() {
    let mut input = json!({"path": "/a"});
    for _ in 0..1000 {
        input = json!({"x": input});
    }
    let call = call("mcp__fs__read_file", &input).unwrap();
    assert_eq!(shown(&call.claims(call.class())), "read /a, prose read ./a");
}

proptest! {
    #[test]
    fn no_call_panics(name in "\\PC{0,30}", key in "\\PC{0,20}", text in "\\PC{0,30}") {
        let input = json!({key.as_str(): text, "nested": [{key.as_str(): [text.clone()]}]});
        for name in [name.clone(), format!("mcp__{name}"), format!("mcp__a__{name}")] {
            if let Some(Ok(call)) = McpCall::parse(&name, &input, None) {
                let _ = call.claims(call.class());
            }
        }
    }
}
