//! Rules about sockets: which there are, and what is done with one that was handed in.

use libc::{c_int, c_long};

use super::program::{Action, Rule, Test, always};
use super::{Backing, EACCES, SEEN, SEEN_AND_REFUSED};
use crate::profile::{Network, Profile};

/// Socket families: the internet's where there is a network (or a private loopback), routing tables, and
/// `AF_UNIX` by name only. Everything uncommon is closed: it is attack surface that no build needs.
pub(super) fn sockets(profile: &Profile, backing: Backing) -> Vec<Rule> {
    let family = |f: c_int| Test::Equals(0, f.cast_unsigned());
    let mut tests = Vec::new();
    let both = [libc::AF_INET, libc::AF_INET6];
    match (&profile.network, backing) {
        (Network::Host, _) | (Network::Off, Backing::Namespaces) => {
            tests.extend(both.map(|of| (family(of), Action::Allow)));
        }
        // What a relay carries, and what names are asked by.
        (Network::Relayed(_), Backing::Namespaces) => {
            for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
                tests.extend(both.map(|of| (Test::Socket(of, kind), Action::Allow)));
            }
        }
        // No namespace to be alone in: no socket at all, or one that the supervisor hands out.
        (Network::Off | Network::Relayed(_), Backing::Landlock) | (Network::Proxied(_), _) => {
            tests.extend(both.map(|of| (family(of), SEEN_AND_REFUSED)));
        }
    }
    let local = if profile.openings.unix_sockets { Action::Allow } else { SEEN_AND_REFUSED };
    tests.push((family(libc::AF_UNIX), local));
    let pairs = if profile.openings.unix_sockets {
        vec![(family(libc::AF_UNIX), Action::Allow)]
    } else {
        // An end that carries datagrams sends them to any address (SOCK_RAW means the same); the others only to each other.
        [libc::SOCK_STREAM, libc::SOCK_SEQPACKET]
            .map(|kind| (Test::Socket(libc::AF_UNIX, kind), Action::Allow))
            .into()
    };
    let mut rules = vec![Rule { number: libc::SYS_socketpair, tests: pairs, otherwise: EACCES }];
    // `getifaddrs` and `ip addr` speak NETLINK_ROUTE, as nearly every program does; all other protocols are closed.
    let route = if backing == Backing::Namespaces || profile.network == Network::Host {
        Action::Allow
    } else {
        EACCES
    };
    let routes = [(0, libc::AF_NETLINK.cast_unsigned()), (2, libc::NETLINK_ROUTE.cast_unsigned())];
    tests.push((Test::Both(routes), route));
    rules.push(Rule { number: libc::SYS_socket, tests, otherwise: SEEN_AND_REFUSED });
    // Elsewhere none can be reached, and those that are tried are named.
    let declared =
        !profile.sockets.is_empty() && backing == Backing::Namespaces && profile.network != Network::Host;
    let names_sockets = !profile.openings.unix_sockets && !declared;
    if names_sockets && !matches!(profile.network, Network::Proxied(_)) {
        rules.push(always(libc::SYS_bind, SEEN));
    }
    match profile.network {
        Network::Host if names_sockets => rules.push(always(libc::SYS_connect, SEEN)),
        Network::Host => {}
        // Where no network of its own keeps a process from the real one, no `connect` is ever the kernel's to carry out.
        Network::Proxied(_) => rules.push(always(libc::SYS_connect, SEEN_AND_REFUSED)),
        Network::Off | Network::Relayed(_) => rules.push(always(libc::SYS_connect, SEEN)),
    }
    rules
}

/// Rules against reuse of a connected socket of the real network: another peer, a server, another route.
pub(super) fn of_handed_sockets() -> Vec<Rule> {
    let fast_open = libc::MSG_FASTOPEN.cast_unsigned();
    let sending = |number, flags| {
        let tests = vec![(Test::AnyOf(flags, fast_open), Action::Refuse(libc::EOPNOTSUPP))];
        Rule { number, tests, otherwise: Action::Allow }
    };
    let harmless = HARMLESS_OPTIONS.iter().flat_map(|(level, options)| {
        let both = |option: &c_int| Test::Both([(1, level.cast_unsigned()), (2, option.cast_unsigned())]);
        options.iter().map(move |option| (both(option), Action::Allow))
    });
    vec![
        always(libc::SYS_bind, SEEN_AND_REFUSED),
        always(libc::SYS_listen, EACCES),
        sending(libc::SYS_sendto, 3),
        sending(libc::SYS_sendmsg, 2),
        sending(libc::SYS_sendmmsg, 3),
        Rule {
            number: libc::SYS_setsockopt,
            tests: harmless.collect(),
            otherwise: Action::Refuse(libc::ENOPROTOOPT),
        },
    ]
}

/// Options that change how a connection behaves, and never where its packets go: IP options, routing headers and devices
/// do that, also of a socket that is connected.
const HARMLESS_OPTIONS: [(c_int, &[c_int]); 4] = [
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_REUSEADDR,
            libc::SO_REUSEPORT,
            libc::SO_SNDBUF,
            libc::SO_RCVBUF,
            libc::SO_KEEPALIVE,
            libc::SO_OOBINLINE,
            libc::SO_LINGER,
            libc::SO_RCVLOWAT,
            libc::SO_RCVTIMEO,
            libc::SO_SNDTIMEO,
            libc::SO_PASSCRED,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_CORK,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
            libc::TCP_SYNCNT,
            libc::TCP_QUICKACK,
            libc::TCP_USER_TIMEOUT,
            libc::TCP_NOTSENT_LOWAT,
        ],
    ),
    (libc::IPPROTO_IP, &[libc::IP_TOS]),
    (libc::IPPROTO_IPV6, &[libc::IPV6_V6ONLY, libc::IPV6_TCLASS]),
];

// Of socket(7), which the C library does not number everywhere.
pub(super) const SO_PASSPIDFD: u32 = 76;

pub(super) const SO_PEERPIDFD: u32 = 77;

pub(super) fn of_option(number: c_long, option: u32) -> Rule {
    let level = libc::SOL_SOCKET.cast_unsigned();
    let tests = vec![(Test::Both([(1, level), (2, option)]), Action::Refuse(libc::ENOPROTOOPT))];
    Rule { number, tests, otherwise: Action::Allow }
}
