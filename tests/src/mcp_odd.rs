//! Servers of the Model Context Protocol over HTTP that answer as a test wants them to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

/// A request as it came.
pub struct Came {
    /// Its head.
    pub head: String,
    /// What it says.
    pub text: String,
    /// The same, where it is JSON.
    pub body: Value,
}

impl Came {
    /// Whether a line of its head begins so.
    pub fn has(&self, header: &str) -> bool {
        self.head.to_lowercase().lines().any(|line| line.starts_with(&header.to_lowercase()))
    }

    /// Method and path.
    pub fn what(&self) -> &str {
        let line = self.head.lines().next().unwrap_or_default();
        line.rsplit_once(' ').map_or(line, |(what, _)| what)
    }

    /// A line of its head, as it was written.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(said, _)| said.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A server that answers each request as `answer` says: the whole answer, head and all. Its address, and what came.
///
/// # Panics
/// Where this machine has no port left.
pub fn odd(answer: impl Fn(&Came) -> Vec<u8> + Send + Sync + 'static) -> (String, Receiver<Came>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let (send, came) = channel();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (send, answer) = (send.clone(), Arc::clone(&answer));
            thread::spawn(move || {
                let Some(request) = request(&stream) else { return };
                let said = answer(&request);
                let _ = send.send(request);
                // In pieces, as a network may deliver it.
                for piece in said.chunks(7_001) {
                    if (&stream).write_all(piece).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, came)
}

fn request(stream: &TcpStream) -> Option<Came> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    Some(Came { head, body: serde_json::from_slice(&body).unwrap_or_default(), text })
}

/// A whole answer.
pub fn whole(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// What a good server answers: in JSON on several lines.
///
/// # Panics
/// Never: it is JSON.
pub fn good(came: &Came) -> Vec<u8> {
    let result = match came.body["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}})
        }
        Some("tools/list") => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": "done"}], "odd": {"kept": 1.50}}),
        _ if came.body["id"].is_null() => return whole("202 Accepted", "text/plain", b""),
        _ => json!({}),
    };
    let answer = json!({"jsonrpc": "2.0", "id": came.body["id"], "result": result});
    whole("200 OK", "application/json", serde_json::to_string_pretty(&answer).expect("JSON").as_bytes())
}
