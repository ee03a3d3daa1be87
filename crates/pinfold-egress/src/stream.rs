//! Two connected sockets: what comes from one goes to the other, until both have said their last.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
        let pipe = Pipe::take()?;
        let filled = match from.try_io(Interest::READABLE, || pipe.fill(from)) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                pipe.give_back();
                continue;
            }
            other => other?,
        };
        if filled == 0 {
            pipe.give_back();
            // The other side may have gone meanwhile: then there is nobody to tell.
            let _ = rustix::net::shutdown(to, rustix::net::Shutdown::Write);
            return Ok(());
        }
        clock.moved();
        let mut left = filled;
        while left > 0 {
            match to.try_io(Interest::WRITABLE, || pipe.drain(to, left)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(drained) => left = left.saturating_sub(drained),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    wait(to, Interest::WRITABLE, idle, clock).await?;
                }
                Err(e) => return Err(e),
            }
            clock.moved();
        }
        pipe.give_back();
        *count += filled as u64;
    }
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
