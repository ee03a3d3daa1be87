//! The network of a namespace: its interfaces, routes, and sockets of both IP versions.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_int, c_long};

use super::{check, check_int, ioctl_request, owned};

/// Brings the loopback interface of this network namespace up.
///
/// [netdevice(7)](https://man7.org/linux/man-pages/man7/netdevice.7.html)
pub(crate) fn loopback_up() -> io::Result<()> {
    const SIOCSIFFLAGS: libc::Ioctl = ioctl_request(0x8914);
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = owned(check_int(rc)?.into())?;
    // SAFETY: all zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which `request` is.
    check_int(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCSIFFLAGS, &raw const request) }).map(drop)
}

/// Sends one request about routes in this network namespace and waits for its answer. `message` asks for one
/// (`NLM_F_ACK`).
///
/// [rtnetlink(7)](https://man7.org/linux/man-pages/man7/rtnetlink.7.html)
pub(crate) fn route(message: &[u8]) -> io::Result<()> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    let socket = owned(check_int(rc)?.into())?;
    // SAFETY: the kernel reads `message`, which lives until the call returns. A netlink socket that is not connected
    // sends to the kernel.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(sent as c_long)?;
    let mut answer = [0u8; 256];
    // SAFETY: `answer` has room for as many bytes as are asked for.
    let len = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    check(len as c_long)?;
    // A header of 16 bytes (its kind at 4), then an error number, 0 for done.
    let malformed = || io::Error::from_raw_os_error(libc::EPROTO);
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
    let errno = answer.get(16..20).and_then(|errno| errno.try_into().ok()).map(i32::from_ne_bytes);
    match (kind.map(i32::from), errno) {
        (Some(libc::NLMSG_ERROR), Some(0)) if len >= 20 => Ok(()),
        (Some(libc::NLMSG_ERROR), Some(errno)) if len >= 20 => {
            Err(io::Error::from_raw_os_error(errno.saturating_neg()))
        }
        _ => Err(malformed()),
    }
}

/// A socket that takes what is sent to an address: connections, or else datagrams, of which it is told where each was
/// sent to.
///
/// [ip(7)](https://man7.org/linux/man-pages/man7/ip.7.html),
/// [ipv6(7)](https://man7.org/linux/man-pages/man7/ipv6.7.html)
pub(crate) fn listen(at: SocketAddr, stream: bool) -> io::Result<OwnedFd> {
    const WAITING: c_int = 4096;
    let socket = internet_socket(at, stream)?;
    if at.is_ipv6() {
        set_option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY)?;
    }
    match (stream, at.is_ipv6()) {
        (true, _) => {}
        (false, true) => set_option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)?,
        (false, false) => set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO)?,
    }
    let (address, len) = Address::from_socket_addr(at);
    // SAFETY: `address` has room for either version, `len` is the size of this one, and both live until the call returns.
    check_int(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    if stream {
        // SAFETY: takes numbers only.
        check_int(unsafe { libc::listen(socket.as_raw_fd(), WAITING) })?;
    }
    Ok(socket)
}

/// Opens a raw socket that receives only ICMP errors about datagrams without a receiver.
///
/// [raw(7)](https://man7.org/linux/man-pages/man7/raw.7.html),
/// [RFC 3542](https://www.rfc-editor.org/rfc/rfc3542#section-3.2)
pub(crate) fn unreachable_datagrams(v6: bool) -> io::Result<OwnedFd> {
    // "Destination unreachable" is kind 3 in version 4 and 1 in version 6; a bit that is set keeps its kind away.
    const FILTER: c_int = 1;
    let (family, protocol, level) = if v6 {
        (libc::AF_INET6, libc::IPPROTO_ICMPV6, libc::IPPROTO_ICMPV6)
    } else {
        (libc::AF_INET, libc::IPPROTO_ICMP, libc::IPPROTO_RAW)
    };
    let kept_away: [u32; 8] = [if v6 { !(1 << 1) } else { !(1 << 3) }, !0, !0, !0, !0, !0, !0, !0];
    let words = if v6 { kept_away.len() } else { 1 };
    let len = libc::socklen_t::try_from(words * size_of::<u32>()).unwrap_or(0);
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
    let socket = owned(check_int(rc)?.into())?;
    // SAFETY: the kernel reads `len` bytes of `kept_away`, which is as long and lives until the call returns.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, FILTER, kept_away.as_ptr().cast(), len) };
    check_int(rc)?;
    Ok(socket)
}

