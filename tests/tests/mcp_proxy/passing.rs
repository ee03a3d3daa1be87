//! What passes between a client and a proxied server: as it came, once, in one reading, and within limits.

use std::io::Write as _;
use std::time::Duration;

use pinfold_tests::mcp::{Client, LAST_WITH_HANDSHAKE, NEWEST};
use pinfold_tests::processes::until;
use serde_json::{Value, json};

use super::{ALL, Wire, allowed, bed, proxy};

#[test]
fn everything_but_calls_passes_as_it_came() {
    let bed = bed();
    let wire = Wire::start(&bed, &[]);
    let said = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#" {"method" : "notifications/x", "jsonrpc":"2.0","params":{"a":1,"a":2,"\u00e9":1e400}}"#,
        r#"{"id":"\u0031","jsonrpc":"2.0","method":"resources/read","params":{"uri":"a:b"},"more":[1]}"#,
        r#"{"jsonrpc":"2.0","id":-7,"method":"no/such"}"#,
    ];
    for line in said {
        wire.say(line.as_bytes());
    }
    assert_eq!(wire.hear(), r#"{"jsonrpc":"2.0","id":"1","result":{"method":"resources/read"}}"#);
    assert_eq!(wire.hear(), r#"{"jsonrpc":"2.0","id":-7,"result":{"method":"no/such"}}"#);
    let heard = wire.heard_by_server();
    for line in said {
        assert!(heard.contains(&line.to_owned()), "{line}: {heard:?}");
    }

    let lines = [
        r#"{"jsonrpc":"2.0","method":"notifications/message",  "params":{"data":"x","data":"y"}}"#,
        r#"{"jsonrpc":"2.0","id":"of the server","method":"sampling/createMessage","params":{"n":1.50}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
        r#"{ "id":ID, "result":{"content":[ ],"x":1.00,"structuredContent":{"b":1,"a":2}}, "jsonrpc":"2.0"}"#,
    ];
    let expected: Vec<String> = lines.iter().map(|line| line.replace("ID", "1")).collect();
    assert_eq!(wire.has_said(&lines), expected);
    // The client answers the server, under the numbers of the server.
    let answers = [
        r#"{"jsonrpc":"2.0", "id":"of the server","error":{"code":-1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0", "id":1,"result":{"roots":[]}}"#,
    ];
    for line in answers {
        wire.say(line.as_bytes());
    }
    let heard = wire.heard_by_server();
    for line in answers {
        assert!(heard.contains(&line.to_owned()), "{line}: {heard:?}");
    }
}

#[test]
fn a_request_without_a_number_is_not_passed_on() {
    let bed = bed();
    let wire = Wire::start(&bed, &[]);
    for method in ["resources/subscribe", "x/y", "Notifications/x", "tools/call"] {
        wire.say(
            json!({"jsonrpc": "2.0", "method": method, "params": {"name": "die"}}).to_string().as_bytes(),
        );
    }
    wire.say(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    let heard = wire.heard_by_server().join("\n");
    assert!(heard.contains("notifications/x"), "the control: {heard}");
    assert!(!heard.contains("x/y") && !heard.contains("subscribe") && !heard.contains("Notif"), "{heard}");
}

/// A rule names a method in one spelling; a lenient server reads others the same way.
#[test]
fn a_method_in_another_spelling_is_not_passed_on() {
    let bed = bed();
    let wire = Wire::start(&bed, &[]);
    let read = |method: &str, id: Option<u8>| {
        let mut line = json!({"jsonrpc": "2.0", "method": method, "params": {"uri": "a:spelled"}});
        if let Some(id) = id {
            line["id"] = id.into();
        }
        wire.say(line.to_string().as_bytes());
    };
    for method in [
        "Resources/Read",
        "resources/read ",
        "/resources/read",
        "resources//read",
        "resources/re\u{0}ad",
        "PROMPTS/get",
        "ｒesources/read",
    ] {
        read(method, Some(5));
        assert!(wire.hear().contains("-32601"), "{method}");
    }
    read("notifications/x ", None);
    let heard = wire.heard_by_server().join("\n");
    assert!(!heard.contains("a:spelled"), "{heard}");
    // The control.
    read("resources/read", Some(5));
    assert!(wire.hear().contains("\"result\""));
    read("vendor/readAll", Some(5));
    assert!(wire.hear().contains("\"result\""));
    let heard = wire.heard_by_server().join("\n");
    assert_eq!(heard.matches("a:spelled").count(), 2, "{heard}");
}

#[test]
fn what_is_not_clear_to_everybody_is_not_passed_on() {
    let bed = bed();
    let wire = Wire::start(&bed, &[]);
    let call =
        r#""method":"tools/call","params":{"name":"write_file","arguments":{"path":"a","content":""}}"#;
    let lines: Vec<Vec<u8>> = [
        "{".to_owned(),
        "null".to_owned(),
        "\"text\"".to_owned(),
        format!("[{{\"jsonrpc\":\"2.0\",\"id\":1,{call}}}]"),
        format!("{{\"jsonrpc\":\"2.0\",{call}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":null,{call}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1.5,{call}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"Method\":\"ping\",{call}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",{call}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"x\":\r{{\"jsonrpc\":\"2.0\",\"id\":3,{call}}}\r}}"),
        format!("\u{feff}{{\"jsonrpc\":\"2.0\",\"id\":2,{call}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,{}}}", call.replace("tools/call", "Tools/Call")),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,{}}}", call.replace("tools/call", " tools/call")),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,{}}}", call.replace("\"name\"", "\"name\":\"heard\",\"name\"")),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,{}}}", call.replace("\"name\"", "\"Name\":\"heard\",\"name\"")),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,{}}}", call.replace("\"path\"", "\"path\":\"b\",\"path\"")),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,{}}}", call.replace("\"arguments\":{", "\"arguments\":[{").replace("}}", "}]}")),
        r#"{"jsonrpc":"2.0","id":77,"result":{"never":"asked"}}"#.to_owned(),
    ]
    .into_iter()
    .map(String::into_bytes)
    .chain([b"\xff\xfe".to_vec(), br#"{"jsonrpc":"2.0","id":2,"method":"pi\xffng"}"#.to_vec()])
    .collect();
    for line in &lines {
        wire.say(line);
        wire.say(br#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#);
        let shown = String::from_utf8_lossy(line).into_owned();
        let answers = wire.hear_until("\"next\"");
        assert!(answers.len() <= 2, "{shown}: {answers:?}");
        assert!(
            answers[..answers.len() - 1].iter().all(|answer| answer.contains("\"error\"")),
            "{shown}: {answers:?}"
        );
    }
    let heard = wire.heard_by_server();
    let strange: Vec<&String> = heard
        .iter()
        .filter(|line| !line.contains("\"next\"") && !line.contains("hello") && !line.contains("\"heard\""))
        .filter(|line| !line.contains("tools/list"))
        .collect();
    assert_eq!(strange, Vec::<&String>::new());
    assert!(!bed.folder().join("a").exists());
    // Of two requests under one number the second is turned away, and the first still has its answer.
    let mute = Wire::connect(&bed, &["--", "--mute"]);
    mute.say(br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    mute.say(br#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    let refused = mute.hear();
    assert!(refused.contains("waits already") && refused.contains("\"id\":null"), "{refused}");
}

#[test]
fn a_server_answers_what_it_was_asked_and_once() {
    let bed = bed();
    let wire = Wire::start(&bed, &[]);
    let good = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"n":1}}"#;
    let other = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"n":2}}"#;
    let expected = good.replace("ID", "1");
    for before in [
        "no JSON at all",
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"ID","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"hello","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ] {
        assert_eq!(wire.has_said(&[before, good, other]), std::slice::from_ref(&expected), "{before}");
    }
    // An answer that two readers take for two is an error.
    for bad in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"content":[{"type":"text","text":"x"}]}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":ID}"#,
        r#"[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]"#,
        "{\"jsonrpc\":\"2.0\",\r\"id\":ID,\"result\":{\"content\":[]}}",
    ] {
        let heard = wire.has_said(&[bad, good]);
        assert!(
            heard.len() == 1 && heard[0].contains("\"error\"") && heard[0].contains("\"id\":1,"),
            "{bad}: {heard:?}"
        );
    }
}

