//! Models over HTTP, against a server on loopback that answers as the providers do.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where it fails"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pinfold_agent::{
    AgentIdentity, Answered, CallOutcome, Message, ModelDelay, ModelError, ModelRequest, Models, OfferedTool,
    Price, Providers, RequestedCall, Turn, Usage,
};
use serde_json::{Value, json};

/// What a server got.
#[derive(Debug, Clone)]
struct Got {
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

/// Answers one request after the other as it was told, and ends.
struct Server {
    base: String,
    got: Arc<Mutex<Vec<Got>>>,
    thread: Option<JoinHandle<()>>,
}

/// A status with more header lines, and a body.
type Reply = (&'static str, String);

impl Server {
    fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&got);
        let thread = thread::spawn(move || {
            for (status, body) in replies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let path = line.split(' ').nth(1).unwrap().to_owned();
                let mut headers = BTreeMap::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let Some((name, value)) = line.trim_end().split_once(": ") else { break };
                    headers.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                let length: usize = headers["content-length"].parse().unwrap();
                let mut bytes = vec![0; length];
                reader.read_exact(&mut bytes).unwrap();
                kept.lock().unwrap().push(Got {
                    path,
                    headers,
                    body: serde_json::from_slice(&bytes).unwrap(),
                });
                // Whoever has read enough goes.
                let _ = write!(stream, "HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{body}");
            }
        });
        Self { base, got, thread: Some(thread) }
    }

    /// All that came, once all was answered.
    fn end(mut self) -> Vec<Got> {
        self.thread.take().unwrap().join().unwrap();
        self.got.lock().unwrap().clone()
    }
}

const OK: &str = "200 OK";

/// Silence after which a provider is reported.
const QUIET: Duration = Duration::from_millis(300);

const KEY: &str = "k3y-0123456789";

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

/// The same turn, as each provider says it: some words, a call whose input comes in pieces, what it used up.
fn said(provider: &str) -> String {
    let args = r#"{"file_path":"a.txt"}"#;
    let (first, rest) = args.split_at(7);
    match provider {
        "anthropic" => stream(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 7, "cache_read_input_tokens": 3}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look."}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": "Read"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": first}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": rest}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]),
        "openai" => stream(&[
            json!({"type": "response.created"}),
            json!({"type": "response.output_text.delta", "delta": "Let me "}),
            json!({"type": "response.output_text.delta", "delta": "look."}),
            json!({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "t1", "name": "Read", "arguments": args}}),
            json!({"type": "response.completed", "response": {"usage": {"input_tokens": 10, "output_tokens": 5}}}),
        ]),
        "chat" => {
            let delta = |delta: Value| json!({"choices": [{"delta": delta, "finish_reason": null}]});
            let call = |call: Value| delta(json!({"tool_calls": [call]}));
            let events = stream(&[
                delta(json!({"role": "assistant", "content": "Let me "})),
                delta(json!({"content": "look."})),
                call(json!({"index": 0, "id": "t1", "function": {"name": "Read", "arguments": first}})),
                call(json!({"index": 0, "function": {"arguments": rest}})),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
            ]);
            events + "data: [DONE]\n\n"
        }
        _ => {
            let parts = |parts: Value| json!({"candidates": [{"content": {"parts": parts}}]});
            let input: Value = serde_json::from_str(args).unwrap();
            stream(&[
                parts(json!([{"text": "thinking", "thought": true}, {"text": "Let me "}])),
                parts(json!([{"text": "look."}])),
                json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "Read", "args": input}, "thoughtSignature": "sig"}]},
                        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}),
            ])
        }
    }
}

