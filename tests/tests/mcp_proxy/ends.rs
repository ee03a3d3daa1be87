//! The ends of a proxy, and several servers behind one.

use std::fs;
use std::process::{Command, Stdio};

use pinfold_tests::Bed;
use pinfold_tests::mcp::{Answers, Client, LAST_WITH_HANDSHAKE};
use pinfold_tests::processes::{unique_sleep, until, with_word};
use pinfold_tests::product::pinfold;
use serde_json::{Value, json};

use super::{Wire, bed, listed, nobody, server};

/// Nothing hangs, whoever goes first, and nothing stays behind.
#[test]
fn whoever_goes_first_ends_the_rest() {
    let bed = bed();
    let sleep = unique_sleep();
    let start = format!(
        r#"{{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{{"name":"start","arguments":{{"seconds":"{sleep}"}}}}}}"#
    );
    let started = |options: &[&str]| {
        let wire = Wire::start(&bed, options);
        wire.say(start.as_bytes());
        assert!(wire.hear_until("\"s\"").last().is_some_and(|line| line.contains("started")));
        until("it runs", || !with_word(&sleep).is_empty());
        wire
    };
    let gone = || until("everything has ended", || with_word(&sleep).is_empty());

    // The client says no more, and the server ends with it.
    let mut wire = started(&[]);
    drop(wire.input.take());
    assert_eq!(wire.ends(), Some(0));
    assert_eq!(with_word(&sleep), Vec::<u32>::new());
    // The server ends: whoever waits is told.
    let mut wire = started(&[]);
    wire.say(br#"{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"die"}}"#);
    assert!(wire.hear_until("\"d\"").last().is_some_and(|line| line.contains("the server has ended")));
    assert_eq!(wire.ends(), Some(1));
    assert_eq!(with_word(&sleep), Vec::<u32>::new());
    // The proxy is killed.
    let mut wire = started(&["--", "--stay"]);
    wire.child.kill().expect("it runs");
    gone();
    drop(wire);
}

/// A server that does not want to end is ended.
#[test]
fn a_server_that_stays_is_ended() {
    let bed = bed();
    let mut wire = Wire::start(&bed, &["--", "--stay"]);
    drop(wire.input.take());
    assert_eq!(wire.ends(), Some(0));
    // The last that was said is still carried out, and its answer arrives.
    let mut wire = Wire::start(&bed, &[]);
    wire.say(br#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"write_file","arguments":{"path":"last","content":""}}}"#);
    drop(wire.input.take());
    assert!(wire.hear().contains("written"));
    assert_eq!(wire.ends(), Some(0));
    assert!(bed.folder().join("last").exists());
}

#[test]
fn a_server_that_cannot_be_started_is_told_by_the_exit_code() {
    let bed = bed();
    let code = |command: &mut Command| {
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pinfold starts");
        // Its client waits, and says nothing.
        let input = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        drop(input);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut missing = bed.free(pinfold());
    missing.args(["mcp", "proxy", "--allow-degraded", "--", "no-such-server"]);
    assert_eq!(code(&mut missing).0, Some(127));
    let mut nameless = bed.free(pinfold());
    nameless.args(["mcp", "proxy", "--", "/bin/a__b"]);
    let (ended, told) = code(&mut nameless);
    assert!(ended == Some(2) && told.contains("--name"), "{told}");
}

/// A proxy before two servers: `a` in the folder, `b` in another one.
fn two(bed: &Bed, options: &[&str]) -> Command {
    let other = bed.outside().join("other");
    fs::create_dir_all(&other).expect("a folder");
    let tool = |name: &str| json!({"name": name, "description": "", "inputSchema": {"type": "object"}});
    let tools = ["write_file", "say", "only_b"].map(tool);
    fs::write(other.join("tools.json"), json!(tools).to_string()).expect("the tools");
    let servers = json!({"mcpServers": {
        "a": {"command": server(), "args": [], "env": {"OF_A": "1"}},
        "b": {"command": server(), "pinfold": ["--folder", other, "--disallowedTools", "mcp__b__only_b"]},
    }});
    fs::write(bed.outside().join("servers.json"), servers.to_string()).expect("the list");
    bed.give();
    let mut command = bed.free(pinfold());
    command.args(["mcp", "proxy", "--allow-degraded", "--config"]).arg(bed.outside().join("servers.json"));
    command.args(["--allowedTools", "mcp__a", "--allowedTools", "mcp__b"]).args(options);
    command
}

#[test]
fn several_servers_are_one() {
    let bed = bed();
    let answers: Answers = Box::new(|method, params| {
        (method == "sampling/createMessage").then(|| json!({"said": params["question"]}))
    });
    let (client, hello) = Client::start(&mut two(&bed, &[])).hello(LAST_WITH_HANDSHAKE, json!({}), answers);
    assert_eq!(hello["result"]["serverInfo"]["name"], "pinfold");
    assert_eq!(hello["result"]["capabilities"]["tools"]["listChanged"], true);
    // Before anything was listed, too.
    let written = client.call("b__write_file", json!({"path": "x", "content": "of b"}));
    assert!(!written.is_error(), "{written:?}");
    assert!(bed.outside().join("other/x").exists() && !bed.folder().join("x").exists());
    let names: Vec<String> = listed(&client).into_iter().map(|(name, _)| name).collect();
    let expected =
        ["read_file", "a__write_file", "a__say", "heard", "large", "start", "die", "b__write_file", "b__say"];
    assert_eq!(names, expected);
    assert!(!client.call("a__write_file", json!({"path": "y", "content": ""})).is_error());
    assert!(bed.folder().join("y").exists());
    // Each is held, and judged, by itself.
    let across = client.call("a__write_file", json!({"path": bed.outside().join("other/z"), "content": ""}));
    assert!(
        across.is_error() && across.0["structuredContent"]["tool_name"] == "mcp__a__write_file",
        "{across:?}"
    );
    for unknown in ["write_file", "only_b", "none"] {
        let answer = client.request("tools/call", json!({"name": unknown, "arguments": {}}));
        assert!(answer.get("error").is_some(), "{unknown}: {answer}");
    }
    // Both ask under the same number, and each has its own answer.
    let ask = r#"{"jsonrpc":"2.0","id":"same","method":"sampling/createMessage","params":{"question":"Q"}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    for server in ["a", "b"] {
        let ask = ask.replace('Q', server);
        assert!(!client.call(&format!("{server}__say"), json!({"lines": [ask, answer]})).is_error());
    }
    assert_eq!(client.times("sampling/createMessage"), 2);
    let ids: Vec<Value> = client.heard.borrow().iter().map(|heard| heard["id"].clone()).collect();
    assert_ne!(ids[0], ids[1]);
    let heard = client.call("heard", json!({})).text();
    assert!(heard.contains(r#"{"jsonrpc":"2.0","id":"same","result":{"said":"a"}}"#), "{heard}");
    assert!(!heard.contains(r#""said":"b""#), "{heard}");
    // What only one of them knows, and what all do.
    assert!(client.request("ping", json!({})).get("result").is_some());
    assert_eq!(client.request("resources/read", json!({"uri": "a:b"}))["result"]["method"], "resources/read");
    // One ends, and the other goes on.
    let died = client.request("tools/call", json!({"name": "die", "arguments": {}}));
    assert!(died["error"]["message"].as_str().is_some_and(|m| m.contains("has ended")), "{died}");
    assert!(!client.call("write_file", json!({"path": "w", "content": ""})).is_error(), "the name is free");
    assert!(client.close());
}

#[test]
fn several_servers_end_together() {
    let bed = bed();
    let client = Client::start(&mut two(&bed, &[])).hello(LAST_WITH_HANDSHAKE, json!({}), nobody()).0;
    let sleep = unique_sleep();
    assert!(!client.call("start", json!({"seconds": sleep})).is_error());
    until("it runs", || !with_word(&sleep).is_empty());
    assert!(client.close());
    assert_eq!(with_word(&sleep), Vec::<u32>::new());

    let told = |text: &str| {
        let file = bed.outside().join("bad.json");
        fs::write(&file, text).expect("a file");
        bed.give();
        let mut command = bed.free(pinfold());
        let output = command.args(["mcp", "proxy", "--config"]).arg(file).stdin(Stdio::null()).output();
        let output = output.expect("pinfold starts");
        assert_eq!(output.status.code(), Some(2), "{text}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for text in [
        "",
        "{}",
        r#"{"mcpServers":{}}"#,
        r#"{"mcpServers":{"a__b":{"command":"x"}}}"#,
        r#"{"mcpServers":{"a":{}}}"#,
        r#"{"mcpServers":{"a":{"url":"https://example.org","command":"x"}}}"#,
        r#"{"mcpServers":{"a":{"command":"x","args":"y"}}}"#,
        r#"{"mcpServers":{"a":{"command":"x","env":{"A=B":"y"}}}}"#,
        r#"{"mcpServers":{"a":{"command":"x","env":{"A":1}}}}"#,
    ] {
        assert!(told(text).contains("cannot be used"), "{text}");
    }
}
