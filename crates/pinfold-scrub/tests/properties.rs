//! What holds for every text, however it is cut.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

#[path = "kit/laws.rs"]
mod laws;

use laws::{holds, holds_cut};
use pinfold_scrub::{MAX_HELD_BACK, Scrubber, markers};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Pieces that begin, end, lead to or look like secrets. No token is whole in one piece.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "\r\n",
    "\t",
    "\"",
    "'",
    "`",
    "=",
    ":",
    " = ",
    ": ",
    "=>",
    ":=",
    ",",
    ";",
    ".",
    "-",
    "_",
    "/",
    "\\",
    "\\n",
    "\\\"",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "{",
    "}",
    "@",
    "://",
    "%20",
    "é",
    "\u{1b}[31m",
    "password",
    "PASSWORD",
    "DB_PASSWORD=",
    "token",
    "_TOKEN=",
    "api_key",
    "apiKey",
    "secret",
    "<password>",
    "--token ",
    "Authorization: ",
    "Bearer ",
    "Basic ",
    "ghp_",
    "github_pat_",
    "sk-",
    "sk-ant-",
    "sk-proj-",
    "xoxb-",
    "AKIA",
    "AIza",
    "eyJ",
    "MTk",
    "npm_",
    "glpat-",
    "SG.",
    "key-",
    ":AA",
    "1",
    "42",
    "Tr0ub4dor",
    "kL3mN8pQ2rS7tU4vW9xY1zA6bC5dE0fG",
    "3f8a1c9e7b5d2046f8e1a3c7b9d5e2f4",
    "hunter2hunter2",
    "QmVkcm9ja0FQSUtleS0xMjM0",
    "xxxxxxxx",
    "changeme",
    "${VAR}",
    "c29tZWJvZHk6VHIwdWI0ZG9yJjM=",
    "postgres",
    "user",
    "-----BEGIN RSA PRI",
    "VATE KEY-----",
    "-----END RSA PRI",
    "Proc-Type: 4,ENCRYPTED",
    "MIIEpAIBAAKCAQEA04up8hoqzS1",
    "[REDACTED:",
    "[REDACTED:jwt]",
    "[REDACTED:secret]",
    "jwt]",
    "curl -u ",
    "machine h login u password ",
    "words and more",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        12 => select(PIECES).prop_map(str::to_owned),
        2 => "[A-Za-z0-9]{1,40}",
        1 => "[ -~]{0,8}",
        1 => any::<char>().prop_map(String::from),
        1 => (select(PIECES), 2..400_usize).prop_map(|(piece, times)| piece.repeat(times.min(4000 / piece.len().max(1)))),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    proptest::collection::vec(any::<Index>(), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(256), ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_scrubbed_once_and_stays(text in text()) {
        holds(text.as_bytes());
    }

    #[test]
    fn any_cut_of_a_text_gives_what_the_whole_gives(text in text(), cuts in cuts()) {
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        holds_cut(text.as_bytes(), &cuts);
    }

    #[test]
    fn any_bytes_are_scrubbed_once_and_however_cut(bytes in proptest::collection::vec(any::<u8>(), 0..600), text in text(), cuts in cuts()) {
        let mixed: Vec<u8> = text.bytes().zip(bytes.iter().cycle().copied().chain(std::iter::repeat(0))).flat_map(|(a, b)| if b < 16 { vec![a, 0xff, b] } else { vec![a] }).collect();
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(mixed.len() + 1)).collect();
        holds(&bytes);
        holds(&mixed);
        holds_cut(&mixed, &cuts);
    }
}

/// Byte by byte is the hardest cut there is.
#[test]
fn every_cut_of_every_kind_gives_what_the_whole_gives() {
    let text = [
        "export DB_PASSWORD=Tr0ub4dor&3 && make\n",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA04up8hoqzS1\nMIIEpAIBAAKCAQEA04up8hoqzS1\nabc=\n-----END RSA PRIVATE KEY-----\n",
        "curl -u admin:Tr0ub4dor3 https://u:p4ssw0rd@host/ sk-ant-api03-kL3mN8pQ2rS7tU4vW9xY1zA6bC5d\n",
        "{\"token\": \"kL3mN8pQ2rS7tU4v\", \"x\": 1} [REDACTED:jwt]\nthe end: password: ",
    ]
    .concat();
    let all: Vec<usize> = (0..text.len()).collect();
    holds_cut(text.as_bytes(), &all);
    for cut in all {
        holds_cut(text.as_bytes(), &[cut]);
    }
    let found = Scrubber::default().scrub(&text).found;
    assert!(found.total() >= 6, "{found}");
}

/// A value that is told piece by piece, since it is long, with tokens in it that are told late.
#[test]
fn a_secret_within_a_long_one_is_no_other_however_it_is_cut() {
    let value = "kL3mN8pQ2rS7tU4v!xoxb-0123456789-kL3mN8pQ2rS7!".repeat(12);
    let text = format!("PASSWORD={value}\nafter\n");
    for size in [1, 2, 3, 7, 64] {
        let cuts: Vec<usize> = (0..text.len()).step_by(size).collect();
        holds_cut(text.as_bytes(), &cuts);
    }
    assert_eq!(Scrubber::default().scrub(&text).text, "PASSWORD=[REDACTED:secret]\nafter\n");
}

