//! `pinfold mcp serve --http`: whoever has the token, each client a session of its own, and everybody else nothing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use pinfold_tests::mcp::{Answers, Client, LAST_WITH_HANDSHAKE, NEWEST};
use pinfold_tests::mcp_http::{Posts, Served, TOKEN};
use pinfold_tests::processes::{unique_sleep, until, with_word};
use pinfold_tests::product::pinfold;
use pinfold_tests::record::sessions;
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};

const UNLIMITED: [&str; 4] = ["--allow-bash", "--allow-degraded", "--permission-mode", "bypassPermissions"];

fn bed() -> Bed {
    Bed::new(Who::Ordinary)
}

fn command(bed: &Bed, options: &[&str]) -> Command {
    let mut command = bed.free(pinfold());
    command.args(["mcp", "serve", "--http", "0"]).args(options);
    command
}

fn served(bed: &Bed, options: &[&str]) -> Served {
    Served::start(&mut command(bed, options))
}

fn hello(server: &Served, capabilities: Value, answers: Answers) -> Client {
    Client::over_http(server).hello(LAST_WITH_HANDSHAKE, capabilities, answers).0
}

fn plain(server: &Served) -> Client {
    hello(server, json!({}), Box::new(|_, _| None))
}

fn write(path: impl std::fmt::Display) -> Value {
    json!({"file_path": path.to_string(), "content": "new\n"})
}

fn chooses(answer: &'static str) -> Answers {
    Box::new(move |method, _| {
        (method == "elicitation/create").then(|| json!({"action": "accept", "content": {"answer": answer}}))
    })
}

#[test]
fn every_revision_is_spoken_over_http() {
    let bed = bed();
    let server = served(&bed, &[]);
    for said in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let (client, hello) = Client::over_http(&server).hello(said, json!({}), Box::new(|_, _| None));
        assert_eq!(hello["result"]["protocolVersion"], said);
        assert!(client.session().is_some());
        assert!(!client.call("Write", write(said)).is_error());
        assert!(!client.call("Read", json!({"file_path": said})).is_error());
        let refused = client.call("Write", write(bed.outside().join("x").display()));
        assert!(refused.is_error() && refused.text().contains("outside the folder"), "{refused:?}");
        assert!(client.close());
    }
    let client = Client::over_http(&server).newest(json!({}));
    let found = client.request("server/discover", json!({}));
    assert!(found["result"]["supportedVersions"].as_array().expect("versions").contains(&json!(NEWEST)));
    assert!(!client.call("Write", write(NEWEST)).is_error());
    assert!(client.call("Write", write(bed.outside().join("x").display())).is_error());
    assert_eq!(client.session(), None, "the newest revision has no sessions");
    assert!(server.end());
    assert!(!bed.outside().join("x").exists());
}

#[test]
fn a_person_is_asked_through_their_client() {
    let bed = bed();
    let server = served(&bed, &[]);
    for (answer, written) in [("yes", true), ("no", false)] {
        let place = bed.outside().join(answer);
        let client = hello(&server, json!({"elicitation": {}}), chooses(answer));
        let called = client.call("Write", write(place.display()));
        assert_eq!((!called.is_error(), place.exists()), (written, written), "{called:?}");
        assert_eq!(client.times("elicitation/create"), 1);
        assert!(client.close());
    }
    // The newest revision: a question is the answer to the call.
    let place = bed.outside().join("newest");
    let client = Client::over_http(&server).newest(json!({"elicitation": {}}));
    let mut call = json!({"name": "Write", "arguments": write(place.display())});
    let asked = client.request("tools/call", call.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({"consent": {"action": "accept", "content": {"answer": "yes"}}});
    let done = client.request("tools/call", call);
    assert_eq!((done["result"]["isError"].as_bool(), place.exists()), (Some(false), true), "{done}");
}

/// What one client was granted is not granted to another.
#[test]
fn sessions_know_nothing_of_each_other() {
    let bed = bed();
    let server = served(&bed, &[]);
    let place = bed.outside().join("x");
    let (one, other) = (hello(&server, json!({"elicitation": {}}), chooses("session")), plain(&server));
    assert_ne!(one.session(), other.session());
    assert!(!one.call("Write", write(place.display())).is_error());
    assert!(!one.call("Write", write(place.display())).is_error(), "granted for the session");
    assert_eq!(one.times("elicitation/create"), 1);
    assert!(other.call("Write", write(place.display())).is_error());
    // Nor are its roots.
    fs::create_dir(bed.folder().join("sub")).expect("a folder");
    bed.give();
    let root = format!("file://{}", bed.folder().join("sub").display());
    let roots: Answers =
        Box::new(move |method, _| (method == "roots/list").then(|| json!({"roots": [{"uri": root}]})));
    let narrow = hello(&server, json!({"roots": {}}), roots);
    assert!(narrow.call("Write", write("top")).is_error());
    assert!(!narrow.call("Write", write("sub/a")).is_error());
    assert!(!other.call("Write", write("top")).is_error());
    // A session that was ended is none any more, and the others go on.
    let session = one.session().expect("a session");
    assert!(one.close());
    let gone = after(&server, &session);
    assert!(gone.starts_with("HTTP/1.1 404 "), "{gone}");
    assert!(!other.call("Read", json!({"file_path": "top"})).is_error());
}

/// Each from its first call to its end; that of the newest revision goes on as long as the server.
#[test]
fn sessions_are_in_the_record_from_their_beginning_to_their_end() {
    let bed = bed();
    let server = served(&bed, &[]);
    let (one, other) = (plain(&server), plain(&server));
    for client in [&one, &other] {
        assert!(!client.call("Glob", json!({"pattern": "*"})).is_error());
    }
    let newest = Client::over_http(&server).newest(json!({}));
    assert!(!newest.call("Glob", json!({"pattern": "*"})).is_error());
    let begun = sessions(&bed.home());
    assert!(begun.len() == 3 && begun.iter().all(|(_, what)| what == "start mcp serve"), "{begun:?}");
    let ended = |n: usize| vec![(begun[n].0.clone(), "end".to_owned())];
    assert!(one.close());
    until("its end is recorded", || sessions(&bed.home()) == [begun.clone(), ended(0)].concat());
    assert!(!other.call("Glob", json!({"pattern": "*"})).is_error());
    assert!(server.end());
    let mut rest = sessions(&bed.home()).split_off(4);
    rest.sort();
    let mut expected = [ended(1), ended(2)].concat();
    expected.sort();
    assert_eq!(rest, expected);
}

/// What is answered to somebody who says a session that is not theirs, or none.
fn after(server: &Served, session: &str) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    server.raw(post(server, &[("mcp-session-id", session)], body).as_bytes())
}

