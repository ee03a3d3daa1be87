//! A proxy for a third-party MCP server: every tool call is judged, and the server's tools are pinned.
//!
//! Messages are forwarded unchanged, byte for byte; only calls, tool lists and results are parsed. What parsers could
//! read differently is not forwarded.
//!
//! # Shutdown
//! Each pipe has a thread for what is not read at once, and none is waited for: a side that is gone is noticed,
//! buffered lines are written within a time limit, and the process ends. The server ends because its input does, also
//! when this process is killed.

mod approver;
mod calls;
mod catalogue;
mod client_messages;
mod definitions;
mod handshake;
mod labelled_forms;
mod listing;
mod pins;
mod pool;
mod redact;
mod requests;
mod server_messages;

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

use crate::serve::{PendingCalls, ServerOptions, SessionOpener, Sessions};
use crate::wire::frame::Id;
use crate::wire::writer::LineWriter;
use approver::ParkedForm;
use catalogue::Catalogue;
pub use catalogue::KnownArgument;
pub(crate) use client_messages::request_id;
use client_messages::{ClientInfo, OURS};
pub use pins::PinLocation;
use pins::Pins;
use pool::ThreadPool;
use requests::PendingKind;
pub(crate) use requests::Requests;

/// The time for which running judgements delay the end.
const JUDGED: Duration = Duration::from_secs(5);

/// The time in which a server has to end after its input. Its parent kills it then.
pub const GRACE: Duration = Duration::from_secs(5);

/// The time that is waited beyond that.
pub(crate) const BEYOND: Duration = Duration::from_secs(5);

/// The time limit for writing what is buffered at the end.
const FLUSH: Duration = Duration::from_secs(5);

/// The interval of progress notifications: shorter than any client's silence limit.
const PROGRESS: Duration = Duration::from_secs(10);

/// The most warnings that are reported.
const MAX_TOLD: u32 = 20;

/// The server behind a proxy.
pub struct ProxiedServer {
    /// Its name in rules: `mcp__NAME__tool`.
    pub name: String,
    /// The command that starts it inside its sandbox. It has to end with its input, also where the server does not.
    pub command: Command,
    /// The location of its pinned definitions.
    pub pins: PinLocation,
    /// The user's declarations about arguments of its tools.
    pub arguments: Vec<KnownArgument>,
    /// The command is [`run_http_client`](crate::run_http_client): errors are its words too, and say what the user can do.
    pub is_http_client: bool,
}

/// The end of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyEnd {
    /// The client has ended.
    Client,
    /// The server has ended first; with its exit code, if it had one. `false`: without a single message.
    Server(Option<ExitStatus>, bool),
}

/// The state that all threads share.
pub(crate) struct ProxyState {
    name: String,
    is_http_client: bool,
    manner: ServerOptions,
    opener: Arc<dyn SessionOpener>,
    sessions: Sessions,
    requests: Requests,
    /// Calls that wait for an answer between two requests of the client.
    parked: PendingCalls<ParkedForm>,
    catalogue: Catalogue,
    /// Held while the server's tools are listed.
    listing: Mutex<()>,
    client: Mutex<ClientInfo>,
    to_client: Arc<LineWriter>,
    to_server: Arc<LineWriter>,
    pool: Arc<ThreadPool>,
    closing: AtomicBool,
    /// The server has sent a message.
    spoke: AtomicBool,
    told: AtomicU32,
    tell: Box<dyn Fn(&str) + Send + Sync>,
    events: Sender<ProxyEvent>,
}

/// An event that can end a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyEvent {
    /// Its output has ended; it may still read.
    ClientEnded,
    /// The server has stopped reading.
    ClientGone,
    ServerEnded,
}

