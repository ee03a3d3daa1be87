//! Where names are asked for inside: by datagrams and by connections, whatever server is asked.
//!
//! Every address is local there, so that each query arrives here; an answer goes out from the address that was asked,
//! or nobody would take it.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn, SockaddrIn6, SockaddrStorage, recvmsg, sendmsg,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::dns;
use crate::doorkeeper::Asker;
use crate::relay::Shared;

/// The largest query that is answered: all that fits without extensions, and what extensions ask for in practice.
const LARGEST_QUERY: usize = 4096;

/// Answers queries until the run is over; those that wait then are looked at, too.
pub(crate) async fn by_datagrams(socket: UdpSocket, shared: Arc<Shared>) {
    let mut query = vec![0; LARGEST_QUERY];
    loop {
        let received = tokio::select! {
            received = socket.async_io(Interest::READABLE, || receive(&socket, &mut query)) => received.map(Some),
            () = shared.over() => Ok(None),
        };
        // Whether any waits may not have been told.
        let received = match received {
            Ok(None) => receive(&socket, &mut query),
            Ok(Some(received)) => Ok(received),
            Err(error) => Err(error),
        };
        let Ok((len, from)) = received else {
            if shared.is_over() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let asker = Asker::Datagram(from.port());
        let said = dns::answer(query.get(..len).unwrap_or_default(), |name| shared.look_up(name, asker));
        if let Some(said) = said.filter(|_| !shared.is_over()) {
            // Whoever asked asks again when it is lost.
            let _ = socket.async_io(Interest::WRITABLE, || send(&socket, &said, &from)).await;
        }
    }
}

/// Who asked, and at which address.
struct From {
    who: SockaddrStorage,
    at: At,
}

impl From {
    fn port(&self) -> u16 {
        let v4 = self.who.as_sockaddr_in().map(SockaddrIn::port);
        v4.or_else(|| self.who.as_sockaddr_in6().map(SockaddrIn6::port)).unwrap_or_default()
    }
}

enum At {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

fn receive(socket: &UdpSocket, query: &mut [u8]) -> io::Result<(usize, From)> {
    let mut space = nix::cmsg_space!(libc::in6_pktinfo);
    let mut parts = [IoSliceMut::new(query)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let got = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let at = got.cmsgs()?.find_map(|told| match told {
        ControlMessageOwned::Ipv4PacketInfo(info) => Some(At::V4(info)),
        ControlMessageOwned::Ipv6PacketInfo(info) => Some(At::V6(info)),
        _ => None,
    });
    let (Some(who), Some(at)) = (got.address, at) else { return Err(io::ErrorKind::InvalidData.into()) };
    Ok((got.bytes, From { who, at }))
}

fn send(socket: &UdpSocket, said: &[u8], to: &From) -> io::Result<usize> {
    let parts = [IoSlice::new(said)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let number = socket.as_raw_fd();
    let sent = match &to.at {
        At::V4(at) => {
            let source = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: at.ipi_addr, ..*at };
            sendmsg(number, &parts, &[ControlMessage::Ipv4PacketInfo(&source)], flags, Some(&to.who))
        }
        At::V6(at) => sendmsg(number, &parts, &[ControlMessage::Ipv6PacketInfo(at)], flags, Some(&to.who)),
    };
    Ok(sent?)
}

/// Answers the queries of one connection.
/// [RFC 7766](https://www.rfc-editor.org/rfc/rfc7766)
pub(crate) async fn by_connection(shared: &Shared, mut inside: TcpStream) {
    let mut query = Vec::new();
    let asker = Asker::Connection(inside.peer_addr().map_or(0, |from| from.port()));
    while let Ok(Ok(())) = timeout(shared.limits.hello, one(&mut inside, &mut query)).await {
        let Some(said) = dns::answer(&query, |name| shared.look_up(name, asker)) else { return };
        let Ok(len) = u16::try_from(said.len()) else { return };
        let said = [len.to_be_bytes().as_slice(), &said].concat();
        if !matches!(timeout(shared.limits.hello, inside.write_all(&said)).await, Ok(Ok(()))) {
            return;
        }
    }
}

async fn one(inside: &mut TcpStream, query: &mut Vec<u8>) -> io::Result<()> {
    let len = usize::from(inside.read_u16().await?);
    if len > LARGEST_QUERY {
        return Err(io::ErrorKind::InvalidData.into());
    }
    query.resize(len, 0);
    inside.read_exact(query).await.map(drop)
}