#[test]
fn what_is_large_passes_and_what_is_endless_ends_nothing() {
    let bed = bed();
    let client = allowed(&bed, &[]);
    let large = client.call("large", json!({"size": 50 << 20}));
    assert_eq!((large.is_error(), large.text().len()), (false, 50 << 20));
    let refused = client.request("tools/call", json!({"name": "large", "arguments": {"size": 70 << 20}}));
    assert!(refused["error"]["message"].as_str().is_some_and(|m| m.contains("64 MiB")), "{refused}");
    let long = format!(r#"{{"method":"{}","jsonrpc":"2.0","id":"long"}}"#, "x".repeat(70 << 20));
    client.raw(long.as_bytes());
    assert!(client.request("ping", json!({})).get("result").is_some());
    assert!(client.close());
}

#[test]
fn a_flood_is_answered_call_by_call() {
    const CALLS: usize = 3000;
    let bed = bed();
    let client = allowed(&bed, &["--no-record"]);
    client.call("heard", json!({}));
    let ids: Vec<u64> =
        (0..CALLS).map(|_| client.send("tools/call", json!({"name": "none", "arguments": {}}))).collect();
    let (mut answered, mut turned_away) = (0, 0);
    for id in ids {
        let answer = client.answer(id);
        if answer["result"].is_object() {
            answered += 1;
        } else {
            assert!(answer["error"]["message"].as_str().is_some_and(|m| m.contains("too many")), "{answer}");
            turned_away += 1;
        }
    }
    println!("{answered} answered, {turned_away} turned away");
    assert!(answered >= 1000 && answered + turned_away == CALLS);
    assert!(!client.call("write_file", json!({"path": "a", "content": ""})).is_error());
    assert!(client.close());
}

#[test]
fn a_call_that_is_taken_back_is_not_made() {
    let bed = bed();
    // Its person does not answer.
    let can = json!({"elicitation": {}});
    let (client, _) =
        Client::start(&mut proxy(&bed, &[])).hello(LAST_WITH_HANDSHAKE, can, Box::new(|_, _| None));
    let id =
        client.send("tools/call", json!({"name": "write_file", "arguments": {"path": "a", "content": ""}}));
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert!(client.request("ping", json!({})).get("result").is_some());
    assert_eq!(client.answer_within(id, Duration::from_millis(300)), None);
    assert!(client.close());
    assert!(!bed.folder().join("a").exists());
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let bed = bed();
    let client = Client::start(&mut proxy(&bed, &ALL)).newest(json!({}));
    let called = client.call("heard", json!({}));
    assert!(called.text().contains(NEWEST), "{called:?}");
    let refused = client.call("write_file", json!({"path": bed.outside().join("x"), "content": ""}));
    assert_eq!(
        (refused.is_error(), refused.0["resultType"].as_str()),
        (true, Some("complete")),
        "{refused:?}"
    );
    assert!(client.close());
}

/// The newest revision: a question is the answer to the call, and the call is made again with the input.
#[test]
fn a_question_of_the_newest_revision_is_answered_with_the_call() {
    let bed = bed();
    let client = Client::start(&mut proxy(&bed, &[])).newest(json!({"elicitation": {}}));
    let arguments = json!({"path": "a", "content": "new"});
    let call = |arguments: &Value, state: &Value, said: Option<&str>| {
        let mut params = json!({"name": "write_file", "arguments": arguments});
        if state.is_string() {
            params["requestState"] = state.clone();
        }
        if let Some(said) = said {
            let said = json!({"action": "accept", "content": {"answer": said}});
            params["inputResponses"] = json!({"consent": said});
        }
        client.request("tools/call", params)["result"].clone()
    };
    let asked = call(&arguments, &Value::Null, None);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["consent"];
    let message = question["params"]["message"].as_str().expect("a message");
    assert!(question["method"] == "elicitation/create" && message.contains("mcp__s__write_file"), "{asked}");
    let written = || bed.folder().join("a").exists() || bed.folder().join("b").exists();

    // A yes to this call is none to another one.
    let other = json!({"path": "b", "content": "new"});
    assert_eq!(call(&other, &asked["requestState"], Some("yes"))["resultType"], "input_required");
    assert_eq!(call(&other, &json!("made up"), Some("yes"))["resultType"], "input_required");
    assert!(!written());
    let done = call(&arguments, &asked["requestState"], Some("yes"));
    assert_eq!((done["isError"].as_bool(), written()), (Some(false), true), "{done}");
    // Used once.
    assert_eq!(call(&arguments, &asked["requestState"], Some("yes"))["resultType"], "input_required");
    // Without an answer it is no yes, and no is no.
    for said in [None, Some("no"), Some("maybe")] {
        let asked = call(&other, &Value::Null, None);
        let refused = call(&other, &asked["requestState"], said);
        assert_eq!(
            (refused["isError"].as_bool(), refused["resultType"].as_str()),
            (Some(true), Some("complete")),
            "{said:?}: {refused}"
        );
    }
    assert!(!bed.folder().join("b").exists());
    // Questions that wait keep nobody from ending.
    call(&other, &Value::Null, None);
    assert!(client.close());
}

/// A line that never ends is nobody's message: whoever writes it is not listened to any more.
#[test]
fn a_line_without_end_ends_the_proxy() {
    let bed = bed();
    let mut wire = Wire::start(&bed, &[]);
    let mut input = wire.input.take().expect("the input is open");
    let piece = vec![b'x'; 1 << 20];
    let taken = (0..400).take_while(|_| input.write_all(&piece).is_ok()).count();
    until("it has ended", || wire.child.try_wait().expect("it was started").is_some());
    // What a pipe and its reader hold beyond it is no more than a piece or two.
    assert!((256..260).contains(&taken), "{taken} MiB");
}
