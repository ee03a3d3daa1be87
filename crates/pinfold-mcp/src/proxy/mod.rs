//! Between a client and a server of others: every call of a tool is judged, and what the server is, is remembered.
//!
//! Messages are passed on as they came, byte for byte; only calls, lists of tools and results of calls are understood.
//! What is not clear to every reader alike is not passed on.
//!
//! # How it ends
//! Each end of a pipe has a thread for what is not read at once, and none is waited for: whoever is gone is noticed, what is
//! there is written for so long, and the process ends. The server ends because its input does: whoever started it sees to that, also when this
//! process is killed.

mod asks;
mod calls;
mod catalogue;
mod clean;
mod definitions;
mod greeting;
mod listing;
mod of_client;
mod of_server;
mod pins;
mod pool;
mod requests;
mod theirs;

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::Caller;
use serde_json::{Value, json};

use crate::serve::{Manner, Opener, Parked, Rooms};
use crate::wire::frame::Id;
use crate::wire::outlet::Outlet;
use asks::Asked;
use catalogue::Catalogue;
pub use catalogue::KnownArgument;
pub(crate) use of_client::of_request;
use of_client::{Client, OURS};
pub use pins::PinPlace;
use pins::Pins;
use pool::Pool;
pub(crate) use requests::Requests;
use requests::Waiting;

/// How long calls that are being judged hold up the end.
const JUDGED: Duration = Duration::from_secs(5);

/// How long a server has to end by itself once its input has ended. Whoever started it ends it then.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long it is waited beyond that.
pub(crate) const BEYOND: Duration = Duration::from_secs(5);

/// How long what is left may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

/// How often a client is told that a call goes on: less than any client waits in silence.
const PROGRESS: Duration = Duration::from_secs(10);

/// So many things that were not in order are told, and no more.
const MOST_TOLD: u32 = 20;

/// What stands behind a proxy.
pub struct Behind {
    /// What rules call the server: `mcp__NAME__tool`.
    pub name: String,
    /// What starts it, inside its boundary. It has to end when its input does, also where the server does not.
    pub command: Command,
    /// Where it is kept what its tools are.
    pub pins: PinPlace,
    /// What the person says about arguments of its tools.
    pub arguments: Vec<KnownArgument>,
}

/// How a proxy came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyEnd {
    /// The client has ended.
    Client,
    /// The server has, before the client; with its exit code, if it had one. `false`: without a single message.
    Server(Option<ExitStatus>, bool),
}

/// What all threads know.
pub(crate) struct Shared {
    name: String,
    manner: Manner,
    opener: Arc<dyn Opener>,
    rooms: Rooms,
    requests: Requests,
    /// Calls that wait for an answer between two requests of the client.
    parked: Parked<Asked>,
    catalogue: Catalogue,
    /// Held by whoever asks the server for its tools.
    listing: Mutex<()>,
    client: Mutex<Client>,
    to_client: Arc<Outlet>,
    to_server: Arc<Outlet>,
    pool: Arc<Pool>,
    closing: AtomicBool,
    /// The server has said something.
    spoke: AtomicBool,
    told: AtomicU32,
    tell: Box<dyn Fn(&str) + Send + Sync>,
    events: Sender<Event>,
}

/// What can end a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// It says no more, and may still read.
    ClientEnded,
    /// It does not read any more.
    ClientGone,
    ServerEnded,
}

/// Stands between the client at standard input and output and a server that is started. `tell`: what people should know.
/// Returns when one of them has ended or `ended` can be read, and everything that was started with it.
///
/// # Errors
/// When the server cannot be started, or what is known of it cannot be read.
pub fn proxy(
    opener: Arc<dyn Opener>,
    behind: Behind,
    manner: Manner,
    mut ended: UnixStream,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<ProxyEnd, String> {
    let Behind { name, mut command, pins, arguments } = behind;
    let pins = Pins::read(&pins)?;
    let failed = |e: io::Error| format!("the server cannot be started: {e}");
    let (events, happened) = channel();
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(server_input), Some(server_output), Some(log)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("the server has no streams".to_owned());
    };
    let gone = |event: Event| {
        let events = events.clone();
        // Nobody listens any more once it is all over.
        move || _ = events.send(event)
    };
    let over = gone(Event::ClientGone);
    let shared = Arc::new(Shared {
        name,
        manner,
        rooms: Rooms::new(Arc::clone(&opener)),
        opener,
        requests: Requests::default(),
        parked: Parked::default(),
        catalogue: Catalogue::new(pins, arguments),
        listing: Mutex::default(),
        client: Mutex::default(),
        to_client: Outlet::start(output, gone(Event::ClientGone)).map_err(failed)?,
        to_server: Outlet::start(server_input.into(), || ()).map_err(failed)?,
        pool: Arc::default(),
        closing: AtomicBool::new(false),
        spoke: AtomicBool::new(false),
        told: AtomicU32::new(0),
        tell: Box::new(tell),
        events,
    });
    let (of_client, of_server) = (Arc::clone(&shared), Arc::clone(&shared));
    if !shared.pool.give(move || of_client::listen(&of_client, of_client::said(input))) {
        return Err("no thread can be started".to_owned());
    }
    start("server", move || of_server::listen(&of_server, server_output))?;
    start("log", move || of_server::log(log))?;
    start("signals", move || {
        // A byte for each signal.
        if ended.read(&mut [0]).is_ok_and(|read| read > 0) {
            over();
        }
    })?;
    Ok(shared.accompany(&mut child, &happened))
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let named = thread::Builder::new().name(format!("pinfold-{name}"));
    named.spawn(work).map(drop).map_err(|e| format!("no thread can be started: {e}"))
}

