//! Listening sockets inside, through which a relay outside gets every connection of a run.
//!
//! In a network of their own every address is made local. Sockets that listen there on all addresses are handed out
//! before the command starts, so that the relay needs no process inside.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use crate::profile::{InnerListeners, MAX_CALLERS, MAX_PORTS};
use crate::sys;

/// The sockets inside, handed out.
#[derive(Debug, Default)]
pub struct RelaySockets {
    /// Sockets that accept connections, on every address.
    pub ports: Vec<TcpListener>,
    /// DNS over UDP, on every address. Each query says where it was sent to (`IP_PKTINFO`), and the answer has to come from
    /// there.
    pub names: Vec<UdpSocket>,
    /// DNS over TCP.
    pub names_by_connection: Vec<TcpListener>,
    /// The HTTP proxy, on loopback.
    pub proxies: Vec<TcpListener>,
    /// Raw ICMP sockets (version 4, version 6) that report datagrams without a receiver.
    pub unheard: Vec<UdpSocket>,
    /// Sockets of the network inside that are not connected yet, of both versions, for connections to a server there.
    pub callers: Vec<OwnedFd>,
}

impl RelaySockets {
    pub(crate) fn add(&mut self, kind: SocketPurpose, socket: OwnedFd) {
        match kind {
            SocketPurpose::Port => self.ports.push(socket.into()),
            SocketPurpose::Names => self.names.push(socket.into()),
            SocketPurpose::NamesByConnection => self.names_by_connection.push(socket.into()),
            SocketPurpose::Proxy => self.proxies.push(socket.into()),
            SocketPurpose::Unheard => self.unheard.push(socket.into()),
            SocketPurpose::Caller => self.callers.push(socket),
        }
    }
}

/// Purpose of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketPurpose {
    Port,
    Names,
    NamesByConnection,
    Proxy,
    /// Reports datagrams without a receiver. For the audit log alone: a run works without it.
    Unheard,
    /// Listens nowhere.
    Caller,
}

/// A socket to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedSocket {
    pub(crate) kind: SocketPurpose,
    pub(crate) address: SocketAddr,
}

impl PlannedSocket {
    /// Makes the socket, in the network of this process.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        match self.kind {
            SocketPurpose::Port | SocketPurpose::NamesByConnection | SocketPurpose::Proxy => {
                sys::listen(self.address, true)
            }
            SocketPurpose::Names => sys::listen(self.address, false),
            SocketPurpose::Unheard => sys::unreachable_datagrams(self.address.is_ipv6()),
            SocketPurpose::Caller => sys::internet_socket(self.address, true),
        }
    }
}

/// The plan of a network in which every connection arrives at the relay, allocated before the fork.
pub(crate) struct RelayPlan {
    /// Requests that make every address local, of version 4 and 6.
    pub(crate) v4: Request,
    pub(crate) v6: Request,
    pub(crate) sockets: Vec<PlannedSocket>,
}

/// The port of the name service.
const NAMES: u16 = 53;

const ANY: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

impl RelayPlan {
    pub(crate) fn new(entrances: &InnerListeners) -> io::Result<Self> {
        let mut ports = entrances.ports.clone();
        ports.sort_unstable();
        ports.dedup();
        let taken = |port: &u16| [0, NAMES].contains(port) || entrances.proxy == Some(*port);
        let too_many = ports.len() > MAX_PORTS || entrances.callers > MAX_CALLERS;
        if too_many
            || ports.iter().any(taken)
            || entrances.proxy.is_some_and(|port| [0, NAMES].contains(&port))
        {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let of = |kind, port, addresses: [IpAddr; 2]| {
            addresses.map(|address| PlannedSocket { kind, address: SocketAddr::new(address, port) })
        };
        let sockets = [
            of(SocketPurpose::Names, NAMES, ANY),
            of(SocketPurpose::NamesByConnection, NAMES, ANY),
            of(SocketPurpose::Unheard, 0, ANY),
        ];
        let proxy = entrances.proxy.map(|port| of(SocketPurpose::Proxy, port, LOOPBACK));
        let sockets = sockets
            .into_iter()
            .chain(proxy)
            .chain(ports.into_iter().map(|port| of(SocketPurpose::Port, port, ANY)));
        let callers = (0..entrances.callers).flat_map(|_| of(SocketPurpose::Caller, 0, ANY));
        Ok(Self {
            v4: all_local(libc::AF_INET),
            v6: all_local(libc::AF_INET6),
            sockets: sockets.flatten().chain(callers).collect(),
        })
    }
}

/// A request about a route.
pub(crate) type Request = [u8; 36];

/// `ip route add local 0.0.0.0/0 dev lo`, or the same for version 6. Allocates nothing.
/// [rtnetlink(7)](https://man7.org/linux/man-pages/man7/rtnetlink.7.html)
pub(crate) fn all_local(family: libc::c_int) -> Request {
    // The loopback interface is the first of every network.
    const LOOPBACK: u32 = 1;
    const ATTRIBUTE: u16 = 8;
    let mut request = [0; 36];
    let scope = if family == libc::AF_INET { libc::RT_SCOPE_HOST } else { libc::RT_SCOPE_UNIVERSE };
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let len = u32::try_from(request.len()).unwrap_or(0);
    let parts: [&[u8]; 9] = [
        // struct nlmsghdr: length, kind, flags, sequence and port.
        &len.to_ne_bytes(),
        &libc::RTM_NEWROUTE.to_ne_bytes(),
        &u16::try_from(flags).unwrap_or(0).to_ne_bytes(),
        &[0; 8],
        // struct rtmsg: family, lengths of destination and source, TOS; table, protocol, scope, kind; flags.
        &[u8::try_from(family).unwrap_or(0), 0, 0, 0],
        &[libc::RT_TABLE_LOCAL, libc::RTPROT_BOOT, scope, libc::RTN_LOCAL, 0, 0, 0, 0],
        // struct rtattr: the interface.
        &ATTRIBUTE.to_ne_bytes(),
        &libc::RTA_OIF.to_ne_bytes(),
        &LOOPBACK.to_ne_bytes(),
    ];
    let bytes = parts.into_iter().flatten();
    request.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_listened_on_is_refused() {
        let new = |ports: &[u16], proxy| {
            RelayPlan::new(&InnerListeners { ports: ports.to_vec(), proxy: Some(proxy), callers: 0 })
        };
        assert_eq!(new(&[443, 80, 443], 808).unwrap().sockets.len(), 2 * (4 + 2));
        for (ports, proxy) in [(&[53][..], 808), (&[808], 808), (&[0], 808), (&[443], 53), (&[443], 0)] {
            assert!(new(ports, proxy).is_err(), "{ports:?} {proxy}");
        }
        assert_eq!(
            RelayPlan::new(&InnerListeners::default()).unwrap().sockets.len(),
            2 * 3,
            "names alone are heard"
        );
        let many: Vec<u16> = (1000..).take(MAX_PORTS + 1).collect();
        assert!(new(&many, 808).is_err());
        let all = InnerListeners {
            ports: many.into_iter().take(MAX_PORTS).collect(),
            proxy: Some(808),
            callers: MAX_CALLERS,
        };
        // Each is told by a number of one byte.
        assert!(RelayPlan::new(&all).unwrap().sockets.len() < usize::from(u8::MAX));
        assert!(RelayPlan::new(&InnerListeners { callers: MAX_CALLERS + 1, ..all }).is_err());
    }
}
