//! Two connected sockets: what comes from one goes to the other, until both have said their last.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::pool::Pipe;

/// How many bytes went each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// From inside to the host.
    pub sent: u64,
    /// From the host inside.
    pub received: u64,
}

/// Passes bytes both ways until each side has ended its own, or nothing has moved for `idle`.
///
/// # Errors
/// When a side breaks off, or nothing moved for too long.
pub(crate) async fn pass(
    inside: &TcpStream,
    host: &TcpStream,
    idle: Duration,
    passed: &mut Passed,
) -> io::Result<()> {
    let Passed { sent, received } = passed;
    // Either may be quiet for long while the other talks: only both together are idle.
    let clock = Clock::default();
    let up = one_way(inside, host, idle, &clock, sent);
    let down = one_way(host, inside, idle, &clock, received);
    let (up, down) = tokio::join!(up, down);
    up.and(down)
}

/// When something moved last, in either direction.
struct Clock(Mutex<Instant>);

impl Default for Clock {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Clock {
    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moved(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

async fn one_way(
    from: &TcpStream,
    to: &TcpStream,
    idle: Duration,
    clock: &Clock,
    count: &mut u64,
) -> io::Result<()> {
    loop {
        wait(from, Interest::READABLE, idle, clock).await?;
        let moved = match Pipe::take() {
            Some(pipe) => through(pipe, from, to, idle, clock).await?,
            None => match copied(from, to)? {
                Copied::Some(len) => Some(len),
                Copied::Nothing => None,
                Copied::Full => {
                    wait(to, Interest::WRITABLE, idle, clock).await?;
                    None
                }
            },
        };
        match moved {
            None => continue,
            Some(0) => {
                // The other side may have gone meanwhile: then there is nobody to tell.
                let _ = rustix::net::shutdown(to, rustix::net::Shutdown::Write);
                return Ok(());
            }
            Some(len) => *count += len as u64,
        }
        clock.moved();
    }
}

/// Passes on what the socket has, by a pipe: how much, 0 at its end, `None` when it has nothing after all.
async fn through(
    pipe: Pipe,
    from: &TcpStream,
    to: &TcpStream,
    idle: Duration,
    clock: &Clock,
) -> io::Result<Option<usize>> {
    let filled = match from.try_io(Interest::READABLE, || pipe.fill(from)) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            pipe.give_back();
            return Ok(None);
        }
        other => other?,
    };
    let mut left = filled;
    while left > 0 {
        clock.moved();
        match to.try_io(Interest::WRITABLE, || pipe.drain(to, left)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(drained) => left = left.saturating_sub(drained),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                wait(to, Interest::WRITABLE, idle, clock).await?;
            }
            Err(e) => return Err(e),
        }
    }
    pipe.give_back();
    Ok(Some(filled))
}

/// What became of bytes that were to be copied.
enum Copied {
    /// So many were; 0 at their end.
    Some(usize),
    /// There were none.
    Nothing,
    /// The other side takes none.
    Full,
}

/// Passes on what the other side takes of what the socket has, without a pipe. What it does not take stays where it is, so
/// that nothing is held here.
fn copied(from: &TcpStream, to: &TcpStream) -> io::Result<Copied> {
    let mut bytes = [0; 16 * 1024];
    let peek = || Ok(rustix::net::recv(from, &mut bytes[..], RecvFlags::PEEK)?.0);
    let seen = match from.try_io(Interest::READABLE, peek) {
        Ok(0) => return Ok(Copied::Some(0)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Copied::Nothing),
        other => other?,
    };
    let sent = match to.try_write(bytes.get(..seen).unwrap_or_default()) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Copied::Full),
        other => other?,
    };
    let mut left = sent;
    while left > 0 {
        match rustix::net::recv(from, bytes.get_mut(..left).unwrap_or_default(), RecvFlags::empty())?.0 {
            0 => break,
            taken => left = left.saturating_sub(taken),
        }
    }
    Ok(Copied::Some(sent))
}

/// Waits until the socket is ready, as long as anything moves in either direction.
async fn wait(socket: &TcpStream, interest: Interest, idle: Duration, clock: &Clock) -> io::Result<()> {
    loop {
        let seen = clock.last();
        match timeout_at(seen + idle, socket.ready(interest)).await {
            Ok(ready) => return ready.map(drop),
            Err(_) if clock.last() > seen => {}
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}
