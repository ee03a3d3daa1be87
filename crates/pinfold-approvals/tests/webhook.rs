//! The webhook: a signed answer for the very question counts, and whatever goes wrong is no answer.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use pinfold::consent::{ApprovalChannel, Approver, ApproverResponse, Choice, Request};
use pinfold::policy::settings::{ApprovalSettings, WebhookSettings, WebhookUrl};
use pinfold::policy::{Layer, Located, Source};
use pinfold_approvals::{ApprovalChannels, ChannelError, ChannelOptions, WebhookError};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::kit::{answer, no, request};

const LONG: Duration = Duration::from_mins(1);
const SECRET: &str = "correct horse battery staple";

/// What the webhook was told.
#[derive(Debug, Clone)]
struct Told {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Told {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A reply: status line, more headers, body.
struct Reply(&'static str, Vec<String>, String);

type Replies = Box<dyn FnMut(usize, &Told, u16) -> Reply + Send>;

/// A program that replies as it is told to, and remembers what it was asked.
struct Program {
    port: u16,
    told: Arc<Mutex<Vec<Told>>>,
}

fn program(replies: Replies) -> Program {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let told = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::new(Mutex::new((replies, Arc::clone(&told))));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, shared) = (stream.unwrap(), Arc::clone(&shared));
            thread::spawn(move || serve(stream, port, &shared));
        }
    });
    Program { port, told }
}

