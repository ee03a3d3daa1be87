//! `pinfold mcp serve`: clients of every revision, good ones and bad ones.

use std::fs;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use pinfold_testkit::tree::snapshot;
use pinfold_tests::mcp::{Answers, Client, LAST_WITH_HANDSHAKE, NEWEST};
use pinfold_tests::processes::{signal, unique_sleep, until, with_word};
use pinfold_tests::product::pinfold;
use pinfold_tests::record::sessions;
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};

fn bed() -> Bed {
    Bed::new(Who::Ordinary)
}

fn server(bed: &Bed, options: &[&str]) -> Command {
    let mut command = bed.free(pinfold());
    command.args(["mcp", "serve"]).args(options);
    command
}

fn nobody() -> Answers {
    Box::new(|_, _| None)
}

/// A client that can do nothing but call.
fn plain(bed: &Bed, options: &[&str]) -> Client {
    Client::start(&mut server(bed, options)).hello(LAST_WITH_HANDSHAKE, json!({}), nobody()).0
}

/// A client whose person answers each form like this.
fn asking(bed: &Bed, options: &[&str], result: Value) -> Client {
    let answers: Answers =
        Box::new(move |method, _| (method == "elicitation/create").then(|| result.clone()));
    let can = json!({"elicitation": {"form": {}}});
    Client::start(&mut server(bed, options)).hello(LAST_WITH_HANDSHAKE, can, answers).0
}

fn chooses(answer: &str) -> Value {
    json!({"action": "accept", "content": {"answer": answer}})
}

fn write(path: impl std::fmt::Display) -> Value {
    json!({"file_path": path.to_string(), "content": "new\n"})
}

#[test]
fn every_revision_is_spoken() {
    let bed = bed();
    for (said, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", LAST_WITH_HANDSHAKE),
        (NEWEST, LAST_WITH_HANDSHAKE),
    ] {
        let (client, hello) = Client::start(&mut server(&bed, &[])).hello(said, json!({}), nobody());
        assert_eq!(hello["result"]["protocolVersion"], answered, "{said}");
        assert_eq!(hello["result"]["serverInfo"]["name"], "pinfold");
        assert!(!client.call("Write", write(said)).is_error());
        assert!(!client.call("Read", json!({"file_path": said})).is_error());
        assert!(client.close());
    }
    let client = Client::start(&mut server(&bed, &[])).newest(json!({}));
    let found = client.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!(NEWEST)) && versions.contains(&json!("2025-06-18")), "{found}");
    let read = client.call("Read", json!({"file_path": NEWEST}));
    assert_eq!((read.is_error(), read.0["resultType"].as_str()), (false, Some("complete")));
    assert!(client.close());
    // A look first, and then the handshake of an older revision.
    let client = Client::start(&mut server(&bed, &[])).newest(json!({}));
    client.request("server/discover", json!({}));
    let (client, hello) = client.hello("2025-06-18", json!({}), nobody());
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert!(client.close());
}

