//! Requests through the relay one after the other: what comes between them, how they end, and what they change to.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use pinfold_egress::{EgressViolation, RelayLimits};

use crate::kit::{OpenPolicy, Relayed};

/// The head of a message, and its body where it says how long that is.
fn message(from: &mut impl BufRead, has_body: bool) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (from.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let mut body = Vec::new();
    if !has_body {
        return Some((head, body));
    }
    if field("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok()?;
            let len = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; len + 2];
            from.read_exact(&mut chunk).ok()?;
            chunk.truncate(len);
            body.append(&mut chunk);
            if len == 0 {
                break;
            }
        }
    } else if let Some(len) = field("content-length") {
        body.resize(len.parse().ok()?, 0);
        from.read_exact(&mut body).ok()?;
    }
    Some((head, body))
}

/// Says back the first line of each request and how long its body was, in the way that the path names.
fn serve(stream: TcpStream) -> Option<()> {
    let mut from = BufReader::new(stream.try_clone().ok()?);
    let mut to = stream;
    loop {
        // As servers do where they expect no body: what comes behind the head is the next request.
        let has_body = !from.fill_buf().ok()?.starts_with(b"POST /ignored");
        let (head, body) = message(&mut from, has_body)?;
        let said = format!("{} {}", head.lines().next()?, body.len());
        let plain = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", said.len());
        let fields = head.to_ascii_lowercase();
        let field = |name: &str| {
            let mut all = fields.lines().filter_map(|line| line.strip_prefix(&format!("{name}: ")));
            (all.next().unwrap_or_default().to_owned(), all.next().is_none())
        };
        let answer = match head.split(' ').nth(1)? {
            "/fields" => {
                let said = format!("{:?} {:?}", field("host"), field("transfer-encoding"));
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{said}", said.len())
            }
            "/chunked" => {
                format!(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{said}\r\n0\r\n\r\n",
                    said.len()
                )
            }
            "/large" => {
                let large = "x".repeat(3 << 20);
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{large}", large.len())
            }
            "/last" => format!("{plain}Connection: close\r\n\r\n{said}"),
            "/until-the-end" => format!("HTTP/1.0 200 OK\r\n\r\n{said}"),
            "/head" => format!("{plain}\r\n"),
            "/empty" => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            "/leaves" => {
                let _ = to.write_all(format!("{plain}\r\n{said}").as_bytes());
                return None;
            }
            "/half" => {
                let _ = to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
                return None;
            }
            "/stalls" => {
                let _ = to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
                thread::sleep(Duration::from_mins(1));
                return None;
            }
            "/unasked" => format!("{plain}\r\n{said}HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked"),
            "/changes" => {
                to.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly").ok()?;
                std::io::copy(&mut from, &mut to).ok()?;
                return None;
            }
            _ => format!("{plain}\r\n{said}"),
        };
        to.write_all(answer.as_bytes()).ok()?;
        let is_last = head.starts_with("GET /last") || head.starts_with("GET /until-the-end");
        if is_last || field("connection").0 == "close" {
            return None;
        }
    }
}

fn bed() -> Relayed {
    let limits =
        RelayLimits { connections: 64, idle: Duration::from_secs(20), hello: Duration::from_secs(10) };
    Relayed::start(OpenPolicy::default(), limits, serve)
}

impl Relayed {
    /// What was refused, once something was.
    fn refused(&self) -> Vec<EgressViolation> {
        for _ in 0..500 {
            let refused = std::mem::take(&mut *self.policy.violations.lock().unwrap());
            if !refused.is_empty() {
                return refused;
            }
            thread::sleep(Duration::from_millis(10));
        }
        Vec::new()
    }

    /// Through a tunnel, where requests are looked at as on a connection of its own.
    fn talk_in_tunnel(&self) -> Talk {
        let mut talk = self.talk();
        let target = format!("a.test:{}", self.server.port());
        talk.say(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
        assert!(message(&mut talk.from, false).unwrap().0.contains(" 200 "));
        talk
    }

    /// To the proxy itself.
    fn talk(&self) -> Talk {
        let to = self.connect();
        let from = BufReader::new(to.try_clone().unwrap());
        let target = format!("http://a.test:{}", self.server.port());
        Talk { to, from, target, host: format!("a.test:{}", self.server.port()) }
    }
}

struct Talk {
    to: TcpStream,
    from: BufReader<TcpStream>,
    /// What stands before each path, where the proxy is asked.
    target: String,
    host: String,
}

impl Talk {
    fn say(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).unwrap();
    }