const PROVIDERS: [(&str, &str, &str); 4] = [
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ("chat", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ("gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL"),
];

fn who() -> AgentIdentity {
    AgentIdentity { id: "main".into(), name: "main".into(), folder: ".".into(), parent: None, depth: 0 }
}

/// A conversation in which a call was made and answered.
fn conversation() -> Vec<Message> {
    let call =
        RequestedCall { echo: Some(json!("sig")), ..RequestedCall::new("t0", "LS", json!({"path": "."})) };
    let turn = Turn { text: "First.".into(), calls: vec![call], usage: Usage::default() };
    let how = CallOutcome::Denied { code: "Denied".into(), why: "no".into() };
    let result = Answered { id: "t0".into(), short: "LS(.)".into(), how, text: "a.txt".into() };
    vec![
        Message::User { text: "The task.".into() },
        Message::Model(turn),
        Message::Results { results: vec![result] },
        Message::User { text: "Go on.".into() },
    ]
}

fn ask(provider: (&str, &str, &str), base: &str, words: &mut String) -> Result<Turn, ModelError> {
    asked(provider, base, words, None, &|| true)
}

fn asked(
    provider: (&str, &str, &str),
    base: &str,
    words: &mut String,
    max_tokens: Option<u64>,
    is_awaited: &(dyn Fn() -> bool + Sync),
) -> Result<Turn, ModelError> {
    delayed(provider, base, words, max_tokens, is_awaited, &|_| {})
}

fn delayed(
    provider: (&str, &str, &str),
    base: &str,
    words: &mut String,
    max_tokens: Option<u64>,
    is_awaited: &(dyn Fn() -> bool + Sync),
    on_delay: &(dyn Fn(ModelDelay) + Sync),
) -> Result<Turn, ModelError> {
    let (name, key, address) = provider;
    let variables = [(key.to_owned(), KEY.to_owned()), (address.to_owned(), base.to_owned())];
    let price = Price { input: 3_000_000, output: 15_000_000 };
    let providers = Providers::new(variables.into(), Some(format!("{name}:big-1")), Some(price))
        .with_silence_reported_after(QUIET);
    let tools = [Arc::new(OfferedTool {
        name: "Read".into(),
        description: "Reads.".into(),
        schema: json!({"type": "object"}),
    })];
    let messages = conversation();
    let asked = ModelRequest {
        agent: &who(),
        system: "Be brief.",
        messages: &messages,
        tools: &tools,
        max_tokens,
        is_awaited,
        on_delay,
    };
    providers.model(&who(), None).unwrap().answer(&asked, &mut |more| words.push_str(more))
}

#[test]
fn each_provider_is_understood_and_told_the_whole_conversation() {
    for provider in PROVIDERS {
        let name = provider.0;
        let server = Server::start(vec![(OK, said(name))]);
        let mut words = String::new();
        let turn = ask(provider, &server.base, &mut words).unwrap();
        assert_eq!((turn.text.as_str(), words.as_str()), ("Let me look.", "Let me look."), "{name}");
        assert_eq!(turn.calls.len(), 1, "{name}");
        assert_eq!(
            (turn.calls[0].tool.as_str(), &turn.calls[0].input),
            ("Read", &json!({"file_path": "a.txt"})),
            "{name}"
        );
        assert_eq!(turn.usage, Usage { input: 10, output: 5, cost: 105 }, "{name}");

        let got = server.end().remove(0);
        let text = got.body.to_string();
        for part in ["The task.", "First.", "a.txt", "Go on.", "Be brief.", "Reads."] {
            assert!(text.contains(part), "{name}: {part} in {text}");
        }
        assert!(!text.contains(KEY) && !got.path.contains(KEY), "{name}: the key is in a header alone");
        assert_eq!(got.headers.values().filter(|value| value.contains(KEY)).count(), 1, "{name}");
        let (path, first_call) = match name {
            "anthropic" => ("/v1/messages", "/messages/1/content/1/name"),
            "openai" => ("/responses", "/input/2/name"),
            "chat" => ("/chat/completions", "/messages/2/tool_calls/0/function/name"),
            _ => (
                "/v1beta/models/big-1:streamGenerateContent?alt=sse",
                "/contents/1/parts/1/functionCall/name",
            ),
        };
        assert_eq!(got.path, path, "{name}");
        assert_eq!(got.body.pointer(first_call), Some(&json!("LS")), "{name}: {text}");
        assert_eq!(text.contains("\"sig\""), name == "gemini", "{name}: what it wants back");
    }
}

#[test]
fn what_can_pass_is_tried_again() {
    for provider in PROVIDERS {
        let name = provider.0;
        let whole = said(name);
        let half = whole[..whole.len() * 2 / 3].to_owned();
        let busy = "{\"error\":{\"message\":\"busy\"}}".to_owned();
        let server = Server::start(vec![
            ("429 Too Many\r\nretry-after: 0", busy.clone()),
            ("529 Overloaded\r\nretry-after: 0", busy),
            (OK, half),
            (OK, whole),
        ]);
        let turn = ask(provider, &server.base, &mut String::new()).unwrap();
        assert_eq!((turn.text.as_str(), turn.calls.len()), ("Let me look.", 1), "{name}");
        assert_eq!(server.end().len(), 4, "{name}");
    }
}

#[test]
fn what_cannot_pass_says_what_to_do() {
    let said = |message: &str| json!({"error": {"message": message}}).to_string();
    for (status, body, words) in [
        ("401 Unauthorized", said("invalid x-api-key"), "look at the key in ANTHROPIC_API_KEY"),
        ("403 Forbidden", said("no"), "look at the key"),
        ("404 Not Found", said("model: big-1"), "look at the name of the model"),
        ("400 Bad Request", said("max_tokens is too large"), "max_tokens is too large"),
        ("400 Bad Request", "<html>\u{1b}[2J</html>".to_owned(), "<html> [2J</html>"),
        ("307 Away\r\nlocation: http://127.0.0.1:1/", String::new(), "leads elsewhere"),
    ] {
        let server = Server::start(vec![(status, body)]);
        let error = ask(PROVIDERS[0], &server.base, &mut String::new()).unwrap_err();
        assert!(error.to_string().contains(words), "{status}: {error}");
        assert_eq!(server.end().len(), 1, "{status}: it is not tried again");
    }
}

#[test]
fn secrets_in_errors_are_not_told() {
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let body = json!({"error": {"message": format!("no such key {token}")}}).to_string();
    let server = Server::start(vec![("400 Bad Request", body)]);
    let error = ask(PROVIDERS[1], &server.base, &mut String::new()).unwrap_err();
    assert!(!error.to_string().contains(&token), "{error}");
    server.end();
}

#[test]
fn a_model_is_named_with_its_provider_and_a_key_is_there() {
    let none = Providers::new(BTreeMap::new(), None, None);
    let keyed = Providers::new([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())].into(), None, None);
    for (providers, named, words) in [
        (&none, None, "no model is named"),
        (&none, Some("big-1"), "does not say whose model it is"),
        (&none, Some("else:big-1"), "no provider `else`"),
        (&none, Some("anthropic:big-1"), "set ANTHROPIC_API_KEY"),
        (&none, Some("gemini:big-1"), "set GEMINI_API_KEY"),
        (&keyed, Some("anthropic:../x"), "no name of a model"),
        (&keyed, Some("anthropic:a?b"), "no name of a model"),
    ] {
        let error = providers.model(&who(), named).map(drop).unwrap_err();
        assert!(error.to_string().contains(words), "{named:?}: {error}");
    }
    assert!(keyed.model(&who(), Some("anthropic:big-1")).is_ok());
    assert!(none.model(&who(), Some("chat:local")).is_ok(), "a server of one's own needs no key");
}

