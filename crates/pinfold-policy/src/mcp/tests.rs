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
        format!("{} {}", claim.operation.word(), path.unwrap_or_default())
    };
    claims.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_path_of_a_call_is_claimed_with_what_is_done_to_it() {
    for (tool, input, claims) in [
        ("read_file", json!({"path": "/a"}), "read /a"),
        ("readFile", json!({"filePath": "/a"}), "read /a"),
        ("READ_FILE", json!({"PATH": "/a"}), "read /a"),
        ("read_multiple_files", json!({"paths": ["/a", "b"]}), "read /a, read b"),
        ("get_file_info", json!({"file_name": "a"}), "read a"),
        ("list_directory", json!({"path": "~"}), "list ~"),
        ("directory_tree", json!({"root": "/a"}), "search /a"),
        ("search_files", json!({"path": "/a", "pattern": "/x"}), "search /a"),
        ("write_file", json!({"path": "/a", "content": "/etc/passwd"}), "write /a"),
        ("write_file", json!({"source": "/a"}), "write /a"),
        ("write_file", json!({"from": "/a", "to": "/b"}), "read /a, write /b"),
        ("write_file", json!({"target": "/a"}), "write /a"),
        ("append_file", json!({"filename": "a"}), "write a"),
        ("create_directory", json!({"path": "a"}), "make-dir a"),
        ("mkdir", json!({"dir": "a"}), "make-dir a"),
        ("delete_file", json!({"path": "a"}), "delete a"),
        ("remove_files", json!({"files": [{"path": "a"}, "b"]}), "delete a, delete b"),
        ("move_file", json!({"source": "a", "destination": "b"}), "move-from a, move-to b"),
        ("rename", json!({"old_path": "a", "new_path": "b"}), "move-from a, move-to b"),
        ("rename_file", json!({"path": "a", "newName": "b"}), "move-from a"),
        ("copy_file", json!({"source": "a", "destination": "b"}), "copy-from a, copy-to b"),
        ("copy_file", json!({"path": "a", "dest": "b"}), "copy-from a, copy-to b"),
        ("copy_file", json!({"path": "a"}), "copy-to a"),
        ("edit_file", json!({"edits": [{"file": {"path": "a"}}]}), "write a"),
        ("find_and_replace", json!({"path": "a"}), "write a"),
        ("read_and_delete", json!({"path": "a"}), "delete a"),
        ("get_page", json!({"url": "file:///etc/%70asswd"}), "read /etc/passwd"),
        ("get_page", json!({"url": "FILE://localhost/etc/passwd"}), "read /etc/passwd"),
        ("get_page", json!({"path": "file:/etc/passwd"}), "read /etc/passwd"),
        ("get_page", json!({"url": "https://example.org/a"}), ""),
        ("get_page", json!({"source": "https://example.org/a"}), ""),
        ("read_file", json!({"path": "/a", "output": "/b"}), "read /a, write /b"),
        ("read_file", json!({"target": "/a"}), "read /a"),
        ("frobnicate", json!({"path": "a"}), "write a"),
        ("query", json!({"q": "x"}), ""),
        ("read_file", json!({"path": null}), ""),
        ("read_file", json!({}), ""),
        ("list_allowed_directories", Value::Null, ""),
    ] {
        let call = call(&format!("mcp__fs__{tool}"), &input).unwrap();
        assert_eq!(shown(&call.claims(call.class())), claims, "{tool} {input}");
    }
}

#[test]
fn a_value_that_begins_as_a_path_is_seen_under_any_name() {
    let input = json!({"p": "/opt/x", "q": {"deep": "~/y"}, "content": "/no", "name": "x", "when": "1/2"});
    let call = call("mcp__x__frobnicate", &input).unwrap();
    assert_eq!(shown(&call.unnamed_claims(call.class())), "write /opt/x, write ~/y");
    assert_eq!(call.claims(call.class()), []);
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
        (json!({"f": "https://example.org"}), ""),
        (json!({"f": 3, "where": "no"}), ""),
        (json!({"path": "/etc/passwd", "files": 3}), ""),
        (json!({"below": {"f": "a", "path": "b"}}), "read b"),
    ] {
        let call = McpCall::parse("mcp__fs__read_file", &input, Some(&shape)).unwrap().unwrap();
        assert_eq!(shown(&call.claims(call.class())), claims, "{input}");
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
    assert_eq!(shown(&call.claims(call.class())), "read /a");
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
        let _ = file_url(&format!("file:{text}%{key}"));
    }
}