    fn request(&self, line: &str, fields: &str, body: &str) -> String {
        format!("{line} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n{body}", self.host)
    }

    fn hear(&mut self) -> String {
        let (head, mut body) = message(&mut self.from, true).unwrap();
        assert!(head.contains(" 200 "), "{head}");
        if head.starts_with("HTTP/1.0") {
            self.from.read_to_end(&mut body).unwrap();
        }
        String::from_utf8(body).unwrap()
    }

    fn ask(&mut self, line: &str, fields: &str, body: &str) -> String {
        let text = self.request(line, fields, body);
        self.say(&text);
        self.hear()
    }

    /// Whether nothing more comes, and its end does.
    fn has_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        matches!(self.from.read_to_end(&mut rest), Ok(0))
    }
}

fn pause() {
    // Between requests nobody keeps more than the sockets.
    thread::sleep(Duration::from_millis(30));
}

#[test]
fn requests_of_all_shapes_follow_each_other() {
    let bed = bed();
    let large = "y".repeat(300_000);
    let length = format!("Content-Length: {}\r\n", large.len());
    let coded = "Transfer-Encoding: chunked\r\n";
    for (in_tunnel, before) in [(true, String::new()), (false, bed.talk().target)] {
        let open = || if in_tunnel { bed.talk_in_tunnel() } else { bed.talk() };
        let line = |line: &str| line.replacen(' ', &format!(" {before}"), 1);
        let mut talk = open();
        // A request with a body is the last one of its connection.
        let renew = |talk: &mut Talk| {
            assert!(talk.has_ended());
            *talk = open();
        };
        for round in 0..3 {
            assert_eq!(talk.ask(&line("GET /a"), "", ""), "GET /a HTTP/1.1 0");
            assert_eq!(talk.ask(&line("POST /b"), &length, &large), "POST /b HTTP/1.1 300000");
            renew(&mut talk);
            assert_eq!(talk.ask(&line("POST /b"), "Content-Length: 0\r\n", ""), "POST /b HTTP/1.1 0");
            if round > 0 {
                pause();
            }
            assert_eq!(
                talk.ask(&line("POST /c"), coded, "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"),
                "POST /c HTTP/1.1 5"
            );
            renew(&mut talk);
            assert_eq!(talk.ask(&line("GET /chunked"), "", ""), "GET /chunked HTTP/1.1 0");
            assert_eq!(talk.ask(&line("GET /large"), "", "").len(), 3 << 20);
            if round > 1 {
                pause();
            }
            // Several at once, some of them in pieces.
            let first = talk.request(&line("GET /d"), "", "");
            let second = talk.request(&line("GET /e"), "", "");
            let third = talk.request(&line("POST /f"), coded, "1\r\na\r\n0\r\n\r\n");
            let all = [first, second, third].concat();
            let (begin, rest) = all.split_at(all.len() - 20);
            talk.say(begin);
            assert_eq!(talk.hear(), "GET /d HTTP/1.1 0");
            assert_eq!(talk.hear(), "GET /e HTTP/1.1 0");
            pause();
            talk.say(rest);
            assert_eq!(talk.hear(), "POST /f HTTP/1.1 1");
            renew(&mut talk);
            let head = talk.request(&line("HEAD /head"), "", "");
            talk.say(&head);
            assert!(message(&mut talk.from, false).unwrap().0.contains("ontent-"), "a head alone");
            let empty = talk.request(&line("GET /empty"), "", "");
            talk.say(&empty);
            assert!(message(&mut talk.from, false).unwrap().0.contains(" 204 "));
        }
        // An end of the side that asks, behind a request.
        let last = talk.request(&line("GET /g"), "", "");
        talk.say(&last);
        talk.to.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(talk.hear(), "GET /g HTTP/1.1 0");
        assert!(talk.has_ended());
    }
    assert!(bed.policy.violations.lock().unwrap().is_empty());
}

