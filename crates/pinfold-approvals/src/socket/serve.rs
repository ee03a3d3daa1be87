//! The socket of one process: lets the person in, shows what waits, takes answers.
//!
//! Promise: whoever is slow, talks nonsense or goes without a word costs one thread and is sent away; nobody who asks
//! waits for them.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pinfold::consent::{Answer, By, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::door::{Door, Turned};
use super::frame::{FROM_CLIENT, Frames};
use super::peer::Peer;
use super::place::Place;
use super::protocol::{Answers, Heard, Hello, Order, Reply, Trouble, TroubleKind, VERSION, Waiting};
use super::seat::Seat;
use super::secret::Secret;
use super::sessions::Sessions;
use crate::broker::{Broker, Shared};
use crate::watch::Watch;

/// How many may be connected at a time.
const MOST_CONNECTED: usize = 32;
/// How long the first line may take.
const HURRY: Duration = Duration::from_secs(5);
/// How often whoever watches hears that somebody is still there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How soon it is noticed that whoever watches is gone.
const GLANCE: Duration = Duration::from_millis(250);
/// A socket that is open. Dropping it closes it.
pub struct Listening {
    house: Arc<House>,
    seat: Seat,
    door: Option<Door>,
}

/// What all connections have in common.
struct House {
    name: String,
    secret: Secret,
    shared: Arc<Shared>,
    sessions: Sessions,
    closing: AtomicBool,
}

impl Broker {
    /// Opens a socket in `place`, under `name` or one like it, through which what waits is shown and answered. It does
    /// not make anybody wait: see [`Broker::stand`] and [`Broker::elsewhere`].
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn listen(&self, place: &Place, name: &str, sessions: &Sessions) -> io::Result<Listening> {
        let secret = Secret::new()?;
        let (seat, listener) = Seat::take(place, name, &secret)?;
        let house = Arc::new(House {
            name: seat.name().to_owned(),
            secret,
            shared: Arc::clone(self.shared()),
            sessions: sessions.clone(),
            closing: AtomicBool::new(false),
        });
        let inside = Arc::clone(&house);
        let door = Door::open(listener, "approvals", MOST_CONNECTED, move |stream, who| {
            // Its end, whatever it is, is the end of this connection and of nothing else.
            let _ = inside.talk(stream, who);
        })?;
        Ok(Listening { house, seat, door: Some(door) })
    }
}

impl Listening {
    /// The name under which it is found.
    pub fn name(&self) -> &str {
        self.seat.name()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.house.closing.store(true, Ordering::Relaxed);
        self.door.take();
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl House {
    fn talk(&self, stream: &UnixStream, who: Result<Peer, Turned>) -> io::Result<()> {
        let peer = match who {
            Ok(peer) => peer,
            Err(turned) => return refuse(stream, turned_away(&turned)),
        };
        let mut frames = Frames::new(stream.try_clone()?, FROM_CLIENT)?;
        let hello: Hello = match frames.read_within(HURRY) {
            Ok(Some(hello)) => hello,
            Ok(None) => return Ok(()),
            Err(error) => return frames.write(&Reply::Error(unclear(&error))),
        };
        if hello.v != VERSION {
            let message = format!("version {} is not spoken here, but {VERSION}", hello.v);
            return frames.write(&Reply::Error(Trouble::new(TroubleKind::Unclear, message)));
        }
        if !self.secret.is(&hello.secret) {
            let message = "the secret beside the socket was not said";
            return frames.write(&Reply::Error(Trouble::new(TroubleKind::Refused, message)));
        }
        let me = Answers { v: VERSION, name: self.name.clone(), pid: std::process::id() };
        frames.write(&Reply::Hello(me))?;
        while let Some(order) = next(&mut frames)? {
            if let Order::Watch {} = order {
                return self.watch(&mut frames);
            }
            let reply = self.carry_out(order, peer);
            frames.write(&reply)?;
        }
        Ok(())
    }

    fn carry_out(&self, order: Order, peer: Peer) -> Reply {
        match order {
            Order::Ping {} => Reply::Pong,
            Order::List {} => {
                Reply::List(self.shared.queue().open().map(|e| Waiting::of(&e.request)).collect())
            }
            Order::Show { id } => {
                let found =
                    self.shared.queue().open().find(|e| e.request.id == id).map(|e| Arc::clone(&e.request));
                match found {
                    Some(request) => Reply::Show(Box::new(Request::clone(&request))),
                    None => not_found(format!("no request `{id}` waits here")),
                }
            }
            Order::Answer { id, digest, answer: choice, from, who } => {
                let by = By { via: from.via(), who: Some(peer.called(who)) };
                match self.shared.answer(Answer { id, digest, choice, by }) {
                    Ok(()) => Reply::Answered,
                    Err(not) => Reply::Error(not.into()),
                }
            }
            Order::Grants {} => Reply::Grants(self.sessions.grants()),
            Order::Revoke { session, number } => {
                if self.sessions.revoke(&session, number) {
                    Reply::Revoked
                } else {
                    not_found(format!("session `{session}` has no grant {number}"))
                }
            }
            // Taken care of before.
            Order::Watch {} => Reply::Error(Trouble::new(TroubleKind::Unclear, "watching has begun")),
        }
    }

    /// Tells what is new until the other side is gone. Whoever watches is somebody who can answer.
    fn watch(&self, frames: &mut Frames) -> io::Result<()> {
        let _there = self.shared.stand();
        let mut watch = Watch::new(Arc::clone(&self.shared));
        let mut said = Instant::now();
        // At once, so that whoever watches knows what there is, were it nothing.
        frames.write(&Reply::Heard(heard(&mut watch, Duration::ZERO).unwrap_or_default()))?;
        while !self.closing.load(Ordering::Relaxed) {
            let Some(news) = heard(&mut watch, GLANCE) else { return Ok(()) };
            let silent = news == Heard::default();
            if !silent || said.elapsed() >= HEARTBEAT {
                said = Instant::now();
                frames.write(&Reply::Heard(news))?;
            }
            // Nothing more is expected from there, so whatever comes is the end.
            if frames.has_more() || is_readable(frames.stream())? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The next order. What cannot be understood ends the talk: where one line ends may not be clear any more.
fn next(frames: &mut Frames) -> io::Result<Option<Order>> {
    match frames.read() {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            frames.write(&Reply::Error(unclear(&error)))?;
            Ok(None)
        }
        read => read,
    }
}

/// What is new; `None` when there will be nothing new any more.
fn heard(watch: &mut Watch, most: Duration) -> Option<Heard> {
    let news = watch.next(most);
    let asked = news.asked.iter().map(|request| Waiting::of(request)).collect();
    (!news.closed).then_some(Heard { asked, over: news.over, notes: news.notes })
}

fn is_readable(stream: &impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(stream, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}

fn refuse(stream: &UnixStream, trouble: Trouble) -> io::Result<()> {
    Frames::new(stream.try_clone()?, FROM_CLIENT)?.write(&Reply::Error(trouble))
}

fn turned_away(turned: &Turned) -> Trouble {
    let kind = match turned {
        Turned::Busy => TroubleKind::Busy,
        Turned::NotAdmitted(_) => TroubleKind::Refused,
    };
    Trouble::new(kind, turned.to_string())
}

fn unclear(error: &io::Error) -> Trouble {
    Trouble::new(TroubleKind::Unclear, format!("not understood: {error}"))
}

fn not_found(message: String) -> Reply {
    Reply::Error(Trouble::new(TroubleKind::NotFound, message))
}
