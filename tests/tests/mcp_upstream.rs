//! `pinfold mcp proxy --url`: a server that is reached over HTTP, good ones and bad ones.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use pinfold_tests::mcp::{Answers, Client, LAST_WITH_HANDSHAKE};
use pinfold_tests::mcp_http::{Served, TOKEN};
use pinfold_tests::mcp_odd::{Came, good, odd, whole};
use pinfold_tests::processes::{unique_sleep, until, with_word};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};

fn bed() -> Bed {
    Bed::new(Who::Ordinary)
}

fn server(bed: &Bed, options: &[&str]) -> Served {
    let mut command = bed.free(pinfold());
    Served::start(command.args(["mcp", "serve", "--http", "0"]).args(options))
}

fn proxy(bed: &Bed, url: &str, options: &[&str]) -> Command {
    let mut command = bed.free(pinfold());
    command.args(["mcp", "proxy", "--name", "up", "--url", url]).args(options);
    command
}

/// A proxy that says the token.
fn known(bed: &Bed, server: &Served, options: &[&str]) -> Command {
    let mut command = proxy(bed, &server.url, &["--header-env", "Authorization=UP_AUTHORIZATION"]);
    command.args(options).env("UP_AUTHORIZATION", format!("Bearer {TOKEN}"));
    command
}

fn hello(command: &mut Command, capabilities: Value, answers: Answers) -> Client {
    Client::start(command).hello(LAST_WITH_HANDSHAKE, capabilities, answers).0
}

fn plain(command: &mut Command) -> Client {
    hello(command, json!({}), Box::new(|_, _| None))
}

fn write(path: impl std::fmt::Display) -> Value {
    json!({"file_path": path.to_string(), "content": "new\n"})
}

const ALLOWED: [&str; 2] = ["--allowedTools", "mcp__up"];

#[test]
fn calls_are_judged_before_they_are_sent() {
    let (bed, elsewhere) = (bed(), bed());
    let served = server(&elsewhere, &[]);
    // Without a rule nobody lets them pass.
    let client = plain(&mut known(&bed, &served, &[]));
    let refused = client.call("Write", write("a"));
    assert!(refused.is_error() && refused.text().contains("mcp__up__Write"), "{refused:?}");
    assert!(client.close());
    let client =
        plain(&mut known(&bed, &served, &[ALLOWED[0], ALLOWED[1], "--disallowedTools", "mcp__up__Delete"]));
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"Write") && !names.contains(&"Delete"), "{names:?}");
    assert!(!client.call("Write", write("a")).is_error());
    assert!(elsewhere.folder().join("a").exists() && !bed.folder().join("a").exists());
    assert!(client.call("Delete", json!({"path": "a"})).is_error());
    assert!(
        client.call("Write", write(bed.outside().join("x").display())).is_error(),
        "a path outside is asked about"
    );
    // What the server says about it comes as it is.
    assert!(client.call("Read", json!({"file_path": "missing"})).is_error());
    assert!(client.close());
    // The same in the newest revision.
    let client = Client::start(&mut known(&bed, &served, &ALLOWED)).newest(json!({}));
    assert!(client.request("server/discover", json!({})).get("result").is_some());
    assert!(!client.call("Write", write("b")).is_error());
    assert!(elsewhere.folder().join("b").exists());
    assert!(client.close());
}