#[test]
fn an_end_of_the_host_is_passed_on() {
    let bed = bed();
    for path in ["/last", "/leaves", "/until-the-end"] {
        let mut talk = bed.talk_in_tunnel();
        assert_eq!(talk.ask("GET /a", "", ""), "GET /a HTTP/1.1 0");
        assert_eq!(talk.ask(&format!("GET {path}"), "", ""), format!("GET {path} HTTP/1.1 0"), "{path}");
        assert!(talk.has_ended(), "{path}");
    }
    // One that promised more.
    let mut talk = bed.talk_in_tunnel();
    let half = talk.request("GET /half", "", "");
    talk.say(&half);
    let (head, body) = (message(&mut talk.from, false).unwrap().0, &mut Vec::new());
    assert!(head.contains("1000"), "{head}");
    let _ = talk.from.read_to_end(body);
    assert_eq!(body, b"half");
    // One that says more than it was asked: nobody takes that for an answer.
    let mut talk = bed.talk_in_tunnel();
    assert_eq!(talk.ask("GET /unasked", "", ""), "GET /unasked HTTP/1.1 0");
    assert!(talk.has_ended());
}

#[test]
fn a_length_that_is_said_twice_is_refused_in_words() {
    let bed = bed();
    let both = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n";
    let other = "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n";
    let differing = "Content-Length: 4\r\nContent-Length: 5\r\n";
    for (fields, in_words) in [(both, true), (other, true), (differing, false)] {
        for first in [false, true] {
            let mut talk = bed.talk_in_tunnel();
            if first {
                assert_eq!(talk.ask("GET /a", "", ""), "GET /a HTTP/1.1 0");
            }
            let text = talk.request("POST /b", fields, "0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n");
            talk.say(&text);
            let mut said = String::new();
            let _ = talk.from.read_to_string(&mut said);
            assert!(said.starts_with("HTTP/1.1 400 ") && said.matches("HTTP/1.1").count() == 1, "{said}");
            assert_eq!(said.contains("pinfold: no (n1)"), in_words, "{said}");
            assert_eq!(bed.refused(), [EgressViolation::ConflictingLengths]);
        }
    }
    // The same length said twice is one length.
    let mut talk = bed.talk_in_tunnel();
    let same = "Content-Length: 1\r\nContent-Length: 1\r\n";
    assert_eq!(talk.ask("POST /a", same, "x"), "POST /a HTTP/1.1 1");
    assert!(bed.policy.violations.lock().unwrap().is_empty());
}

/// A server that ignores a body reads it as the next request, which names a host that was not compared.
#[test]
fn a_body_is_never_read_as_a_request() {
    let bed = bed();
    for in_tunnel in [true, false] {
        let mut talk = if in_tunnel { bed.talk_in_tunnel() } else { bed.talk() };
        let before = if in_tunnel { String::new() } else { talk.target.clone() };
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: b.test\r\n\r\n";
        let length = format!("Content-Length: {}\r\n", smuggled.len());
        let all = talk.request(&format!("POST {before}/ignored"), &length, smuggled)
            + &talk.request(&format!("GET {before}/next"), "", "");
        talk.say(&all);
        let mut said = String::new();
        talk.from.read_to_string(&mut said).unwrap();
        assert_eq!(said.matches("HTTP/1.1 200").count(), 1, "{said}");
        assert!(said.contains("POST /ignored HTTP/1.1 0") && !said.contains("smuggled"), "{said}");
        assert!(said.to_ascii_lowercase().contains("connection: close"), "{said}");
    }
}

/// One host and one coding, as they were judged, not as they were written.
#[test]
fn what_was_judged_is_what_is_sent_on() {
    let bed = bed();
    for host in ["A.test.", "a.TEST"] {
        let mut talk = bed.talk_in_tunnel();
        talk.host = talk.host.replace("a.test", host);
        let port = bed.server.port();
        assert_eq!(talk.ask("GET /fields", "", ""), format!("(\"a.test:{port}\", true) (\"\", true)"));
        let said = talk.ask("POST /fields", "Transfer-Encoding: Chunked\r\n", "1\r\na\r\n0\r\n\r\n");
        assert_eq!(said, format!("(\"a.test:{port}\", true) (\"chunked\", true)"));
    }
    assert!(bed.policy.violations.lock().unwrap().is_empty());
    for coding in ["gzip, chunked", "identity\r\nTransfer-Encoding: chunked", "chunked, chunked"] {
        let mut talk = bed.talk_in_tunnel();
        talk.say(&talk.request("POST /a", &format!("Transfer-Encoding: {coding}\r\n"), "0\r\n\r\n"));
        let mut said = String::new();
        let _ = talk.from.read_to_string(&mut said);
        assert!(said.starts_with("HTTP/1.1 400 "), "{coding}: {said}");
        assert_eq!(bed.refused(), [EgressViolation::TransferCoding], "{coding}");
    }
}

