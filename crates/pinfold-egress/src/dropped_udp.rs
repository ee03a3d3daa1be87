//! Datagrams to other hosts, which the kernel drops and reports by ICMP. They are recorded, so that the user learns why
//! a program fails.
//!
//! Datagrams that a process of the run received, and those to loopback, are not reported.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::state::RelayState;

/// Datagrams that are read before a pause: a process that floods costs no more than this.
const BATCH: usize = 64;

/// Batches that are read when the run has ended.
const LAST_BATCHES: usize = 8;

/// The pause between full batches.
const PAUSE: Duration = Duration::from_millis(100);

/// The source port of the DNS server inside, whose late responses may find no receiver.
const DNS_PORT: u16 = 53;

/// The target and source port of a dropped datagram.
#[derive(Debug, PartialEq, Eq)]
struct DroppedDatagram {
    to: IpAddr,
    port: u16,
    source_port: u16,
}

/// Reports dropped datagrams until the run has ended.
pub(crate) async fn report(socket: UdpSocket, state: Arc<RelayState>) {
    // Without this option the kernel does not count what overflows the socket's queue.
    let _ = setsockopt(&socket, sockopt::RxqOvfl, &1);
    let mut lost = 0;
    loop {
        tokio::select! {
            read = socket.async_io(Interest::READABLE, || read_batch(&socket, &state, &mut lost)) => {
                if !matches!(read, Ok(count) if count < BATCH) {
                    pause(&state).await;
                }
            }
            () = state.wait_for_end() => {
                // The runtime may not have been notified of queued messages. The socket's queue holds no more than
                // this.
                for _ in 0..LAST_BATCHES {
                    if read_batch(&socket, &state, &mut lost).is_err() {
                        break;
                    }
                }
                return;
            }
        }
    }
}

async fn pause(state: &RelayState) {
    tokio::select! {
        () = tokio::time::sleep(PAUSE) => {}
        () = state.wait_for_end() => {}
    }
}

/// Reads up to one batch of messages. `lost`: the kernel's count of messages that did not fit, since the start.
fn read_batch(socket: &UdpSocket, state: &RelayState, lost: &mut u32) -> io::Result<usize> {
    let is_v6 = socket.local_addr()?.is_ipv6();
    for count in 0..BATCH {
        let mut bytes = [0; 256];
        let (len, all_lost) = match receive(socket, &mut bytes) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && count > 0 => return Ok(count),
            other => other?,
        };
        if let Some(all) = all_lost {
            state.policy.report_lost_datagrams(u64::from(all.wrapping_sub(std::mem::replace(lost, all))));
        }
        let message = bytes.get(..len).unwrap_or_default();
        let datagram = if is_v6 { parse_icmp_v6(message) } else { parse_icmp_v4(message) };
        if let Some(DroppedDatagram { to, port, source_port }) =
            datagram.filter(DroppedDatagram::is_for_another_host)
        {
            state.policy.report_datagram(&state.host_at(to), port, source_port);
        }
    }
    Ok(BATCH)
}

fn receive(socket: &UdpSocket, bytes: &mut [u8]) -> io::Result<(usize, Option<u32>)> {
    let mut space = nix::cmsg_space!(u32);
    let mut parts = [IoSliceMut::new(bytes)];
    let got = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_DONTWAIT)?;
    let lost = got.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::RxqOvfl(lost) => Some(lost),
        _ => None,
    });
    Ok((got.bytes, lost))
}

impl DroppedDatagram {
    fn is_for_another_host(&self) -> bool {
        !self.to.to_canonical().is_loopback() && self.source_port != DNS_PORT
    }

    /// Parses the UDP header, which the ICMP message quotes.
    fn new(to: IpAddr, protocol: u8, bytes: &[u8]) -> Option<Self> {
        const UDP: [u8; 2] = [17, 136];
        let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        UDP.contains(&protocol).then_some(())?;
        Some(Self { to, port: port(2)?, source_port: port(0)? })
    }
}

/// Parses an ICMP message in an IPv4 packet, which quotes the beginning of the dropped packet.
/// [RFC 792](https://www.rfc-editor.org/rfc/rfc792)
fn parse_icmp_v4(packet: &[u8]) -> Option<DroppedDatagram> {
    const UNREACHABLE: u8 = 3;
    const HEADER: usize = 8;
    let message = ipv4_payload(packet)?;
    let inner = message.get(HEADER..).filter(|_| message.first() == Some(&UNREACHABLE))?;
    let to: [u8; 4] = inner.get(16..20)?.try_into().ok()?;
    DroppedDatagram::new(Ipv4Addr::from(to).into(), *inner.get(9)?, ipv4_payload(inner)?)
}

/// The payload of an IPv4 packet.
fn ipv4_payload(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(packet.first()? & 0x0f);
    packet.get(words * 4..)
}

/// Parses an `ICMPv6` message, which quotes the beginning of the dropped packet.
/// [RFC 4443 §3.1](https://www.rfc-editor.org/rfc/rfc4443#section-3.1)
fn parse_icmp_v6(message: &[u8]) -> Option<DroppedDatagram> {
    const UNREACHABLE: u8 = 1;
    const HEADER: usize = 8;
    let inner = message.get(HEADER..).filter(|_| message.first() == Some(&UNREACHABLE))?;
    let to: [u8; 16] = inner.get(24..40)?.try_into().ok()?;
    DroppedDatagram::new(Ipv6Addr::from(to).into(), *inner.get(6)?, inner.get(40..)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Recorded from the kernel, for a datagram of three bytes.
    const V4: &str = "45c0003b682700004001f1bb080808080808080803035ab8000000004500001f073240004011137d08080808080808088fc901bb000b203c787878";
    const V6: &str = "0104e99f00000000600acfd2000b11400000000000000000000000000000000120010db800000000000000000000000185eb01bb000b2dd7787878";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn the_target_of_a_datagram_is_parsed() {
        let to =
            |to: &str, port, from| Some(DroppedDatagram { to: to.parse().unwrap(), port, source_port: from });
        assert_eq!(parse_icmp_v4(&bytes(V4)), to("8.8.8.8", 443, 0x8fc9));
        assert_eq!(parse_icmp_v6(&bytes(V6)), to("2001:db8::1", 443, 0x85eb));
    }

    #[test]
    fn datagrams_of_the_run_are_not_reported() {
        for (to, from, expected) in [
            ("8.8.8.8", 4000, true),
            ("8.8.8.8", 53, false),
            ("127.1.2.3", 4000, false),
            ("::1", 4000, false),
            ("::ffff:127.0.0.1", 4000, false),
        ] {
            let datagram = DroppedDatagram { to: to.parse().unwrap(), port: 443, source_port: from };
            assert_eq!(datagram.is_for_another_host(), expected, "{datagram:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(packet in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (parse_icmp_v4(&packet), parse_icmp_v6(&packet));
        }
    }
}
