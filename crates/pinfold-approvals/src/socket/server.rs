//! The approval socket of one process: authenticates clients, shows pending requests, accepts answers.
//!
//! A client that is slow or sends garbage costs one thread and is disconnected; no asking thread waits for it.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pinfold::consent::{Answer, AnsweredBy, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::json_lines::{FROM_CLIENT, JsonLines};
use super::peer::Peer;
use super::peer_listener::{PeerListener, PeerRejected};
use super::protocol::{
    ClientHello, ClientMessage, EventBatch, ProtocolError, ProtocolErrorCode, RequestSummary, ServerHello,
    ServerMessage, VERSION,
};
use super::registration::SocketRegistration;
use super::secret::AccessSecret;
use super::sessions::SessionRegistry;
use super::socket_dir::SocketDir;
use crate::broker::{Broker, BrokerState};
use crate::watch::QueueWatch;

/// The most clients at a time.
const MAX_CLIENTS: usize = 32;
/// The time limit for the first line.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The heartbeat interval of event streams.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The interval at which a closed connection is noticed.
const DISCONNECT_POLL: Duration = Duration::from_millis(250);
/// An open approval socket. Dropping it closes it.
pub struct ApprovalSocket {
    server: Arc<SocketServer>,
    registration: SocketRegistration,
    listener: Option<PeerListener>,
}

/// The state that all connections share.
struct SocketServer {
    name: String,
    secret: AccessSecret,
    shared: Arc<BrokerState>,
    sessions: SessionRegistry,
    closing: AtomicBool,
}

impl Broker {
    /// Opens a socket in `place`, registered as `name` or a similar name. It makes no request wait: see
    /// [`Broker::open_channel`] and [`Broker::set_elsewhere_check`].
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn listen(
        &self,
        dir: &SocketDir,
        name: &str,
        sessions: &SessionRegistry,
    ) -> io::Result<ApprovalSocket> {
        let secret = AccessSecret::new()?;
        let (registration, socket) = SocketRegistration::new(dir, name, &secret)?;
        let server = Arc::new(SocketServer {
            name: registration.name().to_owned(),
            secret,
            shared: Arc::clone(self.shared()),
            sessions: sessions.clone(),
            closing: AtomicBool::new(false),
        });
        let handler_server = Arc::clone(&server);
        let listener = PeerListener::open(socket, "approvals", MAX_CLIENTS, move |stream, who| {
            // An error ends this connection and nothing else.
            let _ = handler_server.serve(stream, who);
        })?;
        Ok(ApprovalSocket { server, registration, listener: Some(listener) })
    }
}

impl ApprovalSocket {
    /// The registered name.
    pub fn name(&self) -> &str {
        self.registration.name()
    }
}

impl Drop for ApprovalSocket {
    fn drop(&mut self) {
        self.server.closing.store(true, Ordering::Relaxed);
        self.listener.take();
    }
}