/// What the server asks the person passes through, both ways.
#[test]
fn forms_of_the_server_reach_the_client() {
    let (bed, elsewhere) = (bed(), bed());
    let served = server(&elsewhere, &[]);
    // Inside the folder of the proxy, and outside that of the server: only the server asks.
    let place = bed.folder().join("x");
    fs::set_permissions(bed.folder(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("a mode");
    for (answer, written) in [("no", false), ("yes", true)] {
        let answers: Answers = Box::new(move |method, _| {
            (method == "elicitation/create")
                .then(|| json!({"action": "accept", "content": {"answer": answer}}))
        });
        let client = hello(&mut known(&bed, &served, &ALLOWED), json!({"elicitation": {}}), answers);
        let called = client.call("Write", write(place.display()));
        assert_eq!((!called.is_error(), place.exists()), (written, written), "{called:?}");
        assert_eq!(client.times("elicitation/create"), 1);
        assert!(client.close());
    }
}

#[test]
fn calls_that_are_cancelled_or_left_end_at_the_server() {
    let (bed, elsewhere) = (bed(), bed());
    let served =
        server(&elsewhere, &["--allow-bash", "--allow-degraded", "--permission-mode", "bypassPermissions"]);
    let client = plain(&mut known(&bed, &served, &ALLOWED));
    let sleep = unique_sleep();
    let bash = |sleep: &str| json!({"name": "Bash", "arguments": {"command": format!("sleep {sleep}")}});
    let id = client.send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    client.notify("notifications/cancelled", json!({"requestId": id}));
    until("the command has ended", || with_word(&sleep).is_empty());
    assert!(!client.call("Write", write("a")).is_error(), "the session goes on");
    // The proxy is killed: nobody is there for the answer any more.
    let mut client = client;
    let sleep = unique_sleep();
    client.send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    client.child().kill().expect("it runs");
    until("the command has ended", || with_word(&sleep).is_empty());
    // The server ends in the middle of a call.
    let client = plain(&mut known(&bed, &served, &ALLOWED));
    let sleep = unique_sleep();
    let id = client.send("tools/call", bash(&sleep));
    until("the command runs", || !with_word(&sleep).is_empty());
    assert!(served.end());
    let answer = client.answer(id);
    assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("server")), "{answer}");
    assert!(client.close());
}

#[test]
fn it_is_said_what_is_not_reached() {
    let bed = bed();
    let says = |url: &str, options: &[&str]| {
        let output = proxy(&bed, url, options).env_remove("UNSET").output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (url, options, code, words) in [
        ("http://example.com/mcp", &[][..], 2, "unencrypted"),
        ("ftp://example.com/mcp", &[], 2, "another scheme"),
        ("https://user@example.com/mcp", &[], 2, "a user"),
        ("https://example.com/mcp", &["--header-env", "Authorization=UNSET"], 2, "not set"),
        ("https://example.com/mcp", &["--header-env", "Authorization=a secret=x"], 2, "not set"),
        ("https://example.com/mcp", &["--header-env", "Host=HOME"], 2, "no such header"),
        ("https://example.com/mcp", &["--header-env", "Mcp-Session-Id=HOME"], 2, "no such header"),
        ("https://example.com/mcp", &["--header-env", "Authorization"], 2, "NAME=VARIABLE"),
        ("https://example.com/mcp", &["--", "server"], 2, "cannot be used with"),
        ("https://example.com/mcp", &["--disallowedTools", "WebFetch(domain:example.com)"], 3, "denies"),
    ] {
        let (ended, said) = says(url, options);
        assert_eq!(ended, Some(code), "{url} {options:?}: {said}");
        assert!(said.contains(words), "{url} {options:?}: {said}");
    }
    // One name stands for this machine by itself.
    let (url, _) = odd(good);
    let client = plain(&mut proxy(&bed, &url.replace("127.0.0.1", "localhost"), &[]));
    assert!(client.request("tools/list", json!({})).get("result").is_some());
    assert!(client.close());
}

/// What is answered to a call.
type Odd = fn(&Came) -> Vec<u8>;

/// Only an answer to a call is as `odd` says.
fn only_calls(
    odd: impl Fn(&Came) -> Vec<u8> + Send + Sync + 'static,
) -> impl Fn(&Came) -> Vec<u8> + Send + Sync {
    move |came| {
        if came.head.starts_with("GET") {
            return whole("405 Method Not Allowed", "text/plain", b"");
        }
        if came.body["method"] == "tools/call" { odd(came) } else { good(came) }
    }
}

fn call(client: &Client) -> Value {
    client.request("tools/call", json!({"name": "t", "arguments": {}}))
}

#[test]
fn answers_come_in_every_form_that_they_may_have() {
    let bed = bed();
    let stream = |body: &str| whole("200 OK", "text/event-stream; charset=utf-8", body.as_bytes());
    let (url, came) = odd(only_calls(good));
    let client = plain(&mut proxy(&bed, &url, &ALLOWED));
    let answer = call(&client);
    assert_eq!(answer["result"]["odd"], json!({"kept": 1.5}), "{answer}");
    assert!(client.close());
    let all: Vec<Came> = came.try_iter().collect();
    let after = all.iter().skip(1).filter(|came| came.head.starts_with("POST"));
    assert!(
        after.clone().count() >= 3 && after.clone().all(|came| came.has("mcp-protocol-version: 2025-06-18"))
    );

    let progress = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let (url, _) = odd(only_calls(move |came| {
        let answer = json!({"jsonrpc": "2.0", "id": came.body["id"], "result": {"content": [], "big": "x".repeat(1 << 20)}});
        stream(&format!(": hello\n\ndata: {progress}\n\nevent: message\r\nid: 1\r\ndata: {answer}\r\n\r\n"))
    }));
    let client = plain(&mut proxy(&bed, &url, &ALLOWED));
    let answer = call(&client);
    assert_eq!(answer["result"]["big"].as_str().map(str::len), Some(1 << 20));
    assert_eq!(client.times("notifications/message"), 1);
    assert!(client.close());

    // 50 MB in one result.
    let (url, _) = odd(only_calls(|came| {
        let text = "0123456789abcde\n".repeat(50 << 16);
        let result = json!({"content": [{"type": "text", "text": text}]});
        let answer = json!({"jsonrpc": "2.0", "id": came.body["id"], "result": result});
        whole("200 OK", "application/json", answer.to_string().as_bytes())
    }));
    let client = plain(&mut proxy(&bed, &url, &ALLOWED));
    let answer = call(&client);
    assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(50 << 20));
    assert!(client.close());
}