fn post(server: &Served, more: &[(&str, &str)], body: &str) -> String {
    let more = more.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<Vec<_>>().concat();
    let authorization = if more.contains("authorization") {
        String::new()
    } else {
        format!("authorization: Bearer {TOKEN}\r\n")
    };
    let host = if more.contains("host:") { String::new() } else { format!("host: {}\r\n", server.place()) };
    format!(
        "POST /mcp HTTP/1.1\r\n{host}{authorization}{more}connection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn whoever_does_not_say_the_token_to_us_is_turned_away() {
    let bed = bed();
    let server = served(&bed, &[]);
    let port = server.place().rsplit_once(':').expect("a port").1.to_owned();
    let evil = format!("evil.example:{port}");
    let ours = format!("http://{}", server.place());
    let longer = format!("Bearer {TOKEN}0");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let body = initialize.to_string();
    let cases: [(&str, &[(&str, &str)]); 10] = [
        ("200", &[]),
        ("200", &[("origin", &ours)]),
        ("401", &[("authorization", "")]),
        ("401", &[("authorization", "Bearer wrong")]),
        ("401", &[("authorization", &longer)]),
        ("401", &[("authorization", "Basic 0123")]),
        ("403", &[("host", &evil)]),
        ("403", &[("host", "127.0.0.1:1")]),
        ("403", &[("origin", "http://evil.example")]),
        ("403", &[("origin", "null")]),
    ];
    for (status, headers) in cases {
        let said = server.raw(post(&server, headers, &body).as_bytes());
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{headers:?}: {said}");
        assert_eq!(status == "401", said.contains("www-authenticate: Bearer"), "{said}");
        assert_eq!(status == "200", said.contains("mcp-session-id"), "{said}");
        // No page reads what is answered here.
        assert!(!said.to_lowercase().contains("access-control"), "{said}");
    }
    let elsewhere = post(&server, &[], &body).replace("/mcp", "/other");
    assert!(server.raw(elsewhere.as_bytes()).starts_with("HTTP/1.1 404 "));
    assert!(after(&server, "11111111-1111-1111-1111-111111111111").starts_with("HTTP/1.1 404 "));
    let (send, heard) = std::sync::mpsc::channel();
    Posts::to(&server.url, None).send(body.as_bytes(), &send);
    assert_eq!(heard.recv().expect("an answer")["status"], 401);
    assert!(!plain(&server).call("Write", write("a")).is_error(), "it still serves");
}

#[test]
fn what_is_too_large_or_no_http_ends_nothing() {
    let bed = bed();
    let server = served(&bed, &[]);
    let mut long = post(&server, &[], "{}");
    long = long.replace("connection: close", &format!("x-long: {}", "a".repeat(200_000)));
    assert!(server.raw(long.as_bytes()).starts_with("HTTP/1.1 431 "));
    let many = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect::<Vec<_>>().concat();
    let many = post(&server, &[], "{}").replace("connection: close\r\n", &many);
    assert!(server.raw(many.as_bytes()).starts_with("HTTP/1.1 431 "));
    let claimed = post(&server, &[], "{}").replace("content-length: 2", "content-length: 99999999999");
    assert!(server.raw(claimed.as_bytes()).starts_with("HTTP/1.1 413 "));
    for junk in ["\x16\x03\x01\x02\0\x01\0", "GET\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "{}\n"] {
        let said = server.raw(junk.as_bytes());
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 4") || said.starts_with("HTTP/1.0 4"),
            "{said}"
        );
    }
    for body in ["", "{", "null", "[]", "[[[]]]", "\u{feff}{}", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#]
    {
        let said = server.raw(post(&server, &[], body).as_bytes());
        assert!(said.starts_with("HTTP/1.1 4"), "{body}: {said}");
    }
    // Chunks that never end are too many at some point.
    let endless = post(&server, &[], "").replace("content-length: 0", "transfer-encoding: chunked");
    let mut stream = server.connected();
    stream.write_all(endless.as_bytes()).expect("it is heard");
    let chunk = format!("100000\r\n{}\r\n", "a".repeat(1 << 20));
    let cut_off = (0..200).any(|_| stream.write_all(chunk.as_bytes()).is_err());
    assert!(cut_off, "it was read for ever");
    let client = plain(&server);
    let large = json!({"file_path": "large", "content": "0123456789abcde\n".repeat(1 << 20)});
    assert!(!client.call("Write", large).is_error(), "16 MiB");
    assert!(server.end());
}

/// A client that says half of something holds nobody up.
#[test]
fn who_never_ends_what_they_say_keeps_nobody_waiting() {
    let bed = bed();
    let server = served(&bed, &[]);
    let begun = post(&server, &[], &"x".repeat(100));
    let slow: Vec<_> = (0..40)
        .map(|n| {
            let mut stream = server.connected();
            let part =
                if n % 2 == 0 { &begun.as_bytes()[..40] } else { &begun.as_bytes()[..begun.len() - 50] };
            stream.write_all(part).expect("it is heard");
            stream
        })
        .collect();
    assert!(!plain(&server).call("Write", write("a")).is_error());
    drop(slow);
    assert!(server.end());
}

/// More than there may be at one time come after one another.
#[test]
fn sessions_that_are_silent_make_place_for_others() {
    let bed = bed();
    let server = served(&bed, &["--no-record"]);
    let clients: Vec<Client> = (0..40).map(|_| plain(&server)).collect();
    for client in clients.iter().rev().take(20) {
        assert!(!client.call("LS", json!({"path": "."})).is_error());
    }
    let first = clients[0].session().expect("a session");
    assert!(after(&server, &first).starts_with("HTTP/1.1 404 "));
    assert!(server.end());
}

#[test]
fn a_call_that_is_cancelled_or_left_alone_ends() {
    let bed = bed();
    let server = served(&bed, &UNLIMITED);
    // The client takes it back.
    let client = plain(&server);
    let sleep = unique_sleep();
    let bash = |sleep: &str| json!({"name": "Bash", "arguments": {"command": format!("sleep {sleep}")}});
    let id = client.send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    client.notify("notifications/cancelled", json!({"requestId": id}));
    until("the command has ended", || with_word(&sleep).is_empty());
    assert!(!client.call("Write", write("a")).is_error());

    // The session is ended.
    let sleep = unique_sleep();
    client.send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    assert!(client.close());
    until("the command has ended", || with_word(&sleep).is_empty());

    // The client vanishes: its connection breaks off and nobody comes back.
    let client = plain(&server);
    let session = client.session().expect("a session");
    let sleep = unique_sleep();
    let body =
        json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": bash(&sleep)}).to_string();
    let mut stream = server.connected();
    stream.write_all(post(&server, &[("mcp-session-id", &session)], &body).as_bytes()).expect("it is heard");
    until("the command runs", || !with_word(&sleep).is_empty());
    drop(stream);
    until("the command has ended", || with_word(&sleep).is_empty());
    assert!(!client.call("Read", json!({"file_path": "a"})).is_error(), "the session goes on");

    // In the newest revision whoever hangs up takes the call back.
    let sleep = unique_sleep();
    let mut params = bash(&sleep);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers = [("mcp-protocol-version", NEWEST), ("mcp-method", "tools/call"), ("mcp-name", "Bash")];
    let mut stream = server.connected();
    stream.write_all(post(&server, &headers, &body).as_bytes()).expect("it is heard");
    until("the command runs", || !with_word(&sleep).is_empty());
    drop(stream);
    until("the command has ended", || with_word(&sleep).is_empty());

    // The server is ended, and waits for nobody.
    let sleep = unique_sleep();
    client.send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    assert!(server.end());
    until("the command has ended", || with_word(&sleep).is_empty());

    // The server is killed half way, and the next one works.
    let server = served(&bed, &UNLIMITED);
    let sleep = unique_sleep();
    plain(&server).send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    drop(server);
    until("the command has ended", || with_word(&sleep).is_empty());
    assert!(!plain(&served(&bed, &UNLIMITED)).call("Write", write("b")).is_error());
}

/// A client that asks and never reads is let go of, and its server ends when it is told to.
#[test]
fn who_never_reads_is_not_waited_for() {
    let bed = bed();
    let server = served(&bed, &["--no-record"]);
    let client = plain(&server);
    fs::write(bed.folder().join("large"), "0123456789abcde\n".repeat(1 << 13)).expect("a file");
    bed.give();
    let session = client.session().expect("a session");
    let deaf: Vec<_> = (0..100)
        .map(|id| {
            let call = json!({"name": "Read", "arguments": {"file_path": "large"}});
            let body = json!({"jsonrpc": "2.0", "id": 1000 + id, "method": "tools/call", "params": call});
            let mut stream = server.connected();
            let said = post(&server, &[("mcp-session-id", &session)], &body.to_string());
            stream.write_all(said.as_bytes()).expect("it is heard");
            stream
        })
        .collect();
    assert!(!client.call("Read", json!({"file_path": "large"})).is_error());
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its memory");
    let kib: u64 = peak.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
    assert!(kib < 160 << 10, "{kib} KiB");
    assert!(server.end());
    drop(deaf);
}

#[test]
fn a_token_is_made_for_a_start_where_nobody_else_reads_it() {
    let bed = bed();
    let mut command = command(&bed, &[]);
    // As a person starts it.
    command.env_remove("PINFOLD_MCP_TOKEN");
    let server = Served::start_without_token(&mut command);
    let port = server.place().rsplit_once(':').expect("a port").1.to_owned();
    let file = bed.home().join(format!(".local/state/pinfold/mcp/http-{port}.token"));
    let token = fs::read_to_string(&file).expect("the token");
    assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    let (send, heard) = std::sync::mpsc::channel();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    Posts::to(&server.url, Some(token.trim())).send(body.to_string().as_bytes(), &send);
    assert_eq!(heard.recv().expect("an answer")["result"]["serverInfo"]["name"], "pinfold");
    // Nor does whoever has it read it by our tools.
    let posts = Posts::to(&server.url, Some(token.trim()));
    posts.send(body.to_string().as_bytes(), &send);
    heard.recv().expect("an answer");
    let read = json!({"name": "Read", "arguments": {"file_path": file}});
    let read = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": read});
    posts.send(read.to_string().as_bytes(), &send);
    let answer = heard.recv_timeout(Duration::from_secs(30)).expect("an answer");
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(!answer.to_string().contains(token.trim()));
    assert!(server.end());
    assert!(!file.exists(), "it goes with the server");
}

#[test]
fn it_is_said_what_cannot_be_served() {
    let bed = bed();
    let says = |options: &[&str], token: Option<&str>| {
        let mut command = bed.free(pinfold());
        command.args(["mcp", "serve"]).args(options);
        token.map(|token| command.env("PINFOLD_MCP_TOKEN", token));
        let output = command.output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (options, token, words) in [
        (&["--http", "0.0.0.0:0"][..], None, "--beyond-this-machine"),
        (&["--http", "nonsense"], None, "no port"),
        (&["--http-host", "box.example"], None, "--http"),
        (&["--http", "0"], Some("short"), "32 to 512"),
        (&["--http", "0", "--token-file", "/dev/null"], None, "no file"),
    ] {
        let (code, said) = says(options, token);
        assert_eq!(code, Some(2), "{options:?}: {said}");
        assert!(said.contains(words), "{options:?}: {said}");
    }
    let server = served(&bed, &[]);
    let (code, said) = says(&["--http", server.place().rsplit_once(':').expect("a port").1], Some(TOKEN));
    assert_eq!(code, Some(1), "{said}");
    drop(server);
}

/// Clients do not notice that a server is gone: some wait for minutes.
#[test]
fn whoever_waits_for_a_call_hears_that_the_server_ends() {
    for newest in [false, true] {
        let bed = bed();
        let server = served(&bed, &UNLIMITED);
        let client = if newest { Client::over_http(&server).newest(json!({})) } else { plain(&server) };
        let sleep = unique_sleep();
        let command = json!({"name": "Bash", "arguments": {"command": format!("sleep {sleep}")}});
        let id = client.send("tools/call", command);
        until("the command runs", || !with_word(&sleep).is_empty());
        assert!(server.end());
        let answer = client.answer(id);
        assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("has ended")), "{answer}");
        assert!(with_word(&sleep).is_empty(), "and the command has ended too");
    }
}
