//! Addresses as hooks: what is posted, what is an answer, and what is none.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_gate_testkit::calls::bash;
use pinfold_testkit::processes::until;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::kit::{Bed, with};

/// Answers every post, and remembers what came in.
struct Server {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

/// One request: its head and body.
fn request(stream: &mut impl Read) -> String {
    let mut text = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let read = stream.read(&mut buffer).unwrap_or(0);
        text.extend_from_slice(&buffer[..read]);
        let said = String::from_utf8_lossy(&text).into_owned();
        let length = said
            .to_lowercase()
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next()?.trim().parse().ok());
        if let Some((_, body)) = said.split_once("\r\n\r\n")
            && body.len() >= length.unwrap_or(0)
        {
            return said;
        }
        if read == 0 {
            return said;
        }
    }
}

fn answer(status: &str, head: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{head}\r\n{body}", body.len())
}

impl Server {
    /// Answers with whatever `reply` makes of what it is asked.
    fn new(reply: impl Fn(&mut TcpStream, &str) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let own = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let said = request(&mut stream);
                own.lock().unwrap().push(said.clone());
                reply(&mut stream, &said);
            }
        });
        Self { url, heard }
    }

    fn saying(status: &'static str, body: &Value) -> Self {
        let body = body.to_string();
        Self::new(move |stream, _| drop(stream.write_all(answer(status, "", &body).as_bytes())))
    }

    fn hook(&self) -> Value {
        json!({"type": "http", "url": self.url})
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn word(word: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "R"}})
}

#[test]
fn the_same_is_posted_and_the_same_is_answered() {
    let mut bed = Bed::new();
    bed.environment.push(("TOKEN".into(), "s3cret".into()));
    for (said, expected) in
        [(word("allow"), "allow"), (word("deny"), "deny"), (word("ask"), "ask"), (json!({}), "ask")]
    {
        let server = Server::saying("200 OK", &said);
        let hook = with(
            with(server.hook(), "headers", json!({"X-Key": "Bearer ${TOKEN}"})),
            "allowedEnvVars",
            json!(["TOKEN"]),
        );
        assert_eq!(bed.decide(&bed.before(&hook), "make"), expected, "{said}");
        let posted = server.heard();
        let (head, body) = posted[0].split_once("\r\n\r\n").unwrap();
        let head = head.to_lowercase();
        assert!(head.starts_with("post /hook http/1.1"), "{head}");
        for line in ["x-key: bearer s3cret", "content-type: application/json"] {
            assert!(head.contains(line), "{head}");
        }
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (body["tool_name"].as_str(), body["tool_input"]["command"].as_str()),
            (Some("Bash"), Some("make"))
        );
        assert_eq!(bed.told(), [""; 0]);
    }
}

#[test]
fn what_is_no_answer_has_no_say_unless_it_fails_closed() {
    let bed = Bed::new();
    let text = |status: &'static str, body: &'static str| {
        Server::new(move |stream, _| drop(stream.write_all(answer(status, "", body).as_bytes())))
    };
    let elsewhere = Server::saying("200 OK", &word("allow"));
    let to = elsewhere.url.clone();
    let redirects = move |status: &'static str| {
        let to = to.clone();
        Server::new(move |stream, _| {
            drop(stream.write_all(
                answer(status, &format!("Location: {to}\r\n"), &word("allow").to_string()).as_bytes(),
            ));
        })
    };
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (server, told) in [
        (Some(redirects("302 Found")), "redirects are not followed"),
        (Some(redirects("307 Temporary Redirect")), "redirects are not followed"),
        (Some(redirects("308 Permanent Redirect")), "redirects are not followed"),
        (Some(Server::saying("500 Oops", &word("allow"))), "it answered with 500"),
        (Some(Server::saying("404 Not Found", &word("allow"))), "it answered with 404"),
        (Some(text("200 OK", "<html>")), "what it said is no answer: <html>"),
        (Some(text("200 OK", "{oops")), "its answer is no JSON"),
        (Some(Server::new(|stream, _| drop(stream.write_all(b"nonsense\r\n\r\n")))), "it cannot be reached"),
        (Some(Server::new(|_, _| {})), "it cannot be reached"),
        (
            Some(Server::new(|stream, _| {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n{"));
                drop(stream.write_all(&vec![b' '; 3_000_000]));
            })),
            "longer than any that is read",
        ),
        (None, "it cannot be reached"),
    ] {
        let hook = server
            .as_ref()
            .map_or_else(|| json!({"type": "http", "url": format!("http://{closed}/")}), Server::hook);
        for (fail_closed, expected) in [(false, "ask"), (true, "deny")] {
            let session = bed.before(&with(hook.clone(), "failClosed", fail_closed));
            assert_eq!(bed.decide(&session, "make"), expected, "{told}");
            let heard = bed.told();
            assert!(heard.len() == 1 && heard[0].contains(told), "{told}: {heard:?}");
        }
    }
    assert!(elsewhere.heard().is_empty(), "nobody is followed");
}

