//! Ports of a run that are published on this machine's loopback. Taken before the command starts, so that nothing of it has
//! run when one cannot be had.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use pinfold_boundary::{Network, PortForward};

use crate::args::Listen;
use crate::exit::{Failure, USAGE};

/// Most ports that one run can publish.
const MAX_PORTS: usize = 16;

/// Listens on this machine, at both of its own addresses and at no other.
pub(super) fn listen(all: &[Listen], network: &Network) -> Result<Vec<PortForward>, Failure> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    if *network == Network::Host {
        let message = "--listen publishes ports of a network inside, and this run has that of the machine";
        return Err(
            Failure::new(USAGE, message).mend("leave --listen out: a server inside can be reached as it is")
        );
    }
    if all.len() > MAX_PORTS {
        return Err(Failure::new(USAGE, format!("at most {MAX_PORTS} ports can be published (--listen)")));
    }
    all.iter().map(|wish| Ok(PortForward { listeners: bound(*wish)?, port: wish.inside })).collect()
}

fn bound(wish: Listen) -> Result<Vec<TcpListener>, Failure> {
    let at = |address: IpAddr| TcpListener::bind(SocketAddr::new(address, wish.outside));
    let v4 = at(Ipv4Addr::LOCALHOST.into()).map_err(|error| not_had(wish, &error))?;
    match at(Ipv6Addr::LOCALHOST.into()) {
        Ok(v6) => Ok(vec![v4, v6]),
        Err(error) if is_missing_family(&error) => Ok(vec![v4]),
        // The process that has the IPv6 port would answer some of the clients of `localhost`.
        Err(error) => Err(not_had(wish, &error)),
    }
}

fn is_missing_family(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL))
}

fn not_had(Listen { outside, inside }: Listen, error: &io::Error) -> Failure {
    let (why, other) = match error.kind() {
        ErrorKind::AddrInUse => {
            ("another program listens there".to_owned(), outside.checked_add(1).unwrap_or(8080))
        }
        ErrorKind::PermissionDenied => ("ports below 1024 are for the superuser".to_owned(), 8080),
        _ => (error.to_string(), 8080),
    };
    Failure::new(USAGE, format!("port {outside} of this machine cannot be had: {why}"))
        .mend(format!("choose another one for it: --listen {other}:{inside}"))
}
