//! A listener that authenticates its peers: each connection is checked and gets a thread of its own, up to a limit.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::peer::{self, Peer, PeerError};

/// The time for which connected clients can still be answered while the listener closes.
const DRAIN: Duration = Duration::from_millis(300);

/// The time for which a connection stays open for reading after the last reply. A client that writes to a closed
/// connection gets `EPIPE` and never reads the reason.
const LINGER: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The most connections in that state, each with a thread; others are closed at once.
const MAX_LINGERING: usize = 64;

/// Reason why a peer is rejected.
#[derive(Debug, thiserror::Error)]
pub enum PeerRejected {
    /// The connection limit is reached.
    #[error("too many clients: try again later")]
    Busy,
    /// Another user, or a confined process.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

/// The handler of a connection.
type ConnectionHandler = Box<dyn Fn(&UnixStream, Result<Peer, PeerRejected>) + Send + Sync>;

/// An open listener. Dropping it closes it, and the reading side of its connections.
pub struct PeerListener {
    state: Arc<ListenerState>,
    wake: UnixStream,
    accepting: Option<JoinHandle<()>>,
}

struct ListenerState {
    closing: AtomicBool,
    connected: Mutex<Vec<Weak<UnixStream>>>,
    /// Connections that stay open after the last reply.
    lingering: AtomicUsize,
    limit: usize,
    handler: ConnectionHandler,
}

impl PeerListener {
    /// Accepts connections, `limit` at a time. `handler` is called for each on a thread of its own, named after `name`;
    /// for a rejected peer with the reason.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(
        listener: UnixListener,
        name: &'static str,
        limit: usize,
        handler: impl Fn(&UnixStream, Result<Peer, PeerRejected>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        let handler: ConnectionHandler = Box::new(handler);
        let state = Arc::new(ListenerState {
            closing: AtomicBool::new(false),
            connected: Mutex::default(),
            lingering: AtomicUsize::new(0),
            limit,
            handler,
        });
        let accepts = Arc::clone(&state);
        let accepting = thread::Builder::new()
            .name(format!("{name}-listener"))
            .spawn(move || accepts.accept(&listener, &woken, name))?;
        Ok(Self { state, wake, accepting: Some(accepting) })
    }
}

impl Drop for PeerListener {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::Relaxed);
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for connected in self.state.connected().iter().filter_map(Weak::upgrade) {
            let _ = connected.shutdown(Shutdown::Read);
        }
        // An answer that was just given is still confirmed.
        let end = Instant::now() + DRAIN;
        while Instant::now() < end && self.state.connected().iter().any(|stream| stream.strong_count() > 0) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl std::fmt::Debug for PeerListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerListener").field("limit", &self.state.limit).finish_non_exhaustive()
    }
}

impl ListenerState {
    fn connected(&self) -> MutexGuard<'_, Vec<Weak<UnixStream>>> {
        // A panic cannot leave the list half changed.
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: Arc<Self>, listener: &UnixListener, woken: &UnixStream, name: &'static str) {
        while !self.closing.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
            if poll(&mut fds, None).is_err() || !fds[1].revents().is_empty() {
                continue;
            }
            match listener.accept() {
                Ok((stream, _)) => Arc::clone(&self).start(stream, name),
                // For instance EMFILE: open connections go on, and accepting is tried again.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Starts a thread for a connection, within the limit.
    fn start(self: Arc<Self>, stream: UnixStream, name: &'static str) {
        let stream = Arc::new(stream);
        let mut connected = self.connected();
        connected.retain(|stream| stream.strong_count() > 0);
        let room = connected.len() < self.limit;
        if room {
            connected.push(Arc::downgrade(&stream));
        }
        drop(connected);
        if room {
            let talk = move || {
                (self.handler)(&stream, peer::authenticate(&stream).map_err(PeerRejected::from));
                let rest = close_writing(&stream);
                // This frees its slot.
                drop(stream);
                self.linger(rest);
            };
            // Without a thread the connection is dropped, which the client sees.
            let _ = thread::Builder::new().name(format!("{name}-handler")).spawn(talk);
        } else {
            (self.handler)(&stream, Err(PeerRejected::Busy));
            let rest = close_writing(&stream);
            let _ = thread::Builder::new().name(format!("{name}-busy")).spawn(move || self.linger(rest));
        }
    }

    /// Keeps a connection open until the client closes it or the time limit: input is discarded.
    fn linger(&self, stream: Option<UnixStream>) {
        let Some(stream) = stream else { return };
        if self.lingering.fetch_add(1, Ordering::Relaxed) < MAX_LINGERING {
            let mut fds = [PollFd::new(&stream, PollFlags::RDHUP)];
            let _ = poll(&mut fds, Some(&LINGER));
        }
        self.lingering.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Closes the writing side, so that the client reads the replies and their end. Returns the connection, to be kept open
/// meanwhile.
fn close_writing(stream: &UnixStream) -> Option<UnixStream> {
    let _ = stream.shutdown(Shutdown::Write);
    stream.try_clone().ok()
}
