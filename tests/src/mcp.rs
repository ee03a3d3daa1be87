//! A small client of the Model Context Protocol, over standard input and output or HTTP, which can misbehave.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_http::{Posts, Served, TOKEN};
use crate::processes::TEST_TIMEOUT;

/// The newest revision: without a handshake.
pub const NEWEST: &str = "2026-07-28";

/// The last revision with a handshake.
pub const LAST_WITH_HANDSHAKE: &str = "2025-11-25";

/// What a client answers to requests of the server: the method and its parameters in, a result out. `None`: the method
/// is not known.
pub type Answers = Box<dyn Fn(&str, &Value) -> Option<Value>>;

/// A client, and the server that it started or speaks to.
pub struct Client {
    wire: Wire,
    lines: Receiver<Value>,
    waiting: RefCell<VecDeque<Value>>,
    next: Cell<u64>,
    /// Of the newest revision: what it can do is said with each request.
    capabilities: Option<Value>,
    answers: Answers,
    /// Requests and notifications of the server, in their order.
    pub heard: RefCell<Vec<Value>>,
}

enum Wire {
    Pipes { child: Child, input: Option<ChildStdin>, panicked: Receiver<String> },
    Http { posts: Posts, heard: Sender<Value> },
}

impl Client {
    /// Speaks to a server that listens, and says nothing yet.
    pub fn over_http(server: &Served) -> Self {
        let (heard, lines) = channel();
        Self::of(Wire::Http { posts: Posts::to(&server.url, Some(TOKEN)), heard }, lines)
    }

    /// Starts a server, and says nothing yet.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take();
        let log = BufReader::new(child.stderr.take().expect("its log"));
        let (panics, panicked) = channel();
        thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                eprintln!("{line}");
                if line.contains("panicked at") {
                    let _ = panics.send(line);
                }
            }
        });
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({"junk": line}));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Self::of(Wire::Pipes { child, input, panicked }, lines)
    }

    fn of(wire: Wire, lines: Receiver<Value>) -> Self {
        Self {
            wire,
            lines,
            waiting: RefCell::default(),
            next: Cell::new(0),
            capabilities: None,
            answers: Box::new(|_, _| None),
            heard: RefCell::default(),
        }
    }

    /// Shakes hands in an older revision. What the server said is the second part.
    #[expect(clippy::needless_pass_by_value, reason = "what is said is written where it is said")]
    pub fn hello(mut self, version: &str, capabilities: Value, answers: Answers) -> (Self, Value) {
        self.answers = answers;
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let said = self.request("initialize", params);
        self.notify("notifications/initialized", json!({}));
        (self, said)
    }

    /// Speaks the newest revision from now on.
    #[must_use]
    pub fn newest(mut self, capabilities: Value) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Writes a line as it stands.
    pub fn raw(&self, line: &[u8]) {
        let mut input = match &self.wire {
            Wire::Pipes { input, .. } => input.as_ref().expect("the input is open"),
            Wire::Http { posts, heard } => return posts.send(line, heard),
        };
        // A server that has ended is noticed where its answer is waited for.
        let _ = input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush());
    }

    /// Sends a notification.
    #[expect(clippy::needless_pass_by_value, reason = "what is said is written where it is said")]
    pub fn notify(&self, method: &str, params: Value) {
        self.raw(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string().as_bytes());
    }

    /// Sends a request, and gives its number.
    pub fn send(&self, method: &str, mut params: Value) -> u64 {
        let id = self.next.replace(self.next.get() + 1) + 1;
        if let Some(capabilities) = &self.capabilities {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            });
            let known = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = meta;
            params["_meta"].as_object_mut().expect("an object").extend(known);
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw(request.to_string().as_bytes());
        id
    }

    /// The answer to a request; requests of the server are answered meanwhile.
    ///
    /// # Panics
    /// When there is none in time.
    pub fn answer(&self, id: u64) -> Value {
        self.answer_within(id, TEST_TIMEOUT).unwrap_or_else(|| panic!("no answer to {id}"))
    }

    /// The same; `None` when there is none in this time.
    ///
    /// # Panics
    /// When the server says what is no message.
    pub fn answer_within(&self, id: u64, time: Duration) -> Option<Value> {
        let mut waiting = self.waiting.borrow_mut();
        if let Some(at) = waiting.iter().position(|message| message["id"] == id) {
            return waiting.remove(at);
        }
        loop {
            let message = self.lines.recv_timeout(time).ok()?;
            assert!(message.get("junk").is_none(), "{message}");
            if message.get("method").is_some() {
                self.take(message);
            } else if message["id"] == id {
                return Some(message);
            } else {
                waiting.push_back(message);
            }
        }
    }

    fn take(&self, message: Value) {
        let method = message["method"].as_str().expect("a method").to_owned();
        if let Some(id) = message.get("id") {
            let reply = match (self.answers)(&method, &message["params"]) {
                Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                None => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not known"}})
                }
            };
            self.raw(reply.to_string().as_bytes());
        }
        self.heard.borrow_mut().push(message);
    }

    /// A request and its answer.
    pub fn request(&self, method: &str, params: Value) -> Value {
        self.answer(self.send(method, params))
    }

    /// A call of a tool and its result.
    ///
    /// # Panics
    /// When it is answered by an error of the protocol.
    #[expect(clippy::needless_pass_by_value, reason = "what is said is written where it is said")]
    pub fn call(&self, tool: &str, arguments: Value) -> Called {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        Called(answer["result"].clone())
    }

    /// How often the server has asked for something.
    pub fn times(&self, method: &str) -> usize {
        self.heard.borrow().iter().filter(|message| message["method"] == method).count()
    }

    /// The process of the server that was started.
    ///
    /// # Panics
    /// When it was not started here.
    pub fn child(&mut self) -> &mut Child {
        match &mut self.wire {
            Wire::Pipes { child, .. } => child,
            Wire::Http { .. } => panic!("the server was not started here"),
        }
    }

    /// The session over HTTP.
    pub fn session(&self) -> Option<String> {
        match &self.wire {
            Wire::Pipes { .. } => None,
            Wire::Http { posts, .. } => posts.session(),
        }
    }

    /// Closes the input and waits for the end, or ends the session. `true`: it ended well, and in time.
    pub fn close(mut self) -> bool {
        let (child, input) = match &mut self.wire {
            Wire::Pipes { child, input, .. } => (child, input),
            Wire::Http { posts, .. } => return posts.delete(),
        };
        drop(input.take());
        let end = std::time::Instant::now() + TEST_TIMEOUT;
        while std::time::Instant::now() < end {
            if let Ok(Some(status)) = child.try_wait() {
                return status.success();
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Client {
    /// Whatever a test did: no thread of the server has panicked.
    fn drop(&mut self) {
        if let Wire::Pipes { child, input, panicked } = &mut self.wire {
            drop(input.take());
            let _ = child.kill();
            let _ = child.wait();
            // Its log ends with it, or a little later with what it started.
            let panicked = panicked.recv_timeout(Duration::from_millis(200));
            assert!(panicked.is_err() || thread::panicking(), "the server: {panicked:?}");
        }
    }
}

/// The result of a call.
#[derive(Debug)]
pub struct Called(pub Value);

impl Called {
    /// Whether it is told as an error.
    pub fn is_error(&self) -> bool {
        self.0["isError"] == true
    }

    /// All that a model reads.
    pub fn text(&self) -> String {
        let pieces = self.0["content"].as_array().into_iter().flatten();
        pieces.filter_map(|piece| piece["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}
