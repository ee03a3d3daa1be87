//! Multiplexing: several servers as one. Each is behind a proxy of its own, which judges, remembers and redacts; this
//! part routes.
//!
//! A name that two servers have is prefixed with the server's name, for both. A response counts only from the server
//! that was asked.

mod client_messages;
mod merge;
mod names;
mod server_messages;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::proxy::{BEYOND, GRACE, Requests};
use crate::wire::frame::Id;
use crate::wire::writer::LineWriter;
use names::NameTable;

/// The time limit for servers whose results are merged: some are downloaded before they start.
const MERGE_TIMEOUT: Duration = Duration::from_mins(1);

/// The time limit for writing what is buffered at the end.
const FLUSH: Duration = Duration::from_secs(5);

/// The error code of errors of this proxy.
const OURS: i32 = -32000;

/// One of several servers.
pub struct MultiplexedServer {
    /// Its name.
    pub name: String,
    /// The command of its proxy.
    pub command: Command,
}

struct RunningServer {
    to: Arc<LineWriter>,
    ended: AtomicBool,
}

struct MultiplexState {
    names: Vec<String>,
    servers: Vec<RunningServer>,
    to_client: Arc<LineWriter>,
    /// A waiter is registered before the server's end is recorded, or not at all.
    asked: Mutex<PendingRequests>,
    tools: Mutex<Option<NameTable>>,
    prompts: Mutex<Option<NameTable>>,
    /// Client requests that are not routed yet.
    under_way: AtomicUsize,
    events: Sender<MultiplexEvent>,
}

/// Pending requests, and who made them.
#[derive(Default)]
struct PendingRequests {
    /// The client's requests to one server.
    client: HashMap<Id, usize>,
    /// Requests of this proxy to a server.
    ours: HashMap<Id, (usize, Sender<JsonOutcome>)>,
    /// Requests of servers to the client: under a new identifier, and the server's own.
    servers: HashMap<Id, (usize, Id)>,
}

/// A result, or an error.
type JsonOutcome = Result<Value, Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MultiplexEvent {
    ClientEnded,
    ServerEnded,
}

/// Connects the client at standard input and output to several servers. Returns when the client has ended (`true`), or
/// all servers have.
///
/// # Errors
/// When one of them cannot be started.
pub fn multiplex(members: Vec<MultiplexedServer>) -> Result<bool, String> {
    let failed = |e: io::Error| format!("the servers cannot be started: {e}");
    let (events, happened) = channel();
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let (mut names, mut servers, mut children, mut outputs) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for MultiplexedServer { name, mut command } in members {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = started.map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a server has no streams".to_owned());
        };
        servers.push(RunningServer {
            to: LineWriter::start(to.into(), || ()).map_err(failed)?,
            ended: AtomicBool::new(false),
        });
        names.push(name);
        children.push(child);
        outputs.push(from);
    }
    let gone = events.clone();
    let shared = Arc::new(MultiplexState {
        names,
        servers,
        to_client: LineWriter::start(output, move || _ = gone.send(MultiplexEvent::ClientEnded))
            .map_err(failed)?,
        asked: Mutex::default(),
        tools: Mutex::default(),
        prompts: Mutex::default(),
        under_way: AtomicUsize::new(0),
        events,
    });
    for (at, output) in outputs.into_iter().enumerate() {
        let shared = Arc::clone(&shared);
        start(move || server_messages::listen(&shared, at, output))?;
    }
    let of_client = Arc::clone(&shared);
    start(move || client_messages::listen(&of_client, std::fs::File::from(input)))?;
    let by_client = loop {
        match happened.recv() {
            Ok(MultiplexEvent::ServerEnded) if !shared.all_have_ended() => {}
            Ok(MultiplexEvent::ServerEnded) => break false,
            // The channel must not be held open by this sender.
            Ok(MultiplexEvent::ClientEnded) | Err(_) => break true,
        }
    };
    // The client's last messages are still routed.
    let until = Instant::now() + BEYOND;
    while shared.under_way.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    for server in &shared.servers {
        server.to.close(GRACE);
    }
    end(&mut children);
    // The servers' last messages are still routed.
    let until = Instant::now() + BEYOND;
    while !shared.all_have_ended() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    shared.to_client.finish(FLUSH);
    Ok(by_client)
}