/// Connects the client at standard input and output to a server that is started. `tell`: receives warnings. Returns
/// when one of them has ended or `ended` becomes readable, and everything that was started has ended.
///
/// # Errors
/// When the server cannot be started, or its stored definitions cannot be read.
pub fn proxy(
    opener: Arc<dyn SessionOpener>,
    behind: ProxiedServer,
    manner: ServerOptions,
    mut ended: UnixStream,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<ProxyEnd, String> {
    let ProxiedServer { name, mut command, pins, arguments, is_http_client } = behind;
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
    let gone = |event: ProxyEvent| {
        let events = events.clone();
        // At the end the channel has no receiver any more.
        move || _ = events.send(event)
    };
    let over = gone(ProxyEvent::ClientGone);
    let shared = Arc::new(ProxyState {
        name,
        is_http_client,
        manner,
        sessions: Sessions::new(Arc::clone(&opener)),
        opener,
        requests: Requests::default(),
        parked: PendingCalls::default(),
        catalogue: Catalogue::new(pins, arguments),
        listing: Mutex::default(),
        client: Mutex::default(),
        to_client: LineWriter::start(output, gone(ProxyEvent::ClientGone)).map_err(failed)?,
        to_server: LineWriter::start(server_input.into(), || ()).map_err(failed)?,
        pool: Arc::default(),
        closing: AtomicBool::new(false),
        spoke: AtomicBool::new(false),
        told: AtomicU32::new(0),
        tell: Box::new(tell),
        events,
    });
    let (of_client, of_server) = (Arc::clone(&shared), Arc::clone(&shared));
    if !shared.pool.queue(move || client_messages::listen(&of_client, client_messages::client_lines(input))) {
        return Err("no thread can be started".to_owned());
    }
    start("server", move || server_messages::listen(&of_server, server_output))?;
    let (logged, log_end) = channel::<()>();
    start("log", move || {
        server_messages::log(log);
        drop(logged);
    })?;
    start("signals", move || {
        // One byte per signal.
        if ended.read(&mut [0]).is_ok_and(|read| read > 0) {
            over();
        }
    })?;
    let end = shared.follow_call(&mut child, &happened);
    // The last words of the server say why it ended. A process that it left behind may hold the stream open.
    let _ = log_end.recv_timeout(FLUSH);
    Ok(end)
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let named = thread::Builder::new().name(format!("pinfold-{name}"));
    named.spawn(work).map(drop).map_err(|e| format!("no thread can be started: {e}"))
}

impl ProxyState {
    /// Waits until one side ends, and ends the rest.
    fn follow_call(&self, child: &mut Child, happened: &Receiver<ProxyEvent>) -> ProxyEnd {
        let began = Instant::now();
        let first = loop {
            match happened.recv_timeout(PROGRESS) {
                Ok(event) => break event,
                Err(RecvTimeoutError::Timeout) => self.keep_awake(began.elapsed()),
                // The channel must not be held open by this sender.
                Err(RecvTimeoutError::Disconnected) => break ProxyEvent::ClientGone,
            }
        };
        self.closing.store(true, Ordering::SeqCst);
        let has_server_ended = match first {
            ProxyEvent::ServerEnded => {
                self.fail_all();
                true
            }
            ProxyEvent::ClientEnded | ProxyEvent::ClientGone => self.let_judges_end(happened),
        };
        self.to_server.close(GRACE);
        let status = ended(child);
        if !has_server_ended {
            // Its last messages are still forwarded.
            while happened.recv_timeout(BEYOND).is_ok_and(|event| event != ProxyEvent::ServerEnded) {}
        }
        let end = match first {
            ProxyEvent::ServerEnded => ProxyEnd::Server(status, self.spoke.load(Ordering::SeqCst)),
            ProxyEvent::ClientEnded | ProxyEvent::ClientGone => ProxyEnd::Client,
        };
        self.fail_all();
        self.to_client.finish(FLUSH);
        self.sessions.close();
        end
    }

    /// Calls without an approval request are still forwarded, approval requests are withdrawn.
    ///
    /// True when the server has ended meanwhile: nothing can be forwarded any more.
    fn let_judges_end(&self, happened: &Receiver<ProxyEvent>) -> bool {
        let until = Instant::now() + JUDGED;
        while !self.requests.unforwarded_calls().is_empty() && Instant::now() < until {
            if happened.recv_timeout(Duration::from_millis(5)) == Ok(ProxyEvent::ServerEnded) {
                return true;
            }
        }
        false
    }

    /// Ends all waiting for the server.
    fn fail_all(&self) {
        for (id, waiting) in self.requests.take_all() {
            if !matches!(waiting, PendingKind::Ours(_)) {
                self.refuse(Some(&id), OURS, "the server has ended");
            }
            calls::fail_pending(waiting);
        }
    }

    /// Sends progress to clients that asked for it.
    fn keep_awake(&self, since: Duration) {
        for token in self.requests.unforwarded_calls().into_iter().filter_map(|judged| judged.token) {
            let told = json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": since.as_secs(), "message": "waiting for an answer"},
            });
            // A client that does not read is noticed elsewhere.
            let _ = self.to_client.offer(told.to_string().into_bytes());
        }
    }

    fn meets(&self, client: ClientInfo) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn client(&self) -> ClientInfo {
        let client: MutexGuard<'_, ClientInfo> = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    /// Forwards a line to the client. A client that is gone is noticed by the writer.
    fn to_client(&self, line: Vec<u8>) {
        self.spoke.store(true, Ordering::SeqCst);
        let _ = self.to_client.send(line);
    }

    /// Answers a client request.
    fn answer_client(&self, waiting: &Caller<'_>, id: &Id, result: &Value) {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let _ = self.to_client.send_for(waiting, line.into_bytes());
    }

    /// Answers a client request with an error; without an identifier, where none is known.
    fn refuse(&self, id: Option<&Id>, code: i32, why: &str) {
        let id = id.map_or_else(|| "null".to_owned(), ToString::to_string);
        let message = Value::from(format!("pinfold: {why}"));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#);
        if self.to_client.offer(line.into_bytes()).is_err() {
            self.notify(ProxyEvent::ClientGone);
        }
    }

    /// Handles a response that is not forwarded.
    fn not_understood(&self, id: &Id, why: &str) {
        self.refuse(Some(id), OURS, &format!("the answer of the server is not passed on: {why}"));
    }

    /// Handles a server that has stopped reading.
    fn take_all_pending(&self) {
        self.notify(ProxyEvent::ServerEnded);
    }

    fn notify_list_changed(&self) {
        self.to_client(listing::has_changed());
    }

    fn notify(&self, event: ProxyEvent) {
        // At the end the channel has no receiver any more.
        let _ = self.events.send(event);
    }

    /// Reports a warning, up to a limit.
    fn warn(&self, what: &str) {
        let before = self.told.fetch_add(1, Ordering::Relaxed);
        if before < MAX_TOLD {
            (self.tell)(what);
        } else if before == MAX_TOLD {
            (self.tell)("further warnings are not shown");
        }
    }
}

/// Waits for a process whose input has ended, and kills it on timeout.
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
    // The process kills its server when it is killed.
    let _ = child.kill();
    child.wait().ok()
}
