//! Relaying bytes between two connected sockets until both sides have ended.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::pipe_pool::Pipe;

/// Bytes transferred in each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferredBytes {
    /// From the process to the host.
    pub sent: u64,
    /// From the host to the process.
    pub received: u64,
}

/// Relays bytes both ways until each side has ended, or no byte has moved for `idle`.
///
/// # Errors
/// When a side fails, or the connection was idle for too long.
pub(crate) async fn relay_bytes(
    inside: &TcpStream,
    upstream: &TcpStream,
    idle: Duration,
    transferred: &mut TransferredBytes,
) -> io::Result<()> {
    let TransferredBytes { sent, received } = transferred;
    // One direction may be silent while the other is active: only both together are idle.
    let clock = IdleClock::default();
    let up = relay_one_way(inside, upstream, idle, &clock, sent);
    let down = relay_one_way(upstream, inside, idle, &clock, received);
    let (up, down) = tokio::join!(up, down);
    up.and(down)
}

/// Resets a connection, so that the client sees at once that it was refused.
pub(crate) fn reset(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// The time of the last activity in either direction.
struct IdleClock(Mutex<Instant>);

impl Default for IdleClock {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl IdleClock {
    fn last_activity(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

async fn relay_one_way(
    from: &TcpStream,
    to: &TcpStream,
    idle: Duration,
    clock: &IdleClock,
    count: &mut u64,
) -> io::Result<()> {
    loop {
        wait_ready(from, Interest::READABLE, idle, clock).await?;
        let moved = match Pipe::acquire() {
            Some(pipe) => splice_available(pipe, from, to, idle, clock).await?,
            None => match copy_available(from, to)? {
                CopyOutcome::Some(len) => Some(len),
                CopyOutcome::Nothing => None,
                CopyOutcome::Full => {
                    wait_ready(to, Interest::WRITABLE, idle, clock).await?;
                    None
                }
            },
        };
        match moved {
            None => continue,
            Some(0) => {
                // The other side may be gone already, and misses the end.
                let _ = rustix::net::shutdown(to, rustix::net::Shutdown::Write);
                return Ok(());
            }
            Some(len) => *count += len as u64,
        }
        clock.touch();
    }
}

/// Splices what the socket has through a pipe. Returns the number of bytes, 0 at the end, and `None` when there are
/// none after all.
async fn splice_available(
    pipe: Pipe,
    from: &TcpStream,
    to: &TcpStream,
    idle: Duration,
    clock: &IdleClock,
) -> io::Result<Option<usize>> {
    let filled = match from.try_io(Interest::READABLE, || pipe.fill(from)) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            pipe.put_back();
            return Ok(None);
        }
        other => other?,
    };
    let mut left = filled;
    while left > 0 {
        clock.touch();
        match to.try_io(Interest::WRITABLE, || pipe.drain(to, left)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(drained) => left = left.saturating_sub(drained),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                wait_ready(to, Interest::WRITABLE, idle, clock).await?;
            }
            Err(e) => return Err(e),
        }
    }
    pipe.put_back();
    Ok(Some(filled))
}

/// The outcome of a copy.
enum CopyOutcome {
    /// Bytes copied; 0 at the end.
    Some(usize),
    /// The source has no bytes.
    Nothing,
    /// The destination's buffer is full.
    Full,
}

/// Copies what the destination takes of what the source has, without a pipe. The rest stays in the source's queue, so
/// that nothing is buffered here.
fn copy_available(from: &TcpStream, to: &TcpStream) -> io::Result<CopyOutcome> {
    let mut bytes = [0; 16 * 1024];
    let peek = || Ok(rustix::net::recv(from, &mut bytes[..], RecvFlags::PEEK)?.0);
    let seen = match from.try_io(Interest::READABLE, peek) {
        Ok(0) => return Ok(CopyOutcome::Some(0)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(CopyOutcome::Nothing),
        other => other?,
    };
    let sent = match to.try_write(bytes.get(..seen).unwrap_or_default()) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(CopyOutcome::Full),
        other => other?,
    };
    let mut left = sent;
    while left > 0 {
        match rustix::net::recv(from, bytes.get_mut(..left).unwrap_or_default(), RecvFlags::empty())?.0 {
            0 => break,
            taken => left = left.saturating_sub(taken),
        }
    }
    Ok(CopyOutcome::Some(sent))
}

/// Waits until the socket is ready, while there is activity in either direction.
async fn wait_ready(
    socket: &TcpStream,
    interest: Interest,
    idle: Duration,
    clock: &IdleClock,
) -> io::Result<()> {
    loop {
        let seen = clock.last_activity();
        match timeout_at(seen + idle, socket.ready(interest)).await {
            Ok(ready) => return ready.map(drop),
            Err(_) if clock.last_activity() > seen => {}
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}
