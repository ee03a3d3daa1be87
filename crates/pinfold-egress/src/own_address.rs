//! Addresses of this machine: services that listen on every interface are reached by them as by loopback, whichever block they
//! are from.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use pinfold_host::{SpecialPurpose, classify_special_purpose};

/// Why an address needs a rule that names it: its block, or because this machine has it.
pub(crate) fn classify_reached(address: IpAddr) -> Option<SpecialPurpose> {
    classify_special_purpose(address).or_else(|| is_own(address).then_some(SpecialPurpose::Loopback))
}

/// Returns whether a connection leads to this machine: its two ends have the same address then. For machines on which
/// [`is_own`] cannot tell.
pub(crate) fn leads_here(local: SocketAddr, peer: SocketAddr) -> bool {
    local.ip().to_canonical() == peer.ip().to_canonical()
}

/// Returns whether this machine has an address. False where any address can be bound (`ip_nonlocal_bind`).
fn is_own(address: IpAddr) -> bool {
    let of_no_machine = match address.to_canonical() {
        // Addresses for documentation (RFC 5737, RFC 3849).
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    };
    may_be_bound(address.to_canonical()) && !may_be_bound(of_no_machine)
}

/// An error other than that nothing has this address leaves it open.
fn may_be_bound(address: IpAddr) -> bool {
    !UdpSocket::bind((address, 0)).is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_told_from_others() {
        for own in ["127.0.0.1", "127.8.7.6", "::ffff:127.0.0.1"] {
            assert!(is_own(own.parse().unwrap()), "{own}");
        }
        for other in ["8.8.8.8", "192.0.2.7", "::ffff:8.8.8.8"] {
            assert!(!is_own(other.parse().unwrap()), "{other}");
        }
        // The address of an interface, where there is one.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("8.8.8.8:53").is_ok() {
            assert!(is_own(socket.local_addr().unwrap().ip()));
        }
        assert_eq!(classify_reached("8.8.8.8".parse().unwrap()), None);
    }

    #[test]
    fn a_connection_to_this_machine_has_one_address_at_both_ends() {
        let leads = |local: &str, peer: &str| leads_here(local.parse().unwrap(), peer.parse().unwrap());
        assert!(leads("11.22.33.44:50000", "11.22.33.44:80"));
        assert!(leads("[::ffff:11.22.33.44]:50000", "11.22.33.44:80"));
        assert!(!leads("10.0.0.2:50000", "11.22.33.44:80"));
    }
}