fn serve(mut stream: TcpStream, port: u16, shared: &Mutex<(Replies, Arc<Mutex<Vec<Told>>>)>) {
    while let Some(said) = read(&stream) {
        let mut shared = shared.lock().unwrap();
        let turn = shared.1.lock().unwrap().len();
        let Reply(status, headers, body) = (shared.0)(turn, &said, port);
        shared.1.lock().unwrap().push(said);
        drop(shared);
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let reply = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(stream: &TcpStream) -> Option<Told> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").map_or(0, |length: &String| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Told { line: line.trim_end().to_owned(), headers, body: String::from_utf8(body).unwrap() })
}

fn signature(parts: &[&str]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(parts.join("\n").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

/// A reply that is signed for what was said.
fn signed(told: &Told, body: &Value) -> Reply {
    let body = body.to_string();
    let signature = signature(&["reply", told.header("pinfold-nonce"), &body]);
    Reply("200 OK", vec![format!("pinfold-signature: {signature}")], body)
}

fn yes(told: &Told) -> Reply {
    let digest = told.json()["request"]["digest"].clone();
    signed(told, &json!({"v": 1, "digest": digest, "answer": {"choice": "yes"}, "who": "ana\u{1b}[31m"}))
}

fn located<T>(value: T) -> Located<T> {
    Located { value, source: Source::plain(Layer::User) }
}

fn wanted(url: &str, variable: Option<&str>) -> ChannelOptions {
    let webhook = WebhookSettings {
        url: Some(WebhookUrl::parse(url).unwrap()),
        secret_env: variable.map(str::to_owned),
    };
    ChannelOptions {
        settings: ApprovalSettings { webhook: Some(located(webhook)), ..ApprovalSettings::default() },
        environment: [("HOOK".to_owned(), SECRET.to_owned()), ("SHORT".to_owned(), "short".to_owned())]
            .into(),
        ..ChannelOptions::default()
    }
}

fn desk(program: &Program) -> ApprovalChannels {
    let url = format!("http://127.0.0.1:{}/ask", program.port);
    ApprovalChannels::open(&wanted(&url, Some("HOOK"))).unwrap()
}

fn ask(desk: &ApprovalChannels, request: &Request) -> ApproverResponse {
    desk.broker().ask(request, &|| true)
}

#[test]
fn what_is_posted_is_signed_and_a_signed_answer_counts() {
    let program = program(Box::new(|_, told, _| yes(told)));
    let desk = desk(&program);
    assert!(desk.is_reached_elsewhere());
    let asked = request("s:1", LONG);
    let ApproverResponse::Answer(answer) = ask(&desk, &asked) else { panic!("it answers") };
    assert_eq!((answer.choice, answer.by.via), (Choice::Yes, ApprovalChannel::Webhook));
    assert_eq!(answer.by.who.as_deref(), Some("ana31m (127.0.0.1)"));
    let told = program.told.lock().unwrap()[0].clone();
    assert_eq!(told.line, "POST /ask HTTP/1.1");
    let parts = ["request", told.header("pinfold-timestamp"), told.header("pinfold-nonce"), &told.body];
    assert_eq!(told.header("pinfold-signature"), signature(&parts));
    assert_eq!(serde_json::from_value::<Request>(told.json()["request"].clone()).unwrap(), asked);
    // No number is used twice.
    ask(&desk, &request("s:2", LONG));
    let told = program.told.lock().unwrap();
    assert_ne!(told[0].header("pinfold-nonce"), told[1].header("pinfold-nonce"));
}

#[test]
fn an_answer_that_takes_time_is_asked_for_again() {
    let program = program(Box::new(|turn, told, port| match turn {
        0 => {
            let poll = format!("http://127.0.0.1:{port}/answers/7");
            signed(told, &json!({"v": 1, "pending": {"poll": poll, "after": 1}}))
        }
        1 => {
            let poll = format!("http://127.0.0.1:{port}/answers/8");
            signed(told, &json!({"v": 1, "pending": {"poll": poll, "after": 1}}))
        }
        _ => signed(
            told,
            &json!({"v": 1, "digest": "digest of s:1", "answer": {"choice": "no", "message": "use staging"}}),
        ),
    }));
    let ApproverResponse::Answer(answer) = ask(&desk(&program), &request("s:1", LONG)) else {
        panic!("it answers")
    };
    assert_eq!(answer.choice, Choice::No { message: Some("use staging".to_owned()), process: false });
    let told = program.told.lock().unwrap();
    let lines: Vec<&str> = told.iter().map(|told| told.line.as_str()).collect();
    assert_eq!(lines, ["POST /ask HTTP/1.1", "GET /answers/7 HTTP/1.1", "GET /answers/8 HTTP/1.1"]);
    let url = format!("http://127.0.0.1:{}/answers/7", program.port);
    let parts = ["poll", told[1].header("pinfold-timestamp"), told[1].header("pinfold-nonce"), &url];
    assert_eq!(told[1].header("pinfold-signature"), signature(&parts));
}

#[test]
fn whatever_goes_wrong_is_no_answer() {
    let say_yes = || json!({"v": 1, "digest": "digest of s:1", "answer": {"choice": "yes"}});
    let plain = |body: String| Reply("200 OK", Vec::new(), body);
    let cases: Vec<(&str, Replies)> = vec![
        ("not signed", Box::new(move |_, _, _| plain(say_yes().to_string()))),
        (
            "signed for another question",
            Box::new(move |_, _, _| {
                let body = say_yes().to_string();
                let line = format!("pinfold-signature: {}", signature(&["reply", "an older nonce", &body]));
                Reply("200 OK", vec![line], body)
            }),
        ),
        (
            "signed by what was sent",
            Box::new(move |_, told, _| {
                let line = format!("pinfold-signature: {}", told.header("pinfold-signature"));
                Reply("200 OK", vec![line], say_yes().to_string())
            }),
        ),
        (
            "another digest",
            Box::new(move |_, told, _| {
                signed(told, &json!({"v": 1, "digest": "another", "answer": {"choice": "yes"}}))
            }),
        ),
        (
            "no digest",
            Box::new(move |_, told, _| signed(told, &json!({"v": 1, "answer": {"choice": "yes"}}))),
        ),
        (
            "another version",
            Box::new(move |_, told, _| {
                signed(told, &json!({"v": 2, "digest": "digest of s:1", "answer": {"choice": "yes"}}))
            }),
        ),
        (
            "who it was for the record",
            Box::new(move |_, told, _| {
                signed(
                    told,
                    &json!({"v": 1, "digest": "digest of s:1", "answer": {"choice": "yes"}, "by": {"via": "terminal"}}),
                )
            }),
        ),
        ("nothing", Box::new(move |_, told, _| signed(told, &json!({"v": 1})))),
        (
            "no JSON",
            Box::new(move |_, told, _| {
                let line = format!(
                    "pinfold-signature: {}",
                    signature(&["reply", told.header("pinfold-nonce"), "yes"])
                );
                Reply("200 OK", vec![line], "yes".to_owned())
            }),
        ),
        (
            "an address elsewhere",
            Box::new(move |_, told, _| {
                signed(told, &json!({"v": 1, "pending": {"poll": "http://127.0.0.1:1/x"}}))
            }),
        ),
        (
            "a redirect",
            Box::new(move |turn, told, port| match turn {
                0 => Reply(
                    "307 Temporary Redirect",
                    vec![format!("location: http://127.0.0.1:{port}/other")],
                    String::new(),
                ),
                _ => yes(told),
            }),
        ),
        ("a refusal", Box::new(move |_, _, _| Reply("403 Forbidden", Vec::new(), String::new()))),
        (
            "a scope that was not offered",
            Box::new(move |_, told, _| {
                signed(
                    told,
                    &json!({"v": 1, "digest": "digest of s:1", "answer": {"choice": "session", "scope": 9}}),
                )
            }),
        ),
    ];
    for (name, replies) in cases {
        let program = program(replies);
        let desk = desk(&program);
        let mut watch = desk.broker().watch();
        let heard = ask(&desk, &request("s:1", Duration::from_secs(3)));
        let silent =
            matches!(&heard, ApproverResponse::Answer(answer) if answer.by.via == ApprovalChannel::Silence);
        assert!(matches!(heard, ApproverResponse::NoApprover(_)) || silent, "{name}: {heard:?}");
        if name != "a scope that was not offered" {
            let ApproverResponse::NoApprover(why) = &heard else { panic!("{name}: no other was waited for") };
            assert!(why.starts_with("the webhook did not answer"), "{name}: {why}");
            let notes = watch.next(LONG).notes;
            assert!(notes[0].text.starts_with("the webhook did not answer"), "{name}: {notes:?}");
        }
        assert!(program.told.lock().unwrap().iter().all(|told| told.line.contains("/ask")), "{name}");
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    let program = program(Box::new(|turn, told, _| match turn {
        0 => Reply("503 Service Unavailable", Vec::new(), String::new()),
        1 => Reply("429 Too Many Requests", Vec::new(), String::new()),
        _ => yes(told),
    }));
    let before = Instant::now();
    assert!(
        matches!(ask(&desk(&program), &request("s:1", LONG)), ApproverResponse::Answer(answer) if answer.is_yes())
    );
    assert!(before.elapsed() >= Duration::from_secs(3), "it waits longer each time: {:?}", before.elapsed());
    // Nobody listens: until the deadline, and then no.
    let url = "http://127.0.0.1:9/";
    let desk = ApprovalChannels::open(&wanted(url, Some("HOOK"))).unwrap();
    let heard = ask(&desk, &request("s:1", Duration::from_secs(2)));
    assert!(matches!(heard, ApproverResponse::Answer(answer) if answer.by.via == ApprovalChannel::Silence));
}

#[test]
fn it_is_told_what_was_answered_elsewhere() {
    let program = program(Box::new(|_, told, port| {
        let poll = format!("http://127.0.0.1:{port}/answers/7");
        signed(told, &json!({"v": 1, "pending": {"poll": poll, "after": 1}}))
    }));
    let desk = desk(&program);
    let asked = request("s:1", LONG);
    let (broker, copy) = (Arc::clone(desk.broker()), asked.clone());
    let asking = thread::spawn(move || broker.ask(&copy, &|| true));
    let end = Instant::now() + LONG;
    while program.told.lock().unwrap().is_empty() {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(5));
    }
    desk.broker().answer(answer(&asked, no())).unwrap();
    asking.join().unwrap();
    loop {
        assert!(Instant::now() < end, "{:?}", program.told);
        let last = program.told.lock().unwrap().last().unwrap().clone();
        if last.line.starts_with("POST") && last.body.contains("\"type\":\"over\"") {
            let over = &last.json()["over"];
            assert_eq!((&over["id"], &over["over"]), (&json!("s:1"), &json!("answered")));
            let parts = ["over", last.header("pinfold-timestamp"), last.header("pinfold-nonce"), &last.body];
            assert_eq!(last.header("pinfold-signature"), signature(&parts));
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn many_questions_are_carried_side_by_side() {
    let program = program(Box::new(|_, told, _| {
        thread::sleep(Duration::from_millis(5));
        yes(told)
    }));
    let desk = desk(&program);
    thread::scope(|scope| {
        for i in 0..50 {
            let desk = &desk;
            scope.spawn(move || {
                let heard = ask(desk, &request(&format!("s:{i}"), LONG));
                let shown = format!("{heard:?}");
                assert!(matches!(heard, ApproverResponse::Answer(answer) if answer.is_yes()), "{shown}");
            });
        }
    });
}

#[test]
fn without_a_secret_nothing_on_this_machine_is_asked() {
    let refused = |url: &str, variable| match ApprovalChannels::open(&wanted(url, variable)) {
        Err(ChannelError::Webhook(error)) => error,
        other => panic!("{other:?}"),
    };
    let here = "http://127.0.0.1:9/";
    assert!(matches!(refused(here, None), WebhookError::NoSecret));
    assert!(matches!(refused(here, Some("UNSET")), WebhookError::NotSet(_)));
    assert!(matches!(refused(here, Some("SHORT")), WebhookError::TooShort(_)));
    assert!(ApprovalChannels::open(&wanted("https://a.example/", None)).is_ok());
}
