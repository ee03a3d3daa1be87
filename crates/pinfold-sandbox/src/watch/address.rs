//! Addresses and kinds of sockets, as a caller wrote them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use super::file_call::int;
use crate::sys::{self, Pid};

/// Names a kind of socket by its family, and raw ones of the internet by that.
pub(super) fn kind_of_socket(family: u64, kind: u64) -> PathBuf {
    const KIND: u64 = 0xf;
    let name = match (int(family), int(kind & KIND)) {
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_RAW) => "raw",
        (libc::AF_INET | libc::AF_INET6, _) => "internet",
        (libc::AF_UNIX, _) => "unix",
        (libc::AF_NETLINK, _) => "netlink",
        (libc::AF_PACKET, _) => "packet",
        (libc::AF_VSOCK, _) => "vsock",
        (libc::AF_ALG, _) => "alg",
        (libc::AF_BLUETOOTH, _) => "bluetooth",
        (libc::AF_CAN, _) => "can",
        (libc::AF_KEY, _) => "key",
        (libc::AF_RDS, _) => "rds",
        (libc::AF_TIPC, _) => "tipc",
        (libc::AF_XDP, _) => "xdp",
        (other, _) => return format!("family {other}").into(),
    };
    name.into()
}

/// Reads the bytes of an address of the internet, once.
pub(super) fn address(pid: Pid, at: u64, len: u64) -> Option<Vec<u8>> {
    let mut raw = vec![0; usize::try_from(len).ok()?.min(size_of::<libc::sockaddr_in6>())];
    let read = sys::read_memory(pid, at, &mut raw).ok()?;
    raw.truncate(read);
    Some(raw)
}

/// An address outside this machine, for the record. Others are the process's own business.
pub(super) fn network_place(raw: &[u8]) -> Option<PathBuf> {
    let to = internet_address(raw)?;
    (!to.ip().is_loopback() && !to.ip().is_unspecified()).then(|| PathBuf::from(to.to_string()))
}

/// An address of the internet as the kernel takes it (`struct sockaddr_in`, `sockaddr_in6`).
pub(super) fn internet_address(raw: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes([*raw.first()?, *raw.get(1)?]));
    let port = u16::from_be_bytes([*raw.get(2)?, *raw.get(3)?]);
    let ip: IpAddr = match family {
        libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(raw.get(4..8)?).ok()?).into(),
        libc::AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(raw.get(8..24)?).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}
