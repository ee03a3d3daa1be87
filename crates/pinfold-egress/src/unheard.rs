//! Datagrams that nobody inside took, as the kernel tells of them. None leaves the run; this is for the record.
//!
//! Servers of the run's own take theirs, on whatever address, and are not told of. What is sent to loopback means a
//! process of the run, there or not.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::relay::Shared;

/// How many are looked at before a pause: whoever sends without end costs no more than this.
const MOST_AT_ONCE: usize = 64;

/// How many times that many are looked at when the run is over.
const AT_LAST: usize = 8;

/// How long a pause is.
const PAUSE: Duration = Duration::from_millis(100);

/// The port of our own answers to questions for names, which may come too late for whoever asked.
const NAMES: u16 = 53;

/// Where a datagram was sent to, and from which port.
#[derive(Debug, PartialEq, Eq)]
struct Datagram {
    to: IpAddr,
    port: u16,
    from: u16,
}

/// Tells of datagrams until the socket is gone.
pub(crate) async fn tell(socket: UdpSocket, shared: Arc<Shared>) {
    // Without it those that are lost are not counted.
    let _ = setsockopt(&socket, sockopt::RxqOvfl, &1);
    let mut lost = 0;
    loop {
        tokio::select! {
            looked = socket.async_io(Interest::READABLE, || look(&socket, &shared, &mut lost)) => {
                if !matches!(looked, Ok(count) if count < MOST_AT_ONCE) {
                    pause(&shared).await;
                }
            }
            () = shared.over() => {
                // Whether any wait may not have been told. The socket keeps no more than this.
                for _ in 0..AT_LAST {
                    if look(&socket, &shared, &mut lost).is_err() {
                        break;
                    }
                }
                return;
            }
        }
    }
}

async fn pause(shared: &Shared) {
    tokio::select! {
        () = tokio::time::sleep(PAUSE) => {}
        () = shared.over() => {}
    }
}

/// Looks at those that have come, so many at most. `lost`: how many did not fit, from the beginning.
fn look(socket: &UdpSocket, shared: &Shared, lost: &mut u32) -> io::Result<usize> {
    let is_v6 = socket.local_addr()?.is_ipv6();
    for count in 0..MOST_AT_ONCE {
        let mut bytes = [0; 256];
        let (len, all_lost) = match receive(socket, &mut bytes) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && count > 0 => return Ok(count),
            other => other?,
        };
        if let Some(all) = all_lost {
            shared.keeper.more_datagrams(u64::from(all.wrapping_sub(std::mem::replace(lost, all))));
        }
        let told = bytes.get(..len).unwrap_or_default();
        let datagram = if is_v6 { of_v6(told) } else { of_v4(told) };
        if let Some(Datagram { to, port, from }) = datagram.filter(Datagram::means_somebody_outside) {
            shared.keeper.datagram(&shared.host(to), port, from);
        }
    }
    Ok(MOST_AT_ONCE)
}

fn receive(socket: &UdpSocket, bytes: &mut [u8]) -> io::Result<(usize, Option<u32>)> {
    let mut space = nix::cmsg_space!(u32);
    let mut parts = [IoSliceMut::new(bytes)];
    let got = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_DONTWAIT)?;
    let lost = got.cmsgs()?.find_map(|told| match told {
        ControlMessageOwned::RxqOvfl(lost) => Some(lost),
        _ => None,
    });
    Ok((got.bytes, lost))
}

impl Datagram {
    fn means_somebody_outside(&self) -> bool {
        !self.to.to_canonical().is_loopback() && self.from != NAMES
    }

    /// From the first bytes of a datagram, which are its ports.
    fn new(to: IpAddr, protocol: u8, bytes: &[u8]) -> Option<Self> {
        const UDP: [u8; 2] = [17, 136];
        let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        UDP.contains(&protocol).then_some(())?;
        Some(Self { to, port: port(2)?, from: port(0)? })
    }
}

/// A packet of version 4 that holds an ICMP message, which holds the beginning of another packet.
/// [RFC 792](https://www.rfc-editor.org/rfc/rfc792)
fn of_v4(packet: &[u8]) -> Option<Datagram> {
    const UNREACHABLE: u8 = 3;
    const HEAD: usize = 8;
    let message = behind_head(packet)?;
    let inner = message.get(HEAD..).filter(|_| message.first() == Some(&UNREACHABLE))?;
    let to: [u8; 4] = inner.get(16..20)?.try_into().ok()?;
    Datagram::new(Ipv4Addr::from(to).into(), *inner.get(9)?, behind_head(inner)?)
}

/// What stands behind the head of a packet of version 4.
fn behind_head(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(packet.first()? & 0x0f);
    packet.get(words * 4..)
}

/// An ICMP message of version 6, which holds the beginning of a packet.
/// [RFC 4443](https://www.rfc-editor.org/rfc/rfc4443#section-3.1)
fn of_v6(message: &[u8]) -> Option<Datagram> {
    const UNREACHABLE: u8 = 1;
    const HEAD: usize = 8;
    let inner = message.get(HEAD..).filter(|_| message.first() == Some(&UNREACHABLE))?;
    let to: [u8; 16] = inner.get(24..40)?.try_into().ok()?;
    Datagram::new(Ipv6Addr::from(to).into(), *inner.get(6)?, inner.get(40..)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the kernel says it, of three bytes that were sent.
    const V4: &str = "45c0003b682700004001f1bb080808080808080803035ab8000000004500001f073240004011137d08080808080808088fc901bb000b203c787878";
    const V6: &str = "0104e99f00000000600acfd2000b11400000000000000000000000000000000120010db800000000000000000000000185eb01bb000b2dd7787878";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn where_a_datagram_was_sent_to_is_read() {
        let to = |to: &str, port, from| Some(Datagram { to: to.parse().unwrap(), port, from });
        assert_eq!(of_v4(&bytes(V4)), to("8.8.8.8", 443, 0x8fc9));
        assert_eq!(of_v6(&bytes(V6)), to("2001:db8::1", 443, 0x85eb));
    }

    #[test]
    fn the_runs_own_are_not_told_of() {
        for (to, from, expected) in [
            ("8.8.8.8", 4000, true),
            ("8.8.8.8", 53, false),
            ("127.1.2.3", 4000, false),
            ("::1", 4000, false),
            ("::ffff:127.0.0.1", 4000, false),
        ] {
            let datagram = Datagram { to: to.parse().unwrap(), port: 443, from };
            assert_eq!(datagram.means_somebody_outside(), expected, "{datagram:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(packet in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (of_v4(&packet), of_v6(&packet));
        }
    }
}