/// Some clients start a server twice, or only to look: nothing of that is left behind.
#[test]
fn a_look_leaves_nothing_behind() {
    let bed = bed();
    let before = (snapshot(&bed.home()), snapshot(&bed.folder()));
    let client = plain(&bed, &["--allow-bash"]);
    let tools = client.request("tools/list", json!({}));
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools["result"]["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert!(names(&tools).contains(&"Bash".to_owned()), "{tools}");
    assert!(client.close());
    assert_eq!(before, (snapshot(&bed.home()), snapshot(&bed.folder())));

    // What no call could be allowed is not shown.
    let client = plain(&bed, &["--disallowed-tools", "Delete"]);
    let shown = names(&client.request("tools/list", json!({})));
    for hidden in ["Bash", "BashInput", "KillBash", "Delete"] {
        assert!(!shown.contains(&hidden.to_owned()), "{hidden}: {shown:?}");
    }
    assert!(shown.contains(&"Read".to_owned()));
}

#[test]
fn a_refusal_is_a_result_that_teaches() {
    let bed = bed();
    let place = bed.outside().join("x");
    let client = plain(&bed, &[]);
    let refused = client.call("Write", write(place.display()));
    assert!(refused.is_error() && refused.text().contains("outside the folder"), "{refused:?}");
    assert_eq!(refused.0["structuredContent"]["error"], "RequiresApproval");
    assert!(client.call("Bash", json!({"command": "true"})).is_error(), "it is off");
    assert!(client.call("NoSuchTool", json!({})).is_error());

    let as_text = plain(&bed, &["--refusals-as-text"]);
    let refused = as_text.call("Write", write(place.display()));
    assert!(!refused.is_error() && refused.text().contains("outside the folder"), "{refused:?}");
    // A call that failed is still an error.
    assert!(as_text.call("Read", json!({"file_path": "missing"})).is_error());
    assert!(!place.exists());
}

#[test]
fn what_clients_answer_to_a_question_counts_as_it_is_offered() {
    for (result, written) in [
        (chooses("yes"), true),
        (chooses("session"), true),
        (chooses("no"), false),
        (chooses("YES"), false),
        (chooses("maybe"), false),
        (json!({"action": "decline"}), false),
        (json!({"action": "cancel"}), false),
        (json!({"action": "accept"}), false),
        (json!({"action": "accept", "content": {}}), false),
        (json!({"action": "accept", "content": {"answer": true}}), false),
        (json!({"action": "decline", "content": {"answer": "yes"}}), false),
        (json!({"action": "cancel", "content": {"answer": "yes"}}), false),
        (json!({"nothing": "of that"}), false),
    ] {
        let bed = bed();
        let place = bed.outside().join("x");
        let client = asking(&bed, &[], result.clone());
        let called = client.call("Write", write(place.display()));
        assert_eq!((!called.is_error(), place.exists()), (written, written), "{result}: {called:?}");
        assert_eq!(client.times("elicitation/create"), 1);
        let asked = client.heard.borrow()[0]["params"].clone();
        let message = asked["message"].as_str().expect("a message");
        assert!(message.contains(&place.display().to_string()) && message.contains("+ new"), "{message}");
        assert!(asked["requestedSchema"]["properties"]["answer"].get("default").is_none(), "{asked}");
        assert!(client.close());
    }
}

/// A read is carried out on the thread of the connection: the question about it has to come through all the same.
#[test]
fn a_read_that_is_asked_about_holds_nothing_up() {
    for (answer, is_read) in [("yes", true), ("no", false)] {
        let bed = bed();
        fs::create_dir(bed.folder().join(".pinfold")).unwrap();
        let settings = json!({"permissions": {"ask": ["Read(asked)"]}}).to_string();
        fs::write(bed.folder().join(".pinfold/settings.json"), settings).unwrap();
        bed.give();
        let client = asking(&bed, &[], chooses(answer));
        assert!(!client.call("Write", write("asked")).is_error());
        assert!(!client.call("Write", write("other")).is_error());
        let call =
            |path| client.send("tools/call", json!({"name": "Read", "arguments": {"file_path": path}}));
        let (asked, other) = (call("asked"), call("other"));
        let text = |id| client.answer(id)["result"]["content"][0]["text"].to_string();
        assert!(text(other).contains("new"));
        assert_eq!(text(asked).contains("new"), is_read);
        assert_eq!(client.times("elicitation/create"), 1);
        assert!(client.close());
    }
}

#[test]
fn a_form_that_cannot_show_all_is_not_shown() {
    let bed = bed();
    let place = bed.outside().join("x");
    let client = asking(&bed, &[], chooses("yes"));
    let long = json!({"file_path": place, "content": "line\n".repeat(4000)});
    assert!(client.call("Write", long).is_error());
    assert_eq!((client.times("elicitation/create"), place.exists()), (0, false));
    // And nobody is asked at all where nobody is to be.
    let client = asking(&bed, &["--ask-nobody"], chooses("yes"));
    assert!(client.call("Write", write(place.display())).is_error());
    assert_eq!(client.times("elicitation/create"), 0);
}

/// The newest revision: a question is the answer to the call, and the call is made again with the input.
#[test]
fn a_state_is_good_for_one_call_once() {
    let bed = bed();
    let (place, other) = (bed.outside().join("x"), bed.outside().join("y"));
    let client = Client::start(&mut server(&bed, &[])).newest(json!({"elicitation": {}}));
    let call = |arguments: &Value, state: Option<&Value>, said: Option<Value>| {
        let mut params = json!({"name": "Write", "arguments": arguments});
        if let Some(state) = state {
            params["requestState"] = state.clone();
        }
        if let Some(said) = said {
            params["inputResponses"] = json!({"consent": said});
        }
        client.request("tools/call", params)
    };
    let asked = call(&write(place.display()), None, None);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"]["consent"];
    assert_eq!(question["method"], "elicitation/create");
    let state = &asked["result"]["requestState"];

    // Not for other arguments, not changed, not made up.
    let forged = call(&write(other.display()), Some(state), Some(chooses("yes")));
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let text = state.as_str().expect("a text");
    let last = if text.ends_with('A') { 'B' } else { 'A' };
    let changed = format!("{}{last}", &text[..text.len() - 1]);
    for state in [changed.as_str(), "", "rs1.AAAA.BBBB", "yes"] {
        let forged = call(&write(place.display()), Some(&json!(state)), Some(chooses("yes")));
        assert!(forged.get("error").is_some(), "{state}: {forged}");
    }
    assert!(!place.exists() && !other.exists());

    // The order of the arguments is no other call.
    let reordered = json!({"content": "new\n", "file_path": place});
    let done = call(&reordered, Some(state), Some(chooses("yes")));
    assert_eq!((done["result"]["isError"].as_bool(), place.exists()), (Some(false), true), "{done}");

    // Used once: what comes again is a call like any other.
    let place = bed.outside().join("z");
    let asked = call(&write(place.display()), None, None);
    let state = &asked["result"]["requestState"];
    let no = call(&write(place.display()), Some(state), Some(chooses("no")));
    assert_eq!(no["result"]["isError"], true, "{no}");
    let again = call(&write(place.display()), Some(state), Some(chooses("yes")));
    assert_eq!((again["result"]["resultType"].as_str(), place.exists()), (Some("input_required"), false));
    // Without an answer it is no yes.
    let state = &again["result"]["requestState"];
    let silent = call(&write(place.display()), Some(state), None);
    assert_eq!((silent["result"]["isError"].as_bool(), place.exists()), (Some(true), false), "{silent}");
    // Questions that wait keep nobody from ending.
    call(&write(place.display()), None, None);
    assert!(client.close());
}

#[test]
fn roots_narrow_the_folder() {
    let bed = bed();
    fs::create_dir_all(bed.folder().join("sub/deep")).expect("a folder");
    bed.give();
    let with_roots = |roots: Vec<String>, options: &[&str]| {
        let answers: Answers = Box::new(move |method, _| {
            let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri})).collect();
            (method == "roots/list").then(|| json!({"roots": roots}))
        });
        let can = json!({"roots": {"listChanged": true}});
        Client::start(&mut server(&bed, options)).hello(LAST_WITH_HANDSHAKE, can, answers).0
    };
    let uri = |below: &str| format!("file://{}", bed.folder().join(below).display());
    let outside = format!("file://{}", bed.outside().display());
    let inside = bed.folder().join("sub/deep/a");
    let top = bed.folder().join("a");
    let tries = |roots: &[String], options: &[&str]| {
        let client = with_roots(roots.to_vec(), options);
        let tried = [&inside, &top, &bed.outside().join("a")].map(|place| {
            let _ = fs::remove_file(place);
            !client.call("Write", write(place.display())).is_error()
        });
        assert!(!client.call("LS", json!({"path": bed.folder()})).is_error(), "reading is not narrowed");
        tried
    };
    assert_eq!(tries(&[uri("")], &[]), [true, true, false]);
    assert_eq!(tries(&[uri("sub")], &[]), [true, false, false]);
    assert_eq!(tries(&[uri("sub"), outside.clone()], &[]), [true, false, false]);
    assert_eq!(tries(std::slice::from_ref(&outside), &[]), [false, false, false]);
    assert_eq!(tries(&["file:///".to_owned()], &[]), [true, true, false], "never wider");
    assert_eq!(tries(&[], &[]), [true, true, false], "an empty list says nothing");
    assert_eq!(tries(&["https://example.org/".to_owned()], &[]), [false, false, false]);
    assert_eq!(tries(&[outside], &["--ignore-roots"]), [true, true, false]);
    // A client that has roots and does not list them; the next time it does.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let root = uri("");
    let answers: Answers = Box::new(move |method, _| {
        let first = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        (method == "roots/list" && !first).then(|| json!({"roots": [{"uri": root}]}))
    });
    let client =
        Client::start(&mut server(&bed, &[])).hello(LAST_WITH_HANDSHAKE, json!({"roots": {}}), answers).0;
    for is_listed in [false, true] {
        let _ = fs::remove_file(&top);
        assert_eq!(!client.call("Write", write(top.display())).is_error(), is_listed);
        assert_eq!(top.exists(), is_listed);
    }
}