#[test]
fn what_is_no_answer_is_told_and_ends_nothing() {
    let bed = bed();
    let cases: [(Odd, &str); 8] = [
        (|_| whole("401 Unauthorized", "text/plain", b"no"), "--header-env"),
        (|_| whole("500 Internal Server Error", "text/html", b"<b>\x1b[31moh</b>"), "500"),
        (|_| whole("200 OK", "application/json", b"{"), "answered 200"),
        (|_| whole("202 Accepted", "text/plain", b""), "answered 202"),
        (
            |came| {
                whole("400 Bad Request", "application/json", json!({"jsonrpc": "2.0", "id": came.body["id"], "error": {"code": -32020, "message": "own words"}}).to_string().as_bytes())
            },
            "own words",
        ),
        (
            |_| {
                whole(
                    "400 Bad Request",
                    "application/json",
                    br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"own words"}}"#,
                )
            },
            "own words",
        ),
        (
            |_| {
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100\r\n\r\ndata: {"
                    .to_vec()
            },
            "hung up",
        ),
        (|_| b"no http at all".to_vec(), "cannot be reached"),
    ];
    for (odd_answer, words) in cases {
        let (url, _) = odd(only_calls(odd_answer));
        let client = plain(&mut proxy(&bed, &url, &ALLOWED));
        let answer = call(&client);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(words) && !message.contains('\x1b'), "{words}: {answer}");
        assert!(client.request("tools/list", json!({})).get("result").is_some(), "it goes on");
        assert!(client.close());
    }
    // Nobody is there.
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let client = Client::start(&mut proxy(&bed, &format!("http://{closed}/mcp"), &[]));
    let (client, said) = client.hello(LAST_WITH_HANDSHAKE, json!({}), Box::new(|_, _| None));
    assert!(said["error"]["message"].as_str().is_some_and(|why| why.contains("cannot be reached")), "{said}");
    assert!(client.close());
}

