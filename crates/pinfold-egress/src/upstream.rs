//! The other side: where a name really is, and a connection there.
//!
//! A name is resolved here, outside, once for each connection; every address that lies near is left out unless a rule
//! names it; the connection goes to an address that was looked at. A name that leads elsewhere the next moment leads
//! nobody anywhere.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::address::{Near, near};
use crate::doorkeeper::{Doorkeeper, Mismatch};
use crate::name::{Host, Name};

/// How long one address is tried before the next one is tried beside it.
/// [RFC 8305](https://www.rfc-editor.org/rfc/rfc8305#section-5)
const STAGGER: Duration = Duration::from_millis(250);

/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many addresses of a name are tried.
const MOST_ADDRESSES: usize = 8;

/// Finds hosts.
pub(crate) struct Upstream {
    resolver: TokioResolver,
}

impl Upstream {
    /// Asks the name servers that this machine asks.
    pub(crate) fn new() -> io::Result<Self> {
        let builder = TokioResolver::builder_tokio().map_err(io::Error::other)?;
        Ok(Self { resolver: builder.build().map_err(io::Error::other)? })
    }

    /// Connects to a host.
    pub(crate) async fn connect(
        &self,
        host: &Host,
        port: u16,
        keeper: &dyn Doorkeeper,
    ) -> Result<TcpStream, Mismatch> {
        let addresses = match host {
            Host::Address(address) => far(&[*address], keeper)?,
            Host::Name(name) => far(&self.resolve(name).await?, keeper)?,
        };
        let places = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        let connected = timeout(PATIENCE, race(places)).await;
        let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(|e| Mismatch::Unreachable(e.to_string()))?;
        // Small writes go out as they come; whoever is inside has decided about that already.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, Mismatch> {
        // With the dot no search domain is tried: the name that is judged is the name that is asked for.
        let found = timeout(PATIENCE, self.resolver.lookup_ip(format!("{name}."))).await;
        match found {
            Ok(Ok(found)) => Ok(found.iter().collect()),
            Ok(Err(e)) => Err(Mismatch::Unreachable(format!("its address is not known: {e}"))),
            Err(_) => Err(Mismatch::Unreachable("no name server answers".to_owned())),
        }
    }
}

/// The addresses that may be reached; when there is none, why.
fn far(addresses: &[IpAddr], keeper: &dyn Doorkeeper) -> Result<Vec<IpAddr>, Mismatch> {
    let mut kept_back: Option<(IpAddr, Near)> = None;
    let mut far = Vec::with_capacity(addresses.len());
    for address in addresses {
        match near(*address) {
            Some(near) if !keeper.names(*address) => kept_back = Some((*address, near)),
            Some(_) | None => far.push(*address),
        }
    }
    match kept_back {
        // One near address among others is an attack or a mistake: the name is not trusted at all.
        Some((address, near)) => Err(Mismatch::Near(address, near)),
        None if far.is_empty() => Err(Mismatch::Unreachable("it has no address".to_owned())),
        None => Ok(taking_turns(far)),
    }
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
    use crate::doorkeeper::{Ask, No, Opened};
    use crate::stream::Passed;

    #[derive(Debug)]
    struct Names(Vec<IpAddr>);

    impl Doorkeeper for Names {
        fn knows(&self, _: &Name) -> bool {
            true
        }

        fn open(&self, _: &Ask) -> Opened {
            Opened::Yes
        }

        fn names(&self, address: IpAddr) -> bool {
            self.0.contains(&address)
        }

        fn mismatch(&self, _: &Ask, _: &Mismatch) -> No {
            No { id: String::new(), message: String::new() }
        }

        fn ended(&self, _: &Ask, _: Passed) {}
    }

    #[test]
    fn a_name_with_one_near_address_is_not_reached_at_all() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let nobody = Names(Vec::new());
        assert!(matches!(far(&all(&["8.8.8.8", "127.0.0.1"]), &nobody), Err(Mismatch::Near(..))));
        assert!(matches!(far(&[], &nobody), Err(Mismatch::Unreachable(_))));
        let named = Names(all(&["10.0.0.5"]));
        assert_eq!(far(&all(&["10.0.0.5"]), &named), Ok(all(&["10.0.0.5"])));
        assert!(matches!(far(&all(&["10.0.0.6"]), &named), Err(Mismatch::Near(..))));
    }

    #[test]
    fn families_take_turns() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let mixed = all(&["2606:4700::1", "2606:4700::2", "2606:4700::3", "8.8.8.8"]);
        let turns = all(&["2606:4700::1", "8.8.8.8", "2606:4700::2", "2606:4700::3"]);
        assert_eq!(taking_turns(mixed), turns);
    }
}