/// What cannot be a secret any more is given at once.
#[test]
fn a_stream_gives_what_is_certain() {
    let mut stream = Scrubber::default().stream();
    assert_eq!(stream.push(b"Enter the password: "), b"Enter the password: ");
    assert_eq!(stream.push(b"$ "), b"$ ");
    assert_eq!(stream.push(b"plain words, g"), b"plain words, ", "a token may begin with it");
    assert_eq!(stream.push(b"o on\n"), b"go on\n");
    assert_eq!(stream.push(b"ghp_16C7e42F292c6912E7710c83"), b"");
    assert_eq!(stream.held_back(), 28);
    assert_eq!(stream.push(b"8347Ae178B4a"), b"", "it may be longer yet");
    assert_eq!(stream.push(b"\n"), b"[REDACTED:github-token]\n");
    assert_eq!(stream.take_found().get("github-token"), 1);
    assert_eq!(stream.finish(), b"");
}

/// A key that is longer than anything that is held back is swallowed as it comes.
#[test]
fn a_long_secret_is_swallowed_as_it_comes() {
    let mut stream = Scrubber::default().stream();
    let mut said = stream.push(b"-----BEGIN PRIVATE KEY-----\n");
    for _ in 0..1000 {
        said.extend(stream.push(b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"));
        assert!(stream.held_back() <= MAX_HELD_BACK);
    }
    said.extend(stream.push(b"-----END PRIVATE KEY-----\nafter\n"));
    said.extend(stream.finish());
    let said = String::from_utf8(said).expect("text");
    assert_eq!(said.matches("[REDACTED:private-key]").count(), 1);
    assert_eq!(said.lines().count(), 1003, "lines stay where they are");
    assert!(said.ends_with("\nafter\n") && !said.contains("MII"));
}

/// Twice as much text takes twice as long, not four times: texts that make each word a false start.
#[test]
fn hostile_texts_take_time_in_proportion() {
    for piece in [
        "token=",
        "password: ",
        "sk-ant-a-",
        "eyJa.",
        "-----BEGIN PRIVATE KEY-----",
        "curl -u ",
        "machine a login ",
        "[REDACTED:",
        "://a:",
        "Bearer a",
        "Authorization: Basic ",
        "secret=\"",
        "token=\"[",
        "-----BEGIN PRIVATE KEY-----\n1:",
        "ghp_",
        "eyJ-",
    ] {
        let time = |len: usize| {
            let text = piece.repeat(len / piece.len());
            let began = std::time::Instant::now();
            std::hint::black_box(Scrubber::default().scrub(&text));
            began.elapsed().as_secs_f64()
        };
        time(1_000);
        let (short, long) = (time(10_000), time(40_000));
        // Four times the text; a noisy machine is no square.
        assert!(long < 10.0 * short + 0.2, "{piece:?}: {short} s, then {long} s");
    }
}

#[test]
fn json_is_scrubbed_in_its_strings_and_behind_its_keys() {
    let mut value = serde_json::json!({
        "password": "hunter2hunter2",
        "nested": [{"api_key": "a8f3kq9zxw7t"}, {"note": "see sk-ant-api03-kL3mN8pQ2rS7tU4vW9xY1zA6bC5d, please"}],
        "token": "changeme", "tokens": 12, "path": "src/token.rs", "secret": null,
    });
    let found = Scrubber::default().scrub_json(&mut value);
    assert_eq!(found.to_string(), "1 anthropic-key, 2 secret");
    assert_eq!(
        value,
        serde_json::json!({
            "password": "[REDACTED:secret]",
            "nested": [{"api_key": "[REDACTED:secret]"}, {"note": "see [REDACTED:anthropic-key], please"}],
            "token": "changeme", "tokens": 12, "path": "src/token.rs", "secret": null,
        })
    );
    assert!(Scrubber::default().scrub_json(&mut value).is_empty());
    let deep = format!("{}\"token=a8f3kq9zxw7t8\"{}", "[".repeat(100), "]".repeat(100));
    let mut deep: serde_json::Value = serde_json::from_str(&deep).expect("JSON");
    assert_eq!(Scrubber::default().scrub_json(&mut deep).total(), 1);
}

#[test]
fn counts_are_told_by_kind() {
    let scrubbed = Scrubber::default()
        .scrub("a://b:p4ssw0rd@c d://e:p4ssw0rd2@f GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    assert_eq!(scrubbed.found.to_string(), "1 github-token, 2 url-password");
    assert_eq!(scrubbed.found.total(), 3);
    assert_eq!(
        serde_json::to_string(&scrubbed.found).expect("JSON"),
        r#"{"github-token":1,"url-password":2}"#
    );
    assert_eq!(markers(&scrubbed.text).count(), 3);
}
