//! The DNS server inside the sandbox, over UDP and TCP, for queries to any server's address.
//!
//! Every address is local inside, so that all queries arrive here. A response is sent from the queried address, since
//! resolvers drop others.

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

use crate::dns_answer;
use crate::policy::DnsClient;
use crate::state::RelayState;

/// The largest query, in bytes: EDNS allows more, but no client sends it in practice.
const MAX_QUERY: usize = 4096;

/// Answers queries until the run has ended; queries that are queued then are still recorded.
pub(crate) async fn serve_udp(socket: UdpSocket, state: Arc<RelayState>) {
    let mut query = vec![0; MAX_QUERY];
    loop {
        let received = tokio::select! {
            received = socket.async_io(Interest::READABLE, || receive(&socket, &mut query)) => received.map(Some),
            () = state.wait_for_end() => Ok(None),
        };
        // The runtime may not have been notified of queued queries.
        let received = match received {
            Ok(None) => receive(&socket, &mut query),
            Ok(Some(received)) => Ok(received),
            Err(error) => Err(error),
        };
        let Ok((len, from)) = received else {
            if state.has_ended() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let client = DnsClient::Udp(from.port());
        let answer = dns_answer::answer_query(query.get(..len).unwrap_or_default(), |name| {
            state.look_up(name, client)
        });
        if let Some(answer) = answer.filter(|_| !state.has_ended()) {
            // A lost response makes the resolver ask again.
            let _ = socket.async_io(Interest::WRITABLE, || send(&socket, &answer, &from)).await;
        }
    }
}

/// The client of a query, and the address that it queried.
struct QueryOrigin {
    client: SockaddrStorage,
    local: PacketInfo,
}

impl QueryOrigin {
    fn port(&self) -> u16 {
        let v4 = self.client.as_sockaddr_in().map(SockaddrIn::port);
        v4.or_else(|| self.client.as_sockaddr_in6().map(SockaddrIn6::port)).unwrap_or_default()
    }
}

enum PacketInfo {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

fn receive(socket: &UdpSocket, query: &mut [u8]) -> io::Result<(usize, QueryOrigin)> {
    let mut space = nix::cmsg_space!(libc::in6_pktinfo);
    let mut parts = [IoSliceMut::new(query)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let got = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let local = got.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4PacketInfo(info) => Some(PacketInfo::V4(info)),
        ControlMessageOwned::Ipv6PacketInfo(info) => Some(PacketInfo::V6(info)),
        _ => None,
    });
    let (Some(client), Some(local)) = (got.address, local) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok((got.bytes, QueryOrigin { client, local }))
}

fn send(socket: &UdpSocket, answer: &[u8], to: &QueryOrigin) -> io::Result<usize> {
    let parts = [IoSlice::new(answer)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let number = socket.as_raw_fd();
    let sent = match &to.local {
        PacketInfo::V4(at) => {
            let source = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: at.ipi_addr, ..*at };
            sendmsg(number, &parts, &[ControlMessage::Ipv4PacketInfo(&source)], flags, Some(&to.client))
        }
        PacketInfo::V6(at) => {
            sendmsg(number, &parts, &[ControlMessage::Ipv6PacketInfo(at)], flags, Some(&to.client))
        }
    };
    Ok(sent?)
}

/// Answers the queries of one TCP connection. [RFC 7766](https://www.rfc-editor.org/rfc/rfc7766)
pub(crate) async fn serve_tcp(state: &RelayState, mut inside: TcpStream) {
    let mut query = Vec::new();
    let client = DnsClient::Tcp(inside.peer_addr().map_or(0, |from| from.port()));
    while let Ok(Ok(())) = timeout(state.limits.hello, read_query(&mut inside, &mut query)).await {
        let Some(answer) = dns_answer::answer_query(&query, |name| state.look_up(name, client)) else {
            return;
        };
        let Ok(len) = u16::try_from(answer.len()) else { return };
        let answer = [len.to_be_bytes().as_slice(), &answer].concat();
        if !matches!(timeout(state.limits.hello, inside.write_all(&answer)).await, Ok(Ok(()))) {
            return;
        }
    }
}

async fn read_query(inside: &mut TcpStream, query: &mut Vec<u8>) -> io::Result<()> {
    let len = usize::from(inside.read_u16().await?);
    if len > MAX_QUERY {
        return Err(io::ErrorKind::InvalidData.into());
    }
    query.resize(len, 0);
    inside.read_exact(query).await.map(drop)
}