#[test]
fn a_slow_address_has_its_time_and_no_more() {
    let bed = Bed::new();
    for slow in [
        |_: &mut TcpStream, _: &str| thread::sleep(Duration::from_secs(5)),
        // A byte now and then is no answer either.
        |stream: &mut TcpStream, _: &str| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(200));
                let _ = stream.write_all(b" ");
            }
        },
    ] {
        let server = Server::new(slow);
        let session = bed.before(&with(server.hook(), "timeout", 0.5));
        let from = Instant::now();
        assert_eq!(bed.decide(&session, "make"), "ask");
        assert!(from.elapsed() < Duration::from_secs(3), "{:?}", from.elapsed());
        assert!(bed.told()[0].contains("no answer within 0.5 s"));
    }
}

#[test]
fn a_header_whose_variable_is_not_set_is_not_sent_without_it() {
    let bed = Bed::new();
    let server = Server::saying("200 OK", &word("allow"));
    let hook =
        with(with(server.hook(), "headers", json!({"X-Key": "$TOKEN"})), "allowedEnvVars", json!(["TOKEN"]));
    assert_eq!(bed.decide(&bed.before(&hook), "make"), "ask");
    assert!(bed.told()[0].contains("the variable `TOKEN` of its headers is not set"));
    assert!(server.heard().is_empty());
}

#[test]
fn in_the_background_an_address_is_told_and_not_waited_for() {
    let bed = Bed::new();
    let server = Server::new(|_, _| thread::sleep(Duration::from_secs(2)));
    let session = bed.before(&with(server.hook(), "async", true));
    let from = Instant::now();
    assert_eq!(bed.decide(&session, "make"), "ask");
    assert!(from.elapsed() < Duration::from_millis(900), "{:?}", from.elapsed());
    until("it was told", || server.heard().iter().any(|said| said.contains("make")));
}

/// An address behind TLS, with a certificate of a CA of its own; returns that CA as PEM.
fn behind_tls() -> (String, String) {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = CertificateDer::from(signed.cert.der().to_vec());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            let _ = request(&mut stream);
            let _ = stream.write_all(answer("200 OK", "", &word("deny").to_string()).as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    (format!("https://localhost:{port}/hook"), signed.cert.pem())
}

#[test]
fn certificates_are_judged_by_the_authorities_that_are_trusted_here() {
    let (url, authority) = behind_tls();
    let hook = json!({"type": "http", "url": url, "timeout": 10});
    let mut bed = Bed::new();
    std::fs::write(bed.folder.join("authority.pem"), authority).unwrap();
    std::fs::write(bed.folder.join("empty.pem"), "").unwrap();
    // By an authority that nobody named: no answer.
    assert_eq!(bed.decide(&bed.before(&hook), "make"), "ask");
    assert!(!bed.told().is_empty());
    let mut named = |name: &str| {
        bed.environment.retain(|(own, _)| own != "SSL_CERT_FILE");
        bed.environment.push(("SSL_CERT_FILE".into(), bed.folder.join(name).into()));
        let decided = bed.before(&hook).decide(&bash("make"));
        (bed.outcome(&decided), bed.told())
    };
    assert_eq!(named("authority.pem"), ("deny", vec![]));
    for (name, why) in [("empty.pem", "no CA certificate was found in"), ("missing.pem", "No such file")] {
        let (outcome, told) = named(name);
        assert!(outcome == "ask" && told[0].contains(why), "{told:?}");
    }
}