#[test]
fn calls_choose_among_workspaces() {
    let bed = bed();
    let second = bed.outside().join("second");
    fs::create_dir(&second).expect("a folder");
    bed.give();
    let (first, named) = (bed.folder().display().to_string(), second.display().to_string());
    let client = plain(&bed, &["--folder", &first, "--folder", &named]);
    let tools = client.request("tools/list", json!({}));
    let choice = &tools["result"]["tools"][0]["inputSchema"]["properties"]["workspace"];
    assert_eq!(choice["enum"], json!(["folder", "second"]));
    let place = second.join("x");
    let call = |workspace: Value| {
        let arguments = json!({"file_path": place, "content": "x", "workspace": workspace});
        !client.call("Write", arguments).is_error()
    };
    assert!(!call(json!("folder")) && !call(json!("third")) && !call(json!(["second"])));
    assert!(!place.exists());
    assert!(call(json!("second")) && place.exists());
    assert!(!client.call("Write", write("x")).is_error() && bed.folder().join("x").exists());
    // Where there is one folder the argument is none of ours.
    let client = plain(&bed, &[]);
    let odd = json!({"file_path": "y", "content": "x", "workspace": "folder"});
    assert!(client.call("Write", odd).is_error());
}

#[test]
fn malformed_messages_end_nothing() {
    let bed = bed();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":900,"method":"ping","params":{{"x":"{}"}}}}"#, "a".repeat(3 << 20));
    let lines: Vec<Vec<u8>> = [
        "",
        "   ",
        "{",
        "null",
        "42",
        "\"text\"",
        "[]",
        "{}",
        "[[[]]]",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":77,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":78,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":79,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":80,"method":"tools/call","params":{"name":"Read","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":81,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":7}}}"#,
        r#"{"jsonrpc":"2.0","id":82,"method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","id":5000,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":5001,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/no_such","params":{"a":[1,2]}}"#,
        "\u{feff}{}",
        "{\"a\":\"\\ud800\"}",
        &deep,
        &long,
    ]
    .into_iter()
    .map(|line| line.as_bytes().to_vec())
    .chain([b"\xff\xfe\x00\x01".to_vec(), b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"p\0ing\"}".to_vec()])
    .collect();

    // Before anything else, and after the handshake.
    let early = Client::start(&mut server(&bed, &[]));
    lines
        .iter()
        .filter(|line| !line.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\""))
        .for_each(|line| early.raw(line));
    let (client, _) = early.hello(LAST_WITH_HANDSHAKE, json!({}), nobody());
    for line in &lines {
        client.raw(line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        assert!(client.request("ping", json!({})).get("result").is_some(), "{shown}");
    }
    assert!(!client.call("Write", write("a")).is_error());
    assert!(client.close());
}

#[test]
fn a_call_that_is_cancelled_ends_and_an_unknown_one_is_ignored() {
    let bed = bed();
    let sleep = unique_sleep();
    let client = plain(&bed, &["--allow-bash", "--allow-degraded", "--permission-mode", "bypassPermissions"]);
    let command = format!("echo begun > begun; sleep {sleep}");
    let id = client.send("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
    until("the command runs", || !with_word(&sleep).is_empty());
    client.notify("notifications/cancelled", json!({"requestId": 424_242}));
    assert!(client.request("ping", json!({})).get("result").is_some());
    assert!(!with_word(&sleep).is_empty(), "another call was cancelled");
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    until("the command has ended", || with_word(&sleep).is_empty());
    assert_eq!(client.answer_within(id, Duration::from_millis(300)), None, "nobody waits for an answer");
    assert!(!client.call("Read", json!({"file_path": "begun"})).is_error());
    assert!(client.close());
}

/// From its first call to the end of the connection.
#[test]
fn a_session_is_in_the_record_from_its_beginning_to_its_end() {
    let bed = bed();
    let client = plain(&bed, &[]);
    assert!(!client.call("Write", write("a")).is_error());
    let begun = sessions(&bed.home());
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert_eq!(begun[0].1, "start mcp serve");
    assert!(!client.call("Read", json!({"file_path": "a"})).is_error());
    assert!(client.close());
    let (session, _) = begun[0].clone();
    assert_eq!(sessions(&bed.home()), [begun, vec![(session.clone(), "end".to_owned())]].concat());
    let pinfold = |words: &[&str]| bed.free(pinfold()).args(words).output().expect("pinfold can be started");
    let listed = String::from_utf8(pinfold(&["log", "--all"]).stdout).expect("text");
    assert!(listed.contains("start    mcp serve") && listed.contains("end      closed"), "{listed}");
    assert!(pinfold(&["log", "verify"]).status.success());
    let why = String::from_utf8(pinfold(&["why", &session]).stdout).expect("text");
    assert!(
        why.contains("a session: each call is judged by itself") && why.contains("ended: closed after"),
        "{why}"
    );
    // Some agents do not end what they started by closing its input, but by a signal.
    let mut client = plain(&bed, &[]);
    assert!(!client.call("Read", json!({"file_path": "a"})).is_error());
    signal(client.child(), "TERM");
    until("its end is recorded", || sessions(&bed.home()).len() == 4);
    assert!(client.close(), "it ends tidily");
}

/// A client that goes in the middle of a call: what it started ends, and the record tells how.
#[test]
fn a_client_that_vanishes_takes_its_commands_with_it() {
    let bed = bed();
    let sleep = unique_sleep();
    let options = ["--allow-bash", "--allow-degraded", "--permission-mode", "bypassPermissions"];
    let client = plain(&bed, &options);
    let command = format!("sleep {sleep}");
    client.send("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
    until("the command runs", || !with_word(&sleep).is_empty());
    assert!(client.close(), "it ends by itself");
    assert_eq!(with_word(&sleep), Vec::<u32>::new());
    let record = fs::read_dir(bed.home().join(".local/state/pinfold/record")).expect("the record");
    let files = record.map(|entry| fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default());
    let lines = files.collect::<Vec<_>>().join("\n");
    assert!(lines.contains("\"kind\":\"outcome\""), "how it ended is told: {lines}");

    // The server itself is killed half way.
    let mut client = plain(&bed, &options);
    client.send("tools/call", json!({"name": "Bash", "arguments": {"command": command}}));
    until("the command runs", || !with_word(&sleep).is_empty());
    client.child().kill().expect("it runs");
    until("the command has ended", || with_word(&sleep).is_empty());
    drop(client);
    let client = plain(&bed, &options);
    assert!(!client.call("Write", write("a")).is_error(), "the next one works, and records");
    assert!(client.close());
}

/// A question whose client is gone is taken back.
#[test]
fn a_question_of_a_client_that_is_gone_is_no_yes() {
    let bed = bed();
    let place = bed.outside().join("x");
    let can = json!({"elicitation": {}});
    let (client, _) = Client::start(&mut server(&bed, &[])).hello(LAST_WITH_HANDSHAKE, can, nobody());
    let id = client.send("tools/call", json!({"name": "Write", "arguments": write(place.display())}));
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert!(client.request("ping", json!({})).get("result").is_some());
    assert!(client.close());
    assert!(!place.exists());
}

#[test]
fn a_flood_is_answered_call_by_call() {
    const CALLS: usize = 3000;
    let bed = bed();
    let client = plain(&bed, &["--no-record"]);
    client.call("Write", write("a"));
    let ids: Vec<u64> = (0..CALLS)
        .map(|_| client.send("tools/call", json!({"name": "Read", "arguments": {"file_path": "a"}})))
        .collect();
    let (mut done, mut turned_away) = (0, 0);
    for id in ids {
        let answer = client.answer(id);
        if answer["result"]["isError"] == false {
            done += 1;
        } else {
            assert!(answer["error"]["message"].as_str().is_some_and(|m| m.contains("too many")), "{answer}");
            turned_away += 1;
        }
    }
    println!("{done} done, {turned_away} turned away");
    assert!(done >= 1000 && done + turned_away == CALLS);
    assert!(!client.call("Read", json!({"file_path": "a"})).is_error());
    assert!(client.close());
}

/// Answers that nobody reads are kept up to a bound; then the server ends, and waits for nobody.
#[test]
fn who_goes_on_asking_and_never_reads_is_ended() {
    let bed = bed();
    let (mut server, mut input) = deaf(&bed);
    let asks = std::thread::spawn(move || {
        // Each answer has its number, which is long. The input stays open: it is ended for what it does not read.
        let _ = (2..).try_for_each(|id| {
            let id = format!("{id}{}", "x".repeat(1 << 20));
            writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
        });
    });
    let mut peak = 0;
    until("it has ended", || {
        peak = peak.max(memory(server.id()));
        server.try_wait().expect("it was started").is_some()
    });
    assert_eq!(server.wait().expect("it has ended").code(), Some(1));
    asks.join().expect("it asks");
    println!("{} MiB", peak >> 10);
    assert!(peak < 700 << 10, "{peak} KiB");
}

/// A client that reads nothing and says no more: what is left for it is not waited for long.
#[test]
fn who_does_not_read_the_last_answers_holds_nobody_up() {
    let bed = bed();
    fs::write(bed.folder().join("large"), "0123456789abcde\n".repeat(1 << 12)).expect("a file");
    bed.give();
    let (mut server, mut input) = deaf(&bed);
    (2..40).for_each(|id| input.write_all(&read(id)).expect("it is heard"));
    drop(input);
    until("it has ended", || server.try_wait().expect("it was started").is_some());
    assert!(server.wait().expect("it has ended").success());
}

fn read(id: u32) -> Vec<u8> {
    let params = json!({"name": "Read", "arguments": {"file_path": "large"}});
    let mut line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
    line.push('\n');
    line.into_bytes()
}

/// A server that has been met, whose output nobody reads.
fn deaf(bed: &Bed) -> (Child, ChildStdin) {
    let mut command = server(bed, &["--no-record"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = server.stdin.take().expect("its input");
    let params = json!({
        "protocolVersion": LAST_WITH_HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    write!(input, "{hello}\n{begun}\n").expect("it is heard");
    (server, input)
}

/// The most memory that a process has had, in KiB; 0 when it is gone.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn what_is_large_is_bounded_and_breaks_nothing() {
    let bed = bed();
    let client = plain(&bed, &[]);
    let large = json!({"file_path": "large", "content": "0123456789abcde\n".repeat(1 << 20)});
    assert!(!client.call("Write", large).is_error(), "16 MiB");
    let read = client.call("Read", json!({"file_path": "large"}));
    assert!(!read.is_error() && read.0.to_string().len() < 1 << 20);
    // 80 MiB in one message are more than is read; the next message is.
    client.raw(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(80 << 20)).as_bytes());
    assert!(client.request("ping", json!({})).get("result").is_some());
    assert!(client.close());
}

/// A call that takes long keeps its client awake.
#[test]
fn a_client_hears_that_a_call_goes_on() {
    let bed = bed();
    let options = ["--allow-bash", "--allow-degraded", "--permission-mode", "bypassPermissions"];
    let client = plain(&bed, &options);
    let arguments = json!({"command": "sleep 11"});
    let meta = json!({"progressToken": "t-1"});
    let answer = client.request("tools/call", json!({"name": "Bash", "arguments": arguments, "_meta": meta}));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(client.times("notifications/progress"), 1);
    assert_eq!(client.heard.borrow()[0]["params"]["progressToken"], "t-1");
    assert!(client.close());
}
