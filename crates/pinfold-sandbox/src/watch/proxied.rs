//! Connections to a proxy outside, for a run that has no network of its own.
//!
//! Memory of a caller may change while the kernel reads it. So the kernel never does: `socket` for the internet returns
//! one that is connected already, to the taker of connections here; and `connect` to the proxy returns that the socket is
//! connected.
//!
//! Promise: no `connect` of the run is carried out. What it has of the machine's network are ends of connections to us.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::time::Duration;

use super::address::{address, internet_address};
use super::attempt::{Attempt, Intent, SyscallHandler};
use super::connect::{ConnectQuestion, answer_if_there};
use super::file_call::int;
use crate::sys::{self, NotifyResponse};

/// Takes the other end of a connection, and says whether there was room for it.
pub type ConnectionSink = Box<dyn FnMut(TcpStream) -> bool + Send>;

/// Time that a connection to ourselves may take.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);

/// Most foreign connections to our own listener before it is given up.
const MAX_OTHERS: usize = 16;

/// The one way out.
pub(crate) struct Proxied {
    /// The address in the proxy variables inside. It has no listener.
    at: SocketAddr,
    taker: Option<ConnectionSink>,
}

impl Proxied {
    pub(crate) fn new(port: u16) -> Self {
        Self { at: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port), taker: None }
    }

    pub(super) fn taken_by(&mut self, taker: ConnectionSink) {
        self.taker = Some(taker);
    }

    /// Returns whether a call wants a socket that is handed out. Its arguments are in registers.
    pub(super) fn opens(&self, question: &libc::seccomp_notif) -> bool {
        const KIND: u64 = 0xf;
        let [family, kind, protocol, ..] = question.data.args;
        self.taker.is_some()
            && [libc::AF_INET, libc::AF_INET6].contains(&int(family))
            && int(kind & KIND) == libc::SOCK_STREAM
            && [0, libc::IPPROTO_TCP].contains(&int(protocol))
    }

    /// Answers with a socket that is connected already.
    pub(super) fn socket(&mut self, asked: &ConnectQuestion<'_>) -> io::Result<()> {
        let [family, kind, ..] = asked.question.data.args;
        let has = |flag: i32| int(kind) & flag == flag;
        let refuse = |errno| answer_if_there(asked.listener, asked.question.id, NotifyResponse::Fail(errno));
        let made = pair(int(family) == libc::AF_INET6).and_then(|(theirs, ours)| {
            theirs.set_nonblocking(has(libc::SOCK_NONBLOCK))?;
            Ok((theirs, ours))
        });
        let (theirs, ours) = match made {
            Ok(made) => made,
            Err(error) => return refuse(error.raw_os_error().unwrap_or(libc::ENOBUFS)),
        };
        if !self.taker.as_mut().is_some_and(|take| take(ours)) {
            return refuse(libc::ENOBUFS);
        }
        let id = asked.question.id;
        match sys::answer_with(asked.listener.as_fd(), id, theirs.as_fd(), has(libc::SOCK_CLOEXEC)) {
            Err(error) => refuse(error.raw_os_error().unwrap_or(libc::EMFILE)),
            Ok(()) => Ok(()),
        }
    }

    /// Answers a `connect`: every internet socket inside is connected to the proxy.
    pub(super) fn connect(
        &self,
        asked: &ConnectQuestion<'_>,
        handler: &mut dyn SyscallHandler,
    ) -> io::Result<()> {
        let (pid, id) = (asked.question.pid.cast_signed(), asked.question.id);
        let [_, at, len, ..] = asked.question.data.args;
        let to = address(pid, at, len).as_deref().and_then(internet_address);
        // Else its number may have meant another process.
        if !sys::is_notification_valid(asked.listener.as_fd(), id) {
            return Ok(());
        }
        if to == Some(self.at) {
            return answer_if_there(asked.listener, id, NotifyResponse::Done);
        }
        if let Some(to) = to {
            let place = PathBuf::from(to.to_string());
            handler.attempt(&Attempt::new(pid, Intent::Connect, place));
        }
        answer_if_there(asked.listener, id, NotifyResponse::Fail(libc::EACCES))
    }

    /// Refuses to give a socket an address: it would be one of the machine's.
    pub(super) fn bind(asked: &ConnectQuestion<'_>, handler: &mut dyn SyscallHandler) -> io::Result<()> {
        let (pid, id) = (asked.question.pid.cast_signed(), asked.question.id);
        let [_, at, len, ..] = asked.question.data.args;
        let to = address(pid, at, len).as_deref().and_then(internet_address);
        // Else its number may have meant another process.
        if !sys::is_notification_valid(asked.listener.as_fd(), id) {
            return Ok(());
        }
        if let Some(to) = to {
            handler.attempt(&Attempt::new(pid, Intent::Bind, PathBuf::from(to.to_string())));
        }
        answer_if_there(asked.listener, id, NotifyResponse::Fail(libc::EACCES))
    }
}

/// Opens both ends of a connection on loopback. Foreign connections to its listener are dropped.
fn pair(of_version_6: bool) -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut to = listener.local_addr()?;
    if of_version_6 {
        to.set_ip(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into());
    }
    let theirs = TcpStream::connect_timeout(&to, CONNECT_TIMEOUT)?;
    let own = theirs.local_addr()?;
    let own = SocketAddr::new(own.ip().to_canonical(), own.port());
    let wait = i32::try_from(CONNECT_TIMEOUT.as_millis()).unwrap_or_default();
    for _ in 0..MAX_OTHERS {
        if sys::poll([listener.as_raw_fd()], Some(wait))? == [0] {
            break;
        }
        // A connection with these ends is up, and there is only one.
        match listener.accept()? {
            (ours, from) if from == own => return Ok((theirs, ours)),
            _ => {}
        }
    }
    Err(io::Error::from_raw_os_error(libc::EAGAIN))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn both_ends_of_a_pair_are_ours() {
        for of_version_6 in [false, true] {
            let (mut theirs, mut ours) = pair(of_version_6).unwrap();
            theirs.write_all(b"said").unwrap();
            let mut heard = [0; 4];
            ours.read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"said");
            assert_eq!(theirs.local_addr().unwrap().is_ipv6(), of_version_6);
        }
    }
}