/// Asks a provider, and returns what was told of delays.
fn delays(
    provider: (&str, &str, &str),
    base: &str,
    is_awaited: &(dyn Fn() -> bool + Sync),
) -> (Result<Turn, ModelError>, Vec<ModelDelay>) {
    let delays = Mutex::new(Vec::new());
    let keep = |delay| delays.lock().unwrap().push(delay);
    let turn = delayed(provider, base, &mut String::new(), None, is_awaited, &keep);
    (turn, delays.into_inner().unwrap())
}

#[test]
fn each_wait_before_another_try_is_told() {
    for provider in PROVIDERS {
        let busy = format!("{{\"error\":{{\"message\":\"busy {KEY}\"}}}}");
        let server = Server::start(vec![
            ("429 Too Many\r\nretry-after: 0", busy),
            ("503 Later", String::new()),
            (OK, said(provider.0)),
        ]);
        let (turn, told) = delays(provider, &server.base, &|| true);
        assert!(turn.is_ok(), "{}: {turn:?}", provider.0);
        let [
            ModelDelay::Retry { why: first, wait_ms: 0, next_try: 2, tries: 5 },
            ModelDelay::Retry { why: second, wait_ms: 1000, next_try: 3, tries: 5 },
        ] = &told[..]
        else {
            panic!("{}: {told:?}", provider.0);
        };
        assert_eq!(first, "the provider answers 429: busy [key]", "{}", provider.0);
        assert!(second.contains("503"), "{}: {second}", provider.0);
        server.end();
    }
}