#[test]
fn a_websocket_carries_what_it_likes() {
    let bed = bed();
    let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    for before in [0, 2] {
        let mut talk = bed.talk_in_tunnel();
        for _ in 0..before {
            assert_eq!(talk.ask("GET /a", "", ""), "GET /a HTTP/1.1 0");
            pause();
        }
        let text = talk.request("GET /changes", fields, "");
        talk.say(&text);
        assert!(message(&mut talk.from, false).unwrap().0.contains(" 101 "));
        talk.say("Content-Length: 1\r\nContent-Length: 2\r\n\r\n");
        talk.to.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = String::new();
        talk.from.read_to_string(&mut said).unwrap();
        assert_eq!(said, "earlyContent-Length: 1\r\nContent-Length: 2\r\n\r\n");
    }
    // A host that does not want to goes on with requests.
    let mut talk = bed.talk_in_tunnel();
    assert_eq!(talk.ask("GET /a", fields, ""), "GET /a HTTP/1.1 0");
    assert_eq!(talk.ask("GET /b", "", ""), "GET /b HTTP/1.1 0");
}

/// Whichever way a connection was made, a rule that denies its address by now ends it.
#[test]
fn a_new_rule_ends_open_connections_of_every_kind() {
    for way in ["proxied", "tunnel", "websocket", "idle", "opaque"] {
        let bed = bed();
        let mut talk = if way == "proxied" { bed.talk() } else { bed.talk_in_tunnel() };
        let line =
            if way == "proxied" { format!("GET {}/stalls", talk.target) } else { "GET /stalls".into() };
        let mut half = [0; 4];
        match way {
            "proxied" | "tunnel" => {
                talk.say(&talk.request(&line, "", ""));
                assert!(message(&mut talk.from, false).unwrap().0.contains(" 200 "));
                talk.from.read_exact(&mut half).unwrap();
            }
            "websocket" => {
                let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
                talk.say(&talk.request("GET /changes", fields, ""));
                assert!(message(&mut talk.from, false).unwrap().0.contains(" 101 "));
                talk.from.read_exact(&mut [0; 5]).unwrap();
            }
            "idle" => assert_eq!(talk.ask("GET /a", "", ""), "GET /a HTTP/1.1 0"),
            _ => talk.say("\x01 /a x\r\n\r\n"),
        }
        if way == "opaque" {
            message(&mut talk.from, true).unwrap();
        }
        // The control: without a change it stays.
        talk.to.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
        let kind = |read: std::io::Result<usize>| read.map_err(|error| error.kind());
        let stays = kind(talk.from.read(&mut half));
        assert_eq!(stays, Err(std::io::ErrorKind::WouldBlock), "{way}");
        bed.policy.is_denied.store(true, std::sync::atomic::Ordering::Relaxed);
        talk.to.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let ended = kind(talk.from.read(&mut half));
        let is_end = matches!(ended, Ok(0) | Err(std::io::ErrorKind::ConnectionReset));
        assert!(is_end, "{way}: {ended:?}");
    }
}

/// A request that comes with its CONNECT, from a client that then ends its side: inspected like any other first bytes.
#[test]
fn bytes_behind_a_connect_are_inspected_though_the_client_has_ended_its_side() {
    let bed = bed();
    for (host, more) in [("b.test", ""), ("a.test", ""), ("b.test", "SSH-2.0-x\r\n")] {
        let mut talk = bed.talk();
        let target = format!("a.test:{}", bed.server.port());
        let connect = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        let behind = format!("GET /a HTTP/1.1\r\nHost: {host}\r\n\r\n{more}");
        talk.say(&(connect + &behind));
        talk.to.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = String::new();
        let _ = talk.from.read_to_string(&mut said);
        assert!(!said.contains("GET /a"), "the server was reached: {said}");
        assert_eq!(bed.refused(), [EgressViolation::Malformed]);
    }
    // The control: bytes of another protocol are relayed, and counted.
    let mut talk = bed.talk();
    let target = format!("a.test:{}", bed.server.port());
    talk.say(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n\x01 /a x\r\n\r\n"));
    talk.to.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    talk.from.read_to_string(&mut said).unwrap();
    assert!(said.contains("\x01 /a x"), "{said}");
}
