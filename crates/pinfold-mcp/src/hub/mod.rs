//! Several servers as one: each stands behind a proxy of its own, which judges, remembers and scrubs; here it is only told
//! which of them is meant.
//!
//! A name that two servers have gets the server in front, for both. An answer counts only from the server that was asked.

mod merge;
mod names;
mod of_client;
mod of_servers;

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
use crate::wire::outlet::Outlet;
use names::Names;

/// How long servers have for an answer that is put together from all of theirs: some are fetched before they start.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long what is left may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

/// The code of errors of our own.
const OURS: i32 = -32000;

/// One of several servers.
pub struct Member {
    /// What it is called.
    pub name: String,
    /// What starts its proxy.
    pub command: Command,
}

struct Server {
    to: Arc<Outlet>,
    ended: AtomicBool,
}

struct Shared {
    names: Vec<String>,
    servers: Vec<Server>,
    to_client: Arc<Outlet>,
    /// Who waits for a server is in here before its end is, or not at all.
    asked: Mutex<Asked>,
    tools: Mutex<Option<Names>>,
    prompts: Mutex<Option<Names>>,
    /// Requests of the client that are on no way yet.
    under_way: AtomicUsize,
    events: Sender<Event>,
}

/// Who has asked whom, and still waits.
#[derive(Default)]
struct Asked {
    /// What the client asked one server.
    client: HashMap<Id, usize>,
    /// What we asked a server.
    ours: HashMap<Id, (usize, Sender<Said>)>,
    /// What a server asked the client: under our number, and under its own.
    servers: HashMap<Id, (usize, Id)>,
}

/// A result, or an error.
type Said = Result<Value, Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    ClientEnded,
    ServerEnded,
}

/// Stands between the client at standard input and output and several servers. Returns when the client has ended, or all
/// of them have: `true` where it was the client.
///
/// # Errors
/// When one of them cannot be started.
pub fn hub(members: Vec<Member>) -> Result<bool, String> {
    let failed = |e: io::Error| format!("the servers cannot be started: {e}");
    let (events, happened) = channel();
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let (mut names, mut servers, mut children, mut outputs) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Member { name, mut command } in members {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = started.map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a server has no streams".to_owned());
        };
        servers.push(Server {
            to: Outlet::start(to.into(), || ()).map_err(failed)?,
            ended: AtomicBool::new(false),
        });
        names.push(name);
        children.push(child);
        outputs.push(from);
    }
    let gone = events.clone();
    let shared = Arc::new(Shared {
        names,
        servers,
        to_client: Outlet::start(output, move || _ = gone.send(Event::ClientEnded)).map_err(failed)?,
        asked: Mutex::default(),
        tools: Mutex::default(),
        prompts: Mutex::default(),
        under_way: AtomicUsize::new(0),
        events,
    });
    for (at, output) in outputs.into_iter().enumerate() {
        let shared = Arc::clone(&shared);
        start(move || of_servers::listen(&shared, at, output))?;
    }
    let of_client = Arc::clone(&shared);
    start(move || of_client::listen(&of_client, std::fs::File::from(input)))?;
    let by_client = loop {
        match happened.recv() {
            Ok(Event::ServerEnded) if !shared.all_have_ended() => {}
            Ok(Event::ServerEnded) => break false,
            // Not as long as we hold a sender.
            Ok(Event::ClientEnded) | Err(_) => break true,
        }
    };
    // What the client said last still finds its way.
    let until = Instant::now() + BEYOND;
    while shared.under_way.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    for server in &shared.servers {
        server.to.close(GRACE);
    }
    end(&mut children);
    // What they said last is still on its way.
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

/// Waits for the ends of proxies whose input has ended, and ends them where that takes longer than they may take.
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

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_have_ended(&self) -> bool {
        self.alive().is_empty()
    }

    /// Those that are still there.
    fn alive(&self) -> Vec<usize> {
        (0..self.servers.len()).filter(|at| self.is_there(*at)).collect()
    }

    fn is_there(&self, at: usize) -> bool {
        self.servers.get(at).is_some_and(|server| !server.ended.load(Ordering::SeqCst))
    }

    /// Notes that somebody waits for a server. `false`: it has ended, and nobody would be told.
    fn waits(&self, at: usize, wait: impl FnOnce(&mut Asked)) -> bool {
        let mut asked = self.asked();
        let is_there = self.is_there(at);
        if is_there {
            wait(&mut asked);
        }
        is_there
    }

    /// Sends a line to a server. `false`: it is gone.
    fn to_server(&self, at: usize, line: Vec<u8>) -> bool {
        self.servers.get(at).is_some_and(|server| server.to.offer(line).is_ok())
    }

    /// Asks a server something of our own, and waits for the answer.
    fn ask(&self, at: usize, method: &str, params: &Value) -> Said {
        let ended = || json!({"code": OURS, "message": "pinfold: the server has ended"});
        let id = Requests::our_id().ok_or_else(ended)?;
        let (answer, said) = channel();
        if !self.waits(at, |asked| _ = asked.ours.insert(id.clone(), (at, answer))) {
            return Err(ended());
        }
        let method = Value::from(method);
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        if !self.to_server(at, line.into_bytes()) {
            return Err(ended());
        }
        said.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            self.asked().ours.remove(&id);
            Err(json!({"code": OURS, "message": "pinfold: the server did not answer in time"}))
        })
    }

    /// Asks all of them at once.
    fn ask_all(&self, ask: impl Fn(usize) -> Said + Sync) -> Vec<(usize, Said)> {
        let servers = self.alive();
        thread::scope(|scope| {
            let ask = &ask;
            let asked: Vec<_> = servers.iter().map(|at| (*at, scope.spawn(move || ask(*at)))).collect();
            let lost = || Err(json!({"code": OURS, "message": "pinfold: the question was lost"}));
            asked.into_iter().map(|(at, asked)| (at, asked.join().unwrap_or_else(|_| lost()))).collect()
        })
    }

    fn answer(&self, id: &Id, said: &Said) {
        let (field, value) = match said {
            Ok(result) => ("result", result),
            Err(error) => ("error", error),
        };
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"{field}":{value}}}"#);
        let _ = self.to_client.send(line.into_bytes());
    }

    /// Answers a request of the client with an error; without a number, where none can be told.
    fn refuse(&self, id: Option<&Id>, code: i32, why: &str) {
        let id = id.map_or_else(|| "null".to_owned(), ToString::to_string);
        let message = Value::from(format!("pinfold: {why}"));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#);
        if self.to_client.offer(line.into_bytes()).is_err() {
            self.happens(Event::ClientEnded);
        }
    }

    fn happens(&self, event: Event) {
        // Nobody listens any more once it is all over.
        let _ = self.events.send(event);
    }
}