fn start(work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let named = thread::Builder::new().name("pinfold-hub".into());
    named.spawn(work).map(drop).map_err(|e| format!("no thread can be started: {e}"))
}

/// Waits for proxies whose input has ended, and kills those that take too long.
fn end(children: &mut [Child]) {
    let until = Instant::now() + GRACE + BEYOND + BEYOND + FLUSH;
    for child in children {
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl MultiplexState {
    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_have_ended(&self) -> bool {
        self.running_servers().is_empty()
    }

    /// The servers that are still running.
    fn running_servers(&self) -> Vec<usize> {
        (0..self.servers.len()).filter(|at| self.is_running(*at)).collect()
    }

    fn is_running(&self, at: usize) -> bool {
        self.servers.get(at).is_some_and(|server| !server.ended.load(Ordering::SeqCst))
    }

    /// Registers a waiter for a server. `false`: the server has ended and could not wake it.
    fn register_waiter(&self, at: usize, wait: impl FnOnce(&mut PendingRequests)) -> bool {
        let mut asked = self.pending();
        let is_there = self.is_running(at);
        if is_there {
            wait(&mut asked);
        }
        is_there
    }

    /// Sends a line to a server. `false`: the server is gone.
    fn to_server(&self, at: usize, line: Vec<u8>) -> bool {
        self.servers.get(at).is_some_and(|server| server.to.offer(line).is_ok())
    }

    /// Sends a request of this proxy to a server, and waits for the response.
    fn ask(&self, at: usize, method: &str, params: &Value) -> JsonOutcome {
        let ended = || json!({"code": OURS, "message": "pinfold: the server has ended"});
        let id = Requests::new_id().ok_or_else(ended)?;
        let (answer, said) = channel();
        if !self.register_waiter(at, |asked| _ = asked.ours.insert(id.clone(), (at, answer))) {
            return Err(ended());
        }
        let method = Value::from(method);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        if !self.to_server(at, line.into_bytes()) {
            return Err(ended());
        }
        said.recv_timeout(MERGE_TIMEOUT).unwrap_or_else(|_| {
            self.pending().ours.remove(&id);
            Err(json!({"code": OURS, "message": "pinfold: the server did not answer in time"}))
        })
    }

    /// Sends a request to all servers in parallel.
    fn ask_all(&self, ask: impl Fn(usize) -> JsonOutcome + Sync) -> Vec<(usize, JsonOutcome)> {
        let servers = self.running_servers();
        thread::scope(|scope| {
            let ask = &ask;
            let asked: Vec<_> = servers.iter().map(|at| (*at, scope.spawn(move || ask(*at)))).collect();
            let lost = || Err(json!({"code": OURS, "message": "pinfold: the question was lost"}));
            asked.into_iter().map(|(at, asked)| (at, asked.join().unwrap_or_else(|_| lost()))).collect()
        })
    }

    fn answer(&self, id: &Id, said: &JsonOutcome) {
        let (field, value) = match said {
            Ok(result) => ("result", result),
            Err(error) => ("error", error),
        };
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"{field}":{value}}}"#);
        let _ = self.to_client.send(line.into_bytes());
    }

    /// Answers a client request with an error; without an identifier, where none is known.
    fn refuse(&self, id: Option<&Id>, code: i32, why: &str) {
        let id = id.map_or_else(|| "null".to_owned(), ToString::to_string);
        let message = Value::from(format!("pinfold: {why}"));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#);
        if self.to_client.offer(line.into_bytes()).is_err() {
            self.notify(MultiplexEvent::ClientEnded);
        }
    }

    fn notify(&self, event: MultiplexEvent) {
        // At the end the channel has no receiver any more.
        let _ = self.events.send(event);
    }
}