/// A session that the server does not know any more is over for the client too, which begins anew.
#[test]
fn a_session_that_is_forgotten_ends_the_proxy() {
    let bed = bed();
    let (url, _) = odd(|came| match came.body["method"].as_str() {
        Some("initialize") => {
            let head = String::from_utf8(good(came)).expect("text");
            head.replacen("\r\n", "\r\nmcp-session-id: s-1\r\n", 1).into_bytes()
        }
        Some("tools/call") if came.has("mcp-session-id: s-1") => whole("404 Not Found", "text/plain", b""),
        _ => good(came),
    });
    let mut client = plain(&mut proxy(&bed, &url, &ALLOWED));
    let answer = call(&client);
    assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("forgotten")), "{answer}");
    until("it has ended", || client.child().try_wait().expect("it was started").is_some());
    assert_eq!(client.child().wait().expect("it has ended").code(), Some(1));
}

/// A server may say that it has another path, not that it is somebody else.
#[test]
fn nobody_is_followed_to_another_host_and_no_secret_goes_there() {
    let bed = bed();
    let (thief, stolen) = odd(good);
    let (url, came) = odd(move |came| {
        if came.head.starts_with("POST /mcp/ ") {
            return good(came);
        }
        let head = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /mcp/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        head.as_bytes().to_vec()
    });
    let secret = |command: &mut Command| {
        command.args(["--header-env", "X-Key=UP_KEY"]).env("UP_KEY", "the-secret-key");
        plain(command)
    };
    let client = secret(&mut proxy(&bed, &url, &ALLOWED));
    assert_eq!(call(&client)["result"]["content"][0]["text"], "done");
    assert!(client.close());
    assert!(came.try_iter().all(|came| came.has("x-key: the-secret-key")));

    for location in [thief.clone(), thief.replace("http:", ""), "https://evil.example/mcp".to_owned()] {
        let (url, _) = odd(only_calls(move |_| {
            format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .into_bytes()
        }));
        let client = secret(&mut proxy(&bed, &url, &ALLOWED));
        let answer = call(&client);
        assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("leads on")), "{answer}");
        assert!(client.close());
    }
    assert!(stolen.try_iter().next().is_none(), "nobody else heard anything");
}

#[test]
fn results_have_no_secrets_in_them_and_tools_are_remembered_by_the_address() {
    let bed = bed();
    let (url, _) = odd(only_calls(|came| {
        let text = ["key: ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
        let result = json!({"content": [{"type": "text", "text": text}]});
        let answer = json!({"jsonrpc": "2.0", "id": came.body["id"], "result": result});
        whole("200 OK", "application/json", answer.to_string().as_bytes())
    }));
    let client = plain(&mut proxy(&bed, &url, &ALLOWED));
    client.request("tools/list", json!({}));
    let answer = call(&client);
    assert!(answer.to_string().contains("[REDACTED:"), "{answer}");
    assert!(client.close());
    let pins = fs::read_dir(bed.home().join(".local/state/pinfold/mcp")).expect("what is known");
    let pinned =
        pins.filter_map(|file| fs::read_to_string(file.expect("a file").path()).ok()).collect::<String>();
    assert!(pinned.contains(&url) && pinned.contains("\"t\""), "{pinned}");
}

/// A server of a file is reached like one of the command line.
#[test]
fn servers_of_a_file_are_reached_too() {
    let (bed, elsewhere) = (bed(), bed());
    let served = server(&elsewhere, &[]);
    let config = bed.folder().join("servers.json");
    let headers = json!({"Authorization": format!("Bearer {TOKEN}")});
    let file = json!({"mcpServers": {"up": {"type": "http", "url": served.url, "headers": headers}}});
    fs::write(&config, file.to_string()).expect("a file");
    bed.give();
    let mut command = bed.free(pinfold());
    command.args(["mcp", "proxy", "--config"]).arg(&config).args(ALLOWED);
    let client = plain(&mut command);
    assert!(!client.call("Write", write("a")).is_error());
    assert!(elsewhere.folder().join("a").exists());
    assert!(client.close());
    for odd in [json!({"url": 7}), json!({"url": "https://example.com", "command": "x"}), json!({})] {
        fs::write(&config, json!({"mcpServers": {"up": odd}}).to_string()).expect("a file");
        let mut command = bed.free(pinfold());
        let output = command.args(["mcp", "proxy", "--config"]).arg(&config).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
