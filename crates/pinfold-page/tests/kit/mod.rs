//! A process that asks, a page that shows it, and a browser that is none: bytes in, bytes out.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::{Approver as _, ApproverResponse, Request};
use pinfold_approvals::Broker;
use pinfold_approvals::socket::{ApprovalSocket, ProcessAggregator, SessionRegistry, SocketDir, SocketHomes};
use pinfold_gate_testkit::request::about_command;
use pinfold_page::{Page, PageEvent};
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) struct House {
    _tree: TempTree,
    pub(crate) broker: Arc<Broker>,
    pub(crate) listening: ApprovalSocket,
    pub(crate) page: Page,
    pub(crate) news: Arc<Mutex<Vec<PageEvent>>>,
}

pub(crate) fn house() -> House {
    let tree = TempTree::new();
    let place = SocketDir::open(&SocketHomes { runtime: Some(tree.top().to_owned()), state: None }).unwrap();
    let broker = Arc::new(Broker::default());
    let listening = broker.listen(&place, "test", &SessionRegistry::default()).unwrap();
    let news = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&news);
    let page =
        Page::open(ProcessAggregator::from_dirs(vec![place]), None, Some("ana".to_owned()), move |new| {
            told.lock().unwrap().push(new);
        });
    House { _tree: tree, broker, listening, page: page.unwrap(), news }
}

impl House {
    pub(crate) fn ask(&self, request: &Request) -> thread::JoinHandle<ApproverResponse> {
        let (broker, request) = (Arc::clone(&self.broker), request.clone());
        thread::spawn(move || broker.ask(&request, &|| true))
    }

    pub(crate) fn port(&self) -> u16 {
        self.page.address().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    /// Says these lines, and what follows them, as they are.
    pub(crate) fn say(&self, lines: &[&str], body: &str) -> Reply {
        let mut stream = self.connect();
        let text = format!("{}\r\ncontent-length: {}\r\n\r\n{body}", lines.join("\r\n"), body.len());
        // Whoever is sent away early is told why all the same.
        let _ = stream.write_all(text.as_bytes());
        Reply::read(stream)
    }

    /// What the page's own script would post.
    pub(crate) fn post(&self, path: &str, keys: Option<&Keys>, what: &Value) -> Reply {
        let port = self.port();
        let mut lines = vec![
            format!("POST {path} HTTP/1.1"),
            format!("host: 127.0.0.1:{port}"),
            format!("origin: http://127.0.0.1:{port}"),
            "sec-fetch-site: same-origin".to_owned(),
            "content-type: application/json".to_owned(),
        ];
        lines.extend(keys.map(|keys| format!("cookie: {}", keys.cookie)));
        lines.extend(keys.map(|keys| format!("x-pinfold-token: {}", keys.token)));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.say(&lines, &what.to_string())
    }

    pub(crate) fn pair(&self) -> Keys {
        let code = self.page.new_code().unwrap().to_string();
        let reply = self.post("/pair", None, &json!({"code": code}));
        assert_eq!(reply.status, 200, "{}", reply.body);
        let cookie = reply.header("set-cookie").unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(word), "{cookie}");
        }
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Keys { cookie, token: reply.json()["token"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn answer(&self, keys: &Keys, request: &Request, answer: &Value) -> Reply {
        let what = json!({"name": "test", "id": request.id, "digest": request.digest, "answer": answer});
        self.post("/answer", Some(keys), &what)
    }

    pub(crate) fn listen(&self, keys: &Keys) -> Result<Events, Reply> {
        let mut stream = self.connect();
        let head = format!(
            "GET /events HTTP/1.1\r\nhost: localhost:{}\r\ncookie: {}\r\nx-pinfold-token: {}\r\n\r\n",
            self.port(),
            keys.cookie,
            keys.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if !line.contains(" 200 ") {
            let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap();
            return Err(Reply { status, headers: Vec::new(), body: String::new() });
        }
        Ok(Events(reader))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) cookie: String,
    pub(crate) token: String,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        // A connection that is reset has still said what it said, and a stream of events has no end.
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            bytes.extend_from_slice(&piece[..count]);
            if String::from_utf8_lossy(&bytes).contains("text/event-stream") {
                break;
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A stream of events.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event of this kind: its text and its data.
    pub(crate) fn next(&mut self, kind: &str) -> (String, Value) {
        let end = Instant::now() + LONG;
        while Instant::now() < end {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            if line.trim_end() == format!("event: {kind}") {
                let mut data = String::new();
                self.0.read_line(&mut data).unwrap();
                let value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                return (data, value);
            }
        }
        panic!("no {kind}")
    }

    /// All that comes until the other side ends it.
    pub(crate) fn rest(&mut self, within: Duration) -> String {
        self.0.get_ref().set_read_timeout(Some(within)).unwrap();
        let mut all = String::new();
        self.0.read_to_string(&mut all).unwrap();
        all
    }
}

/// A request that waits for five minutes.
pub(crate) fn request(id: &str, command: &str) -> Request {
    about_command(id, command, Duration::from_mins(5))
}