impl fmt::Debug for ApprovalSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalSocket").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl SocketServer {
    fn serve(&self, stream: &UnixStream, who: Result<Peer, PeerRejected>) -> io::Result<()> {
        let peer = match who {
            Ok(peer) => peer,
            Err(rejected) => return refuse(stream, rejection(&rejected)),
        };
        let mut frames = JsonLines::new(stream.try_clone()?, FROM_CLIENT)?;
        let hello: ClientHello = match frames.read_within(HELLO_TIMEOUT) {
            Ok(Some(hello)) => hello,
            Ok(None) => return Ok(()),
            Err(error) => return frames.write(&ServerMessage::Error(malformed(&error))),
        };
        if hello.v != VERSION {
            let message = format!("protocol version {} is not supported, only {VERSION}", hello.v);
            return frames
                .write(&ServerMessage::Error(ProtocolError::new(ProtocolErrorCode::Unclear, message)));
        }
        if !self.secret.matches(&hello.secret) {
            let message = "wrong secret: send the one that is stored beside the socket";
            return frames
                .write(&ServerMessage::Error(ProtocolError::new(ProtocolErrorCode::Refused, message)));
        }
        let me = ServerHello { v: VERSION, name: self.name.clone(), pid: std::process::id() };
        frames.write(&ServerMessage::Hello(me))?;
        while let Some(message) = next_message(&mut frames)? {
            if let ClientMessage::Watch {} = message {
                return self.watch(&mut frames);
            }
            let reply = self.execute(message, peer);
            frames.write(&reply)?;
        }
        Ok(())
    }

    fn execute(&self, message: ClientMessage, peer: Peer) -> ServerMessage {
        match message {
            ClientMessage::Ping {} => ServerMessage::Pong,
            ClientMessage::List {} => ServerMessage::List(
                self.shared.queue().open().map(|e| RequestSummary::from_request(&e.request)).collect(),
            ),
            ClientMessage::Show { id } => {
                let found =
                    self.shared.queue().open().find(|e| e.request.id == id).map(|e| Arc::clone(&e.request));
                match found {
                    Some(request) => ServerMessage::Show(Box::new(Request::clone(&request))),
                    None => not_found(format!("no request `{id}` is pending here")),
                }
            }
            ClientMessage::Answer { id, digest, answer: choice, from, who } => {
                let by = AnsweredBy { via: from.approval_channel(), who: Some(peer.describe(who)) };
                match self.shared.answer(Answer { id, digest, choice, by }) {
                    Ok(()) => ServerMessage::Answered,
                    Err(not) => ServerMessage::Error(not.into()),
                }
            }
            ClientMessage::Grants {} => ServerMessage::Grants(self.sessions.grants()),
            ClientMessage::Revoke { session, number } => {
                if self.sessions.revoke(&session, number) {
                    ServerMessage::Revoked
                } else {
                    not_found(format!("session `{session}` has no grant {number}"))
                }
            }
            // Handled before.
            ClientMessage::Watch {} => ServerMessage::Error(ProtocolError::new(
                ProtocolErrorCode::Unclear,
                "the subscription has begun",
            )),
        }
    }

    /// Streams events until the client is gone. A watching client counts as an approver.
    fn watch(&self, frames: &mut JsonLines) -> io::Result<()> {
        let _there = self.shared.open_channel();
        let mut watch = QueueWatch::new(Arc::clone(&self.shared));
        let mut said = Instant::now();
        // At once, so that the client knows the pending requests, even if there are none.
        frames.write(&ServerMessage::Heard(next_batch(&mut watch, Duration::ZERO).0))?;
        let mut goes_on = !self.closing.load(Ordering::Relaxed);
        while goes_on {
            let (news, closed) = next_batch(&mut watch, DISCONNECT_POLL);
            let silent = news == EventBatch::default();
            if !silent || said.elapsed() >= HEARTBEAT {
                said = Instant::now();
                frames.write(&ServerMessage::Heard(news))?;
            }
            // The client has nothing more to send, so any input is its end.
            let is_over = || Ok::<_, io::Error>(frames.has_more() || is_readable(frames.stream())?);
            goes_on = !closed && !self.closing.load(Ordering::Relaxed) && !is_over()?;
        }
        // A process ends right behind the answer to its request.
        match next_batch(&mut watch, Duration::ZERO).0 {
            last if last == EventBatch::default() => Ok(()),
            last => frames.write(&ServerMessage::Heard(last)),
        }
    }
}

/// Reads the next line. A malformed line ends the connection, since the next one might not begin where it seems to.
fn next_message(frames: &mut JsonLines) -> io::Result<Option<ClientMessage>> {
    match frames.read() {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            frames.write(&ServerMessage::Error(malformed(&error)))?;
            Ok(None)
        }
        read => read,
    }
}

/// The changes, and whether they are the last since the broker is gone: it may end right behind an answer.
fn next_batch(watch: &mut QueueWatch, most: Duration) -> (EventBatch, bool) {
    let news = watch.next(most);
    let asked = news.asked.iter().map(|request| RequestSummary::from_request(request)).collect();
    (EventBatch { asked, over: news.over, notes: news.notes }, news.closed)
}

fn is_readable(stream: &impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(stream, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}

fn refuse(stream: &UnixStream, trouble: ProtocolError) -> io::Result<()> {
    JsonLines::new(stream.try_clone()?, FROM_CLIENT)?.write(&ServerMessage::Error(trouble))
}

fn rejection(rejected: &PeerRejected) -> ProtocolError {
    let kind = match rejected {
        PeerRejected::Busy => ProtocolErrorCode::Busy,
        PeerRejected::Peer(_) => ProtocolErrorCode::Refused,
    };
    ProtocolError::new(kind, rejected.to_string())
}

fn malformed(error: &io::Error) -> ProtocolError {
    ProtocolError::new(ProtocolErrorCode::Unclear, format!("malformed line: {error}"))
}

fn not_found(message: String) -> ServerMessage {
    ServerMessage::Error(ProtocolError::new(ProtocolErrorCode::NotFound, message))
}