#[test]
fn a_long_wait_is_told_before_it_begins() {
    let server = Server::start(vec![("429 Too Many\r\nretry-after: 99999", String::new())]);
    let told = Mutex::new(Vec::new());
    // Given up as soon as it was told.
    let is_awaited = || told.lock().unwrap().is_empty();
    let keep = |delay| told.lock().unwrap().push(delay);
    let began = Instant::now();
    let turn = delayed(PROVIDERS[0], &server.base, &mut String::new(), None, &is_awaited, &keep);
    assert!(turn.is_err() && began.elapsed() < Duration::from_secs(20), "{turn:?}");
    let told = told.into_inner().unwrap();
    assert!(matches!(told[..], [ModelDelay::Retry { wait_ms: 60_000, .. }]), "a minute at most: {told:?}");
    server.end();
}

#[test]
fn a_provider_that_is_silent_is_told_once() {
    for provider in PROVIDERS {
        let whole = said(provider.0);
        // Between two events, and long enough for a second report.
        let at = whole.find("\n\n").unwrap() + 2;
        let (first, rest) = whole.split_at(at);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut length = 0;
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|_| line != "\r\n") {
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                reader.read_exact(&mut vec![0; length]).unwrap();
                write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{first}").unwrap();
                thread::sleep(QUIET * 5 / 2);
                write!(stream, "{rest}").unwrap();
            });
            let (turn, told) = delays(provider, &base, &|| true);
            assert_eq!(turn.unwrap().text, "Let me look.", "{}", provider.0);
            let once = [ModelDelay::Silence { silent_ms: 300, limit_ms: 300_000 }];
            assert_eq!(told, once, "{}", provider.0);
        });
    }
}

#[test]
fn a_page_is_no_answer_and_not_tried_again() {
    let page = "<html><body>Log in to our network</body></html>";
    for (provider, status) in PROVIDERS.into_iter().flat_map(|provider| {
        ["200 OK\r\ncontent-type: text/html; charset=utf-8", "511 Network Authentication Required"]
            .map(|status| (provider, status))
    }) {
        let server = Server::start(vec![(status, page.to_owned())]);
        let (turn, told) = delays(provider, &server.base, &|| true);
        let error = turn.unwrap_err().to_string();
        for part in ["a web page came", "captive portal", provider.2] {
            assert!(error.contains(part), "{} {status}: {error}", provider.0);
        }
        assert!(told.is_empty() && server.end().len() == 1, "{} {status}: it is not tried again", provider.0);
    }
}

#[test]
fn as_long_as_a_provider_wants_is_waited() {
    for provider in PROVIDERS {
        let server =
            Server::start(vec![("429 Too Many\r\nretry-after: 1", String::new()), (OK, said(provider.0))]);
        let began = Instant::now();
        assert!(ask(provider, &server.base, &mut String::new()).is_ok(), "{}", provider.0);
        assert!(began.elapsed() >= Duration::from_secs(1), "{}", provider.0);
        server.end();
    }
}