impl Shared {
    /// Waits until somebody ends, and ends the rest.
    fn accompany(&self, child: &mut Child, happened: &Receiver<Event>) -> ProxyEnd {
        let began = Instant::now();
        let first = loop {
            match happened.recv_timeout(PROGRESS) {
                Ok(event) => break event,
                Err(RecvTimeoutError::Timeout) => self.keep_awake(began.elapsed()),
                // Not as long as we hold a sender.
                Err(RecvTimeoutError::Disconnected) => break Event::ClientGone,
            }
        };
        self.closing.store(true, Ordering::SeqCst);
        match first {
            Event::ServerEnded => self.fail_all(),
            Event::ClientEnded | Event::ClientGone => self.let_judges_end(),
        }
        self.to_server.close(GRACE);
        let status = ended(child);
        if first != Event::ServerEnded {
            // What it said last is still on its way.
            while happened.recv_timeout(BEYOND).is_ok_and(|event| event != Event::ServerEnded) {}
        }
        let end = match first {
            Event::ServerEnded => ProxyEnd::Server(status, self.spoke.load(Ordering::SeqCst)),
            Event::ClientEnded | Event::ClientGone => ProxyEnd::Client,
        };
        self.fail_all();
        self.to_client.finish(FLUSH);
        self.rooms.close();
        end
    }

    /// Calls that need no question are let through yet, questions are taken back.
    fn let_judges_end(&self) {
        let until = Instant::now() + JUDGED;
        while !self.requests.judged().is_empty() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Nobody waits for the server any more.
    fn fail_all(&self) {
        for (id, waiting) in self.requests.take_all() {
            if !matches!(waiting, Waiting::Ours(_)) {
                self.refuse(Some(&id), OURS, "the server has ended");
            }
            calls::lost(waiting);
        }
    }

    /// Clients that want to know hear that a call goes on.
    fn keep_awake(&self, since: Duration) {
        for token in self.requests.judged().into_iter().filter_map(|judged| judged.token) {
            let told = json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": since.as_secs(), "message": "waiting for an answer"},
            });
            // A client that does not read is noticed elsewhere.
            let _ = self.to_client.offer(told.to_string().into_bytes());
        }
    }

    fn meets(&self, client: Client) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn client(&self) -> Client {
        let client: MutexGuard<'_, Client> = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    /// Passes a line on to the client. One that is gone is noticed by whoever writes to it.
    fn to_client(&self, line: Vec<u8>) {
        self.spoke.store(true, Ordering::SeqCst);
        let _ = self.to_client.send(line);
    }

    /// Answers a request of the client.
    fn answer_client(&self, waiting: &Caller<'_>, id: &Id, result: &Value) {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let _ = self.to_client.send_for(waiting, line.into_bytes());
    }

    /// Answers a request of the client with an error; without a number, where none can be told.
    fn refuse(&self, id: Option<&Id>, code: i32, why: &str) {
        let id = id.map_or_else(|| "null".to_owned(), ToString::to_string);
        let message = Value::from(format!("pinfold: {why}"));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#);
        if self.to_client.offer(line.into_bytes()).is_err() {
            self.happens(Event::ClientGone);
        }
    }

    /// The server has answered a request in a way that is not passed on.
    fn not_understood(&self, id: &Id, why: &str) {
        self.refuse(Some(id), OURS, &format!("the answer of the server is not passed on: {why}"));
    }

    /// The server does not read any more.
    fn server_is_gone(&self) {
        self.happens(Event::ServerEnded);
    }

    fn say_that_the_list_has_changed(&self) {
        self.to_client(listing::has_changed());
    }

    fn happens(&self, event: Event) {
        // Nobody listens any more once it is all over.
        let _ = self.events.send(event);
    }

    /// Says what is not in order, as long as it does not become too much.
    fn tell(&self, what: &str) {
        let before = self.told.fetch_add(1, Ordering::Relaxed);
        if before < MOST_TOLD {
            (self.tell)(what);
        } else if before == MOST_TOLD {
            (self.tell)("more of that is not told");
        }
    }
}

/// Waits for the end of a process whose input has ended, and ends it where that takes too long.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let until = Instant::now() + GRACE + BEYOND;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Err(_) => return None,
            Ok(None) if Instant::now() >= until => break,
            Ok(None) => thread::sleep(Duration::from_millis(5)),
        }
    }
    // It holds its server by its life.
    let _ = child.kill();
    child.wait().ok()
}