/// Returns the source address of a datagram to `to`; an error where there is no route. Nothing is sent.
pub(crate) fn way_to(to: SocketAddr) -> io::Result<IpAddr> {
    let socket = internet_socket(to, false)?;
    let (address, len) = Address::from_socket_addr(to);
    // SAFETY: as in `listen`. Connecting a socket for datagrams only looks for a route.
    check_int(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    let mut own = Address::none();
    let mut len = libc::socklen_t::try_from(size_of::<Address>()).unwrap_or(0);
    // SAFETY: `own` has room for `len` bytes, and both live until the call returns.
    let rc = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut own).cast(), &raw mut len) };
    check_int(rc)?;
    Ok(own.ip(to.is_ipv6()))
}

/// A socket for connections or datagrams, of the version of an address.
///
/// [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html)
pub(crate) fn internet_socket(of: SocketAddr, stream: bool) -> io::Result<OwnedFd> {
    let family = if of.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let kind = if stream { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    owned(check_int(rc)?.into())
}

fn set_option(socket: BorrowedFd<'_>, level: c_int, option: c_int) -> io::Result<()> {
    let on: c_int = 1;
    let len = libc::socklen_t::try_from(size_of::<c_int>()).unwrap_or(0);
    // SAFETY: reads one `c_int`, which `on` is.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), len) };
    check_int(rc).map(drop)
}

/// An address as the kernel has it. Both begin with the family, so that either can be told from it.
#[repr(C)]
union Address {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Address {
    fn from_socket_addr(at: SocketAddr) -> (Self, libc::socklen_t) {
        let (address, len) = match at {
            SocketAddr::V4(at) => {
                let v4 = libc::sockaddr_in {
                    sin_family: FAMILY_V4,
                    sin_port: at.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(at.ip().octets()) },
                    sin_zero: [0; 8],
                };
                (Self { v4 }, size_of::<libc::sockaddr_in>())
            }
            SocketAddr::V6(at) => {
                let v6 = libc::sockaddr_in6 {
                    sin6_family: FAMILY_V6,
                    sin6_port: at.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: at.ip().octets() },
                    sin6_scope_id: 0,
                };
                (Self { v6 }, size_of::<libc::sockaddr_in6>())
            }
        };
        (address, libc::socklen_t::try_from(len).unwrap_or(0))
    }

    fn none() -> Self {
        Self::from_socket_addr(SocketAddr::from(([0; 16], 0))).0
    }

    /// The address, of the version that the socket has which said it.
    fn ip(&self, is_v6: bool) -> IpAddr {
        // SAFETY: every byte of it is set, and any bytes are valid for both.
        unsafe {
            if is_v6 {
                IpAddr::from(self.v6.sin6_addr.s6_addr)
            } else {
                IpAddr::from(self.v4.sin_addr.s_addr.to_ne_bytes())
            }
        }
    }
}

const FAMILY_V4: libc::sa_family_t = 2;

const FAMILY_V6: libc::sa_family_t = 10;

/// Connects a socket to an address as the kernel writes it.
///
/// [connect(2)](https://man7.org/linux/man-pages/man2/connect.2.html)
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let len =
        libc::socklen_t::try_from(address.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: the kernel copies `len` bytes of `address`.
    check_int(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), len) }).map(drop)
}

/// The family of a socket.
///
/// [socket(7)](https://man7.org/linux/man-pages/man7/socket.7.html), `SO_DOMAIN`
pub(crate) fn family(socket: BorrowedFd<'_>) -> io::Result<c_int> {
    let mut family: c_int = 0;
    let mut len = libc::socklen_t::try_from(size_of_val(&family)).unwrap_or_default();
    let number = socket.as_raw_fd();
    // SAFETY: `family` has room for the `len` bytes of an `int`.
    let rc = unsafe {
        libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_DOMAIN, (&raw mut family).cast(), &raw mut len)
    };
    check_int(rc).map(|_| family)
}
