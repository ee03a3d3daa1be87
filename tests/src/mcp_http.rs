//! A server of the Model Context Protocol over HTTP, and how a client speaks to one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

use crate::processes::{TEST_TIMEOUT, signal};

/// The token of the servers here.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server that listens. It ends with this.
pub struct Served {
    child: Child,
    /// Where it is: `http://127.0.0.1:PORT/mcp`.
    pub url: String,
}

impl Served {
    /// Starts one that says first where it listens.
    ///
    /// # Panics
    /// When it does not.
    pub fn start(command: &mut Command) -> Self {
        Self::start_without_token(command.env("PINFOLD_MCP_TOKEN", TOKEN))
    }

    /// The same, with a token that it makes itself.
    ///
    /// # Panics
    /// When it does not say where it listens.
    pub fn start_without_token(command: &mut Command) -> Self {
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = started.spawn().expect("the server starts");
        let mut url = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut url).expect("it says where it is");
        Self { child, url: url.trim().to_owned() }
    }

    /// The address and port.
    ///
    /// # Panics
    /// When it is no such URL.
    pub fn place(&self) -> &str {
        self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).expect("a URL")
    }

    /// Says something as it stands, and reads until the server closes or is silent.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn raw(&self, said: &[u8]) -> String {
        let mut stream = self.connected();
        // Whoever is turned away is not always heard to the end.
        let _ = stream.write_all(said);
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        String::from_utf8_lossy(&heard).into_owned()
    }

    /// A connection.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn connected(&self) -> TcpStream {
        let stream = TcpStream::connect(self.place()).expect("somebody listens");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a time");
        stream
    }

    /// Ends it as a person does. `true`: it ended well, and in time.
    pub fn end(mut self) -> bool {
        signal(&self.child, "TERM");
        let end = std::time::Instant::now() + TEST_TIMEOUT;
        while std::time::Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        false
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client says, each message in a request of its own.
#[derive(Clone)]
pub struct Posts {
    url: String,
    token: Option<String>,
    session: Arc<Mutex<Option<String>>>,
    agent: Agent,
}

impl Posts {
    /// To a server, with a token.
    pub fn to(url: &str, token: Option<&str>) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
        Self { url: url.to_owned(), token: token.map(str::to_owned), session: Arc::default(), agent }
    }

    /// The session that the server gave.
    pub fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a message; what comes back is said to `heard`. An answer that is none of the protocol comes as one with its
    /// status.
    pub fn send(&self, message: &[u8], heard: &Sender<Value>) {
        let value: Value = serde_json::from_slice(message).unwrap_or_default();
        let (posts, message, heard) = (self.clone(), message.to_vec(), heard.clone());
        // Notifications and answers are taken one after the other, the handshake before what comes after it.
        let is_request = value.get("id").is_some() && value.get("method").is_some();
        let waits = !is_request || value["method"] == "initialize";
        let send = move || {
            let mut response = match posts.post(&value, &message) {
                Ok(response) => response,
                Err(error) => {
                    let _ = heard.send(json!({"id": value["id"], "error": {"message": error.to_string()}}));
                    return;
                }
            };
            let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok());
            if let Some(session) = session {
                *posts.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
            }
            let status = response.status().as_u16();
            let is_stream =
                response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
            let reader = BufReader::new(response.body_mut().as_reader());
            if is_stream {
                events(reader, &heard);
            } else if status != 202 {
                let mut text = String::new();
                let _ = reader.take(1 << 20).read_to_string(&mut text);
                let mut answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"text": text}));
                answer["status"] = status.into();
                if answer["id"].is_null() {
                    answer["id"] = value["id"].clone();
                }
                let _ = heard.send(answer);
            }
        };
        if waits {
            send();
        } else {
            thread::spawn(send);
        }
    }

    fn post(&self, value: &Value, message: &[u8]) -> Result<Response<Body>, ureq::Error> {
        let mut request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let version = value.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        if let (Some(version), Some(method)) = (version.and_then(Value::as_str), value["method"].as_str()) {
            request = request.header("mcp-protocol-version", version).header("mcp-method", method);
            if let Some(name) = value.pointer("/params/name").and_then(Value::as_str) {
                request = request.header("mcp-name", name);
            }
        } else if let Some(session) = self.session() {
            request = request.header("mcp-session-id", session);
        }
        self.agent.run(request.body(message).expect("a request"))
    }

    /// Ends the session. `true`: the server agrees.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn delete(&self) -> bool {
        let Some(session) = self.session() else { return true };
        let token = format!("Bearer {}", self.token.clone().unwrap_or_default());
        let request =
            Request::delete(&self.url).header("authorization", token).header("mcp-session-id", session);
        let response = self.agent.run(request.body(()).expect("a request")).expect("an answer");
        response.status().is_success()
    }
}

/// The messages of a stream of events.
fn events(reader: impl BufRead, heard: &Sender<Value>) {
    let mut data = String::new();
    for line in reader.lines().map_while(Result::ok) {
        if let Some(more) = line.strip_prefix("data:") {
            data.push_str(more.trim());
        } else if line.is_empty() && !data.is_empty() {
            let message = serde_json::from_str(&data).unwrap_or_else(|_| json!({"junk": data}));
            data.clear();
            if heard.send(message).is_err() {
                return;
            }
        }
    }
}
