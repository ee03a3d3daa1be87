//! `pinfold mcp proxy`: servers and clients, good ones and bad ones.

mod definitions;
mod ends;
mod judging;
mod passing;

use pinfold_tests::mcp::{Answers, Client, LAST_WITH_HANDSHAKE};
use pinfold_tests::processes::TEST_TIMEOUT;
use pinfold_tests::product::{offered, pinfold};
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

fn bed() -> Bed {
    Bed::new(Who::Ordinary)
}

fn server() -> &'static Path {
    static SERVER: OnceLock<PathBuf> = OnceLock::new();
    SERVER.get_or_init(|| offered("mcp-server", Path::new(env!("CARGO_BIN_EXE_mcp-server"))))
}

/// `pinfold mcp proxy` in front of the server; what stands behind `--` goes to it.
fn proxy(bed: &Bed, options: &[&str]) -> Command {
    let mut command = bed.free(pinfold());
    let (ours, its) = options.split_at(options.iter().position(|o| *o == "--").unwrap_or(options.len()));
    command.args(["mcp", "proxy", "--name", "s", "--allow-degraded"]).args(ours).arg("--");
    command.arg(server()).args(its.iter().skip(1));
    command
}

/// What a test may call without being asked.
const ALL: [&str; 2] = ["--allowedTools", "mcp__s"];

fn nobody() -> Answers {
    Box::new(|_, _| None)
}

/// A client that can do nothing but call.
fn plain(bed: &Bed, options: &[&str]) -> Client {
    Client::start(&mut proxy(bed, options)).hello(LAST_WITH_HANDSHAKE, json!({}), nobody()).0
}

fn allowed(bed: &Bed, options: &[&str]) -> Client {
    plain(bed, &[&ALL[..], options].concat())
}

/// A client whose person answers each form like this.
fn asking(bed: &Bed, options: &[&str], answer: &str) -> Client {
    let result = json!({"action": "accept", "content": {"answer": answer}});
    let answers: Answers =
        Box::new(move |method, _| (method == "elicitation/create").then(|| result.clone()));
    let can = json!({"elicitation": {"form": {}}});
    Client::start(&mut proxy(bed, options)).hello(LAST_WITH_HANDSHAKE, can, answers).0
}

/// The names and descriptions of all tools that a client is shown, from page to page.
fn listed(client: &Client) -> Vec<(String, String)> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.request("tools/list", params)["result"].clone();
        let text = |tool: &Value, field: &str| tool[field].as_str().expect("a text").to_owned();
        let tools = page["tools"].as_array().unwrap_or_else(|| panic!("a list: {page}"));
        all.extend(tools.iter().map(|tool| (text(tool, "name"), text(tool, "description"))));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return all;
        }
    }
}

/// A proxy, by the bytes that go in and come out.
struct Wire {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Wire {
    /// A proxy to which nothing was said.
    fn connect(bed: &Bed, options: &[&str]) -> Self {
        let mut child = proxy(bed, &[&ALL[..], options].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("pinfold starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (send, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { input: child.stdin.take(), child, lines }
    }

    fn start(bed: &Bed, options: &[&str]) -> Self {
        let wire = Self::connect(bed, options);
        wire.say(br#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{}}"#);
        assert!(wire.hear().contains("test server"));
        wire
    }

    fn say(&self, line: &[u8]) {
        let mut input = self.input.as_ref().expect("the input is open");
        let _ = input.write_all(line).and_then(|()| input.write_all(b"\n"));
    }

    fn hear(&self) -> String {
        self.lines.recv_timeout(TEST_TIMEOUT).expect("a line")
    }

    /// All that is said until this is.
    fn hear_until(&self, part: &str) -> Vec<String> {
        let mut all = Vec::new();
        while !all.last().is_some_and(|line: &String| line.contains(part)) {
            all.push(self.hear());
        }
        all
    }

    /// Has the server say these lines, and comes back with what arrives before a last one.
    fn has_said(&self, lines: &[&str]) -> Vec<String> {
        let last = r#"{"jsonrpc":"2.0","method":"that/was/all"}"#;
        let lines = [lines, &[last]].concat();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                          "params": {"name": "say", "arguments": {"lines": lines}}});
        self.say(call.to_string().as_bytes());
        let mut heard = self.hear_until("that/was/all");
        heard.pop();
        heard
    }

    /// The lines that the server has heard.
    fn heard_by_server(&self) -> Vec<String> {
        self.say(br#"{"jsonrpc":"2.0","id":"heard","method":"tools/call","params":{"name":"heard"}}"#);
        let answer: Value =
            serde_json::from_str(self.hear_until("\"heard\"").last().expect("an answer")).expect("JSON");
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        text.lines().map(str::to_owned).collect()
    }

    fn ends(&mut self) -> Option<i32> {
        let end = Instant::now() + TEST_TIMEOUT;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("it has not ended")
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
