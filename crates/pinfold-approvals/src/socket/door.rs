//! A door: whoever connects is looked at, and gets a thread of their own, so many at a time.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::peer::{self, NotAdmitted, Peer};

/// How long those who are connected may still be told something when the door is closed.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long a connection stays open for reading after the last word on it. A client that goes on writing to one that is
/// closed is told by its error (`EPIPE`) and never reads why.
const LINGER: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// So many of them stay, each with a thread; others are closed at once.
const MOST_LINGERING: usize = 64;

/// Why somebody who connected is not let in.
#[derive(Debug, thiserror::Error)]
pub enum Turned {
    /// So many are connected that there is no room.
    #[error("too many are connected: try again")]
    Busy,
    /// They are not the person, or confined.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
}

/// What is done with whoever connected.
type Guest = Box<dyn Fn(&UnixStream, Result<Peer, Turned>) + Send + Sync>;

/// A door that is open. Dropping it closes it, and what is still read from those who are connected.
pub struct Door {
    inside: Arc<Inside>,
    wake: UnixStream,
    accepting: Option<JoinHandle<()>>,
}

struct Inside {
    closing: AtomicBool,
    connected: Mutex<Vec<Weak<UnixStream>>>,
    /// How many connections there are on which everything is said.
    lingering: AtomicUsize,
    most: usize,
    guest: Guest,
}

impl Door {
    /// Lets people in, `most` at a time. `guest` is called for each on a thread of its own, called `name`; for those who are
    /// turned away with the reason.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn open(
        listener: UnixListener,
        name: &'static str,
        most: usize,
        guest: impl Fn(&UnixStream, Result<Peer, Turned>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        let guest: Guest = Box::new(guest);
        let inside = Arc::new(Inside {
            closing: AtomicBool::new(false),
            connected: Mutex::default(),
            lingering: AtomicUsize::new(0),
            most,
            guest,
        });
        let accepts = Arc::clone(&inside);
        let accepting = thread::Builder::new()
            .name(format!("{name}-door"))
            .spawn(move || accepts.accept(&listener, &woken, name))?;
        Ok(Self { inside, wake, accepting: Some(accepting) })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.inside.closing.store(true, Ordering::Relaxed);
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for connected in self.inside.connected().iter().filter_map(Weak::upgrade) {
            let _ = connected.shutdown(Shutdown::Read);
        }
        // Whoever has just answered hears that it counted.
        let end = Instant::now() + LAST_WORDS;
        while Instant::now() < end && self.inside.connected().iter().any(|stream| stream.strong_count() > 0) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("most", &self.inside.most).finish_non_exhaustive()
    }
}

impl Inside {
    fn connected(&self) -> MutexGuard<'_, Vec<Weak<UnixStream>>> {
        // A list of handles is whole between any two steps.
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: Arc<Self>, listener: &UnixListener, woken: &UnixStream, name: &'static str) {
        while !self.closing.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
            if poll(&mut fds, None).is_err() || !fds[1].revents().is_empty() {
                continue;
            }
            match listener.accept() {
                Ok((stream, _)) => Arc::clone(&self).begin(stream, name),
                // Out of descriptors, for instance: others can go on, and this is tried again.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Gives a connection a thread, if there is room for it.
    fn begin(self: Arc<Self>, stream: UnixStream, name: &'static str) {
        let stream = Arc::new(stream);
        let mut connected = self.connected();
        connected.retain(|stream| stream.strong_count() > 0);
        let room = connected.len() < self.most;
        if room {
            connected.push(Arc::downgrade(&stream));
        }
        drop(connected);
        if room {
            let talk = move || {
                (self.guest)(&stream, peer::admit(&stream).map_err(Turned::from));
                let rest = last_said(&stream);
                // Its place is free for another one.
                drop(stream);
                self.linger(rest);
            };
            // Without a thread the connection is dropped, which the other side sees.
            let _ = thread::Builder::new().name(format!("{name}-guest")).spawn(talk);
        } else {
            (self.guest)(&stream, Err(Turned::Busy));
            let rest = last_said(&stream);
            let _ = thread::Builder::new().name(format!("{name}-busy")).spawn(move || self.linger(rest));
        }
    }

    /// Keeps a connection open until the client closes it, for so long: what it still writes is taken.
    fn linger(&self, stream: Option<UnixStream>) {
        let Some(stream) = stream else { return };
        if self.lingering.fetch_add(1, Ordering::Relaxed) < MOST_LINGERING {
            let mut fds = [PollFd::new(&stream, PollFlags::RDHUP)];
            let _ = poll(&mut fds, Some(&LINGER));
        }
        self.lingering.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Everything is said on a connection: the client reads that and its end. The connection, to be kept open beside it.
fn last_said(stream: &UnixStream) -> Option<UnixStream> {
    let _ = stream.shutdown(Shutdown::Write);
    stream.try_clone().ok()
}