#[test]
fn garbage_in_a_stream_is_tried_again_and_never_a_turn() {
    let deep = "[".repeat(5000);
    let long = "x".repeat(17 << 20);
    let frames = [
        "{\"type\":",
        "nothing",
        &deep,
        &long,
        "\u{0}\u{1b}[2J",
        "{\"choices\":7}",
        "{\"type\":[],\"candidates\":{}}",
        "[]",
        "null",
        "[DONE]",
    ];
    thread::scope(|scope| {
        for (provider, frame) in
            PROVIDERS.iter().flat_map(|one| frames.iter().map(move |frame| (*one, *frame)))
        {
            scope.spawn(move || {
                let garbage = format!("data: {frame}\n\n");
                let server = Server::start(vec![(OK, garbage), (OK, said(provider.0))]);
                let shown = frame.chars().take(20).collect::<String>();
                let turn = ask(provider, &server.base, &mut String::new()).unwrap();
                assert_eq!(turn.text, "Let me look.", "{} {shown}", provider.0);
                assert_eq!((turn.calls.len(), turn.usage.input), (1, 10), "{} {shown}", provider.0);
                assert_eq!(server.end().len(), 2, "{} {shown}", provider.0);
            });
        }
    });
}

#[test]
fn numbers_that_no_provider_means_are_as_much_as_there_is() {
    for provider in PROVIDERS {
        let huge = said(provider.0)
            .replace("\":10", &format!("\":{}", u64::MAX))
            .replace("\":7", &format!("\":{}", u64::MAX));
        let huge = huge.replace("\":5", &format!("\":{}", u64::MAX));
        let server = Server::start(vec![(OK, huge)]);
        let turn = ask(provider, &server.base, &mut String::new()).unwrap();
        assert_eq!((turn.usage.output, turn.usage.cost), (u64::MAX, u64::MAX), "{}", provider.0);
        server.end();
    }
}

#[test]
fn an_answer_without_end_is_given_up() {
    let comments = ": still here\n".repeat((33 << 20) / 13);
    for provider in PROVIDERS {
        let server = Server::start(vec![(OK, comments.clone())]);
        let error = ask(provider, &server.base, &mut String::new()).unwrap_err();
        assert!(error.to_string().contains("more than 32 MiB"), "{}: {error}", provider.0);
    }
}

#[test]
fn a_key_that_a_provider_says_again_is_told_to_nobody() {
    for provider in PROVIDERS {
        let echo = said(provider.0).replace("look.", KEY);
        let error = json!({"error": {"message": format!("{KEY} is no key")}}).to_string();
        let server = Server::start(vec![(OK, echo), ("400 Bad", error), ("400 Bad", format!("<p>{KEY}"))]);
        let mut words = String::new();
        let turn = ask(provider, &server.base, &mut words).unwrap();
        assert_eq!((turn.text.as_str(), words.as_str()), ("Let me [key]", "Let me [key]"), "{}", provider.0);
        for _ in 0..2 {
            let error = ask(provider, &server.base, &mut String::new()).unwrap_err().to_string();
            assert!(error.contains("[key]") && !error.contains(KEY), "{}: {error}", provider.0);
        }
        server.end();
    }
}

#[test]
fn whoever_does_not_wait_any_more_is_not_answered() {
    for provider in PROVIDERS {
        let whole = said(provider.0);
        let busy = "429 Too Many\r\nretry-after: 60";
        for (status, body) in [(OK, whole), (busy, String::new())] {
            let server = Server::start(vec![(status, body)]);
            let error = asked(provider, &server.base, &mut String::new(), None, &|| false).unwrap_err();
            assert!(error.to_string().contains("the caller gave up"), "{}: {error}", provider.0);
            server.end();
        }
    }
}

#[test]
fn where_few_tokens_are_left_the_answer_is_asked_to_be_short() {
    let fields =
        ["/max_tokens", "/max_output_tokens", "/max_completion_tokens", "/generationConfig/maxOutputTokens"];
    for (provider, field) in PROVIDERS.into_iter().zip(fields) {
        for (left, said_of_it) in
            [(Some(500), Some(500)), (Some(0), Some(16)), (Some(1 << 40), None), (None, None)]
        {
            let server = Server::start(vec![(OK, said(provider.0))]);
            asked(provider, &server.base, &mut String::new(), left, &|| true).unwrap();
            let body = server.end().remove(0).body;
            let found = body.pointer(field).and_then(Value::as_u64);
            let usual = (provider.0 == "anthropic").then_some(16_000);
            assert_eq!(found, said_of_it.or(usual), "{} {left:?}", provider.0);
        }
    }
}
