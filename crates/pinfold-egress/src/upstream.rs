//! The other side: where a name really is, and a connection there.
//!
//! A name is resolved here, outside, once for each connection; every address that lies near is left out unless a rule
//! names it; the connection goes to an address that was looked at. A name that leads elsewhere the next moment leads
//! nobody anywhere.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use hickory_resolver::{ResolverBuilder, TokioResolver};
use pinfold_host::{Host, Leads, Map, Name, near};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::doorkeeper::Mismatch;

/// How long one address is tried before the next one is tried beside it.
/// [RFC 8305](https://www.rfc-editor.org/rfc/rfc8305#section-5)
const STAGGER: Duration = Duration::from_millis(250);

/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many addresses of a name are tried.
const MOST_ADDRESSES: usize = 8;

/// Finds hosts. Whom this machine asks for names is found out when the first is asked for.
#[derive(Default)]
pub(crate) struct Upstream {
    resolver: OnceLock<TokioResolver>,
}

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// It leads where it may not.
    Refused(Mismatch),
    /// The name has no address, or nobody answers there.
    Unreachable(String),
}

impl Upstream {
    /// Connects to a host.
    pub(crate) async fn connect(&self, host: &Host, port: u16, map: &dyn Map) -> Result<TcpStream, Apart> {
        let addresses = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match map.pinned(name) {
                Some(addresses) => addresses,
                None => self.resolve(name).await.map_err(Apart::Unreachable)?,
            },
        };
        let addresses = far(&addresses, port, map)?;
        let places = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        let connected = timeout(PATIENCE, race(places)).await;
        let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(|e| Apart::Unreachable(e.to_string()))?;
        // Small writes go out as they come; whoever is inside has decided about that already.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, String> {
        let resolver = if let Some(resolver) = self.resolver.get() {
            resolver
        } else {
            let built = TokioResolver::builder_tokio().and_then(ResolverBuilder::build);
            let built = built.map_err(|e| format!("this machine has no name server: {e}"))?;
            self.resolver.get_or_init(|| built)
        };
        // With the dot no search domain is tried: the name that is judged is the name that is asked for.
        match timeout(PATIENCE, resolver.lookup_ip(format!("{name}."))).await {
            Ok(Ok(found)) => Ok(found.iter().collect()),
            Ok(Err(e)) if e.is_no_records_found() => Err("no name server knows an address of it".to_owned()),
            Ok(Err(e)) => Err(format!("its address could not be looked up: {e}")),
            Err(_) => Err("no name server answers".to_owned()),
        }
    }
}

/// The addresses to try; an error when one of them may not be reached. One such address among others is an attack or a
/// mistake: the name is not trusted at all then.
fn far(addresses: &[IpAddr], port: u16, map: &dyn Map) -> Result<Vec<IpAddr>, Apart> {
    for address in addresses {
        match (map.leads(*address, port), near(*address)) {
            (Leads::Forbidden, _) => return Err(Apart::Refused(Mismatch::Forbidden(*address))),
            (Leads::Unnamed, Some(near)) => return Err(Apart::Refused(Mismatch::Near(*address, near))),
            (Leads::Named, _) | (Leads::Unnamed, None) => {}
        }
    }
    if addresses.is_empty() {
        return Err(Apart::Unreachable("it has no address".to_owned()));
    }
    Ok(taking_turns(addresses.to_vec()))
}

/// Addresses of version 6 and 4 in turn, the first family first.
fn taking_turns(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let first = addresses.first().is_none_or(IpAddr::is_ipv6);
    let (ours, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv6() == first);
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut turns = Vec::new();
    loop {
        let pair = [ours.next(), others.next()];
        if pair.iter().all(Option::is_none) || turns.len() >= MOST_ADDRESSES {
            turns.truncate(MOST_ADDRESSES);
            return turns;
        }
        turns.extend(pair.into_iter().flatten());
    }
}

/// Tries one place after the other, each beside those before it, and takes the first that answers.
async fn race(places: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut tries = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut places = places.into_iter().peekable();
    loop {
        if let Some(place) = places.next() {
            tries.spawn(TcpStream::connect(place));
        }
        let wait = if places.peek().is_some() { STAGGER } else { PATIENCE };
        match timeout(wait, tries.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
            Ok(Some(Ok(Err(e)))) => last = e,
            Ok(Some(Err(e))) => last = io::Error::other(e),
            Ok(None) if places.peek().is_none() => return Err(last),
            Ok(None) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Names(Vec<IpAddr>);

    impl Map for Names {
        fn leads(&self, address: IpAddr, _: u16) -> Leads {
            match address.to_string().as_str() {
                "6.6.6.6" => Leads::Forbidden,
                _ if self.0.contains(&address) => Leads::Named,
                _ => Leads::Unnamed,
            }
        }

        fn pinned(&self, _: &Name) -> Option<Vec<IpAddr>> {
            None
        }
    }

    #[test]
    fn a_name_with_one_near_address_is_not_reached_at_all() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let nobody = Names(Vec::new());
        let far = |texts: &[&str], keeper: &Names| far(&all(texts), 443, keeper);
        assert!(matches!(far(&["8.8.8.8", "127.0.0.1"], &nobody), Err(Apart::Refused(Mismatch::Near(..)))));
        assert!(matches!(far(&["8.8.8.8", "6.6.6.6"], &nobody), Err(Apart::Refused(Mismatch::Forbidden(_)))));
        assert!(matches!(far(&[], &nobody), Err(Apart::Unreachable(_))));
        let named = Names(all(&["10.0.0.5"]));
        assert_eq!(far(&["10.0.0.5"], &named), Ok(all(&["10.0.0.5"])));
        assert!(matches!(far(&["10.0.0.6"], &named), Err(Apart::Refused(Mismatch::Near(..)))));
    }

    #[test]
    fn families_take_turns() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let mixed = all(&["2606:4700::1", "2606:4700::2", "2606:4700::3", "8.8.8.8"]);
        let turns = all(&["2606:4700::1", "8.8.8.8", "2606:4700::2", "2606:4700::3"]);
        assert_eq!(taking_turns(mixed), turns);
    }
}
