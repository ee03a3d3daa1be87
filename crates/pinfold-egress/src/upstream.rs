//! Upstream connections: resolves a host outside the sandbox, checks its addresses, and connects.
//!
//! A name is resolved once per connection. Addresses on this machine or its networks are refused unless a rule allows
//! them, and the connection goes to an address of the same answer that was checked, so that DNS rebinding has no
//! effect.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use hickory_resolver::{ResolverBuilder, TokioResolver};
use pinfold_host::{AddressPolicy, AddressRule, Host, Name, SpecialPurpose};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::local_names::first_unreachable;
use crate::own_address::leads_here;
use crate::policy::EgressViolation;

/// The delay before the next address is tried in parallel.
/// [RFC 8305 §5](https://www.rfc-editor.org/rfc/rfc8305#section-5)
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The time limit for a connection, over all addresses.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Resolves and connects. The resolver's configuration is read when the first name is resolved.
#[derive(Default)]
pub(crate) struct Upstream {
    resolver: OnceLock<TokioResolver>,
}

/// Reason why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UpstreamError {
    /// An address of the host is not permitted.
    Refused(EgressViolation),
    /// DNS has no address, or no address accepts a connection.
    Unreachable(String),
}

impl Upstream {
    /// Connects to a host, at an address that `policy` permits.
    pub(crate) async fn connect(
        &self,
        host: &Host,
        port: u16,
        policy: &dyn AddressPolicy,
    ) -> Result<TcpStream, UpstreamError> {
        let addresses = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match policy.pinned_addresses(name) {
                Some(addresses) => addresses,
                None => self.resolve(name).await.map_err(UpstreamError::Unreachable)?,
            },
        };
        let addresses = permitted(host, &addresses, port, policy)?;
        let targets = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        let connected = timeout(CONNECT_TIMEOUT, connect_first(targets)).await;
        let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let unreachable = |e: io::Error| UpstreamError::Unreachable(e.to_string());
        let stream = stream.map_err(unreachable)?;
        let local = stream.local_addr().map_err(unreachable)?;
        let peer = stream.peer_addr().map_err(unreachable)?;
        // Before any byte is sent.
        if leads_here(local, peer) && policy.address_rule(peer.ip(), port) != AddressRule::Allowed {
            return Err(UpstreamError::Refused(EgressViolation::SpecialPurposeAddress(
                peer.ip(),
                SpecialPurpose::Loopback,
            )));
        }
        // No Nagle delay here: the client's own kernel has coalesced its writes already.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, String> {
        let resolver = if let Some(resolver) = self.resolver.get() {
            resolver
        } else {
            let built = TokioResolver::builder_tokio().and_then(ResolverBuilder::build);
            let built = built.map_err(|e| format!("no DNS resolver is configured: {e}"))?;
            self.resolver.get_or_init(|| built)
        };
        // The final dot excludes search domains: the name that was judged is the name that is resolved.
        match timeout(CONNECT_TIMEOUT, resolver.lookup_ip(format!("{name}."))).await {
            Ok(Ok(found)) => Ok(found.iter().collect()),
            Ok(Err(e)) if e.is_no_records_found() => Err("DNS has no address for it".to_owned()),
            Ok(Err(e)) => Err(format!("DNS lookup failed: {e}")),
            Err(_) => Err("DNS lookup timed out".to_owned()),
        }
    }
}

/// The addresses to try. One address that is not permitted refuses the whole name: among others it is an attack (DNS
/// rebinding) or a mistake.
fn permitted(
    host: &Host,
    addresses: &[IpAddr],
    port: u16,
    policy: &dyn AddressPolicy,
) -> Result<Vec<IpAddr>, UpstreamError> {
    if let Some(violation) = first_unreachable(host, addresses, port, policy) {
        return Err(UpstreamError::Refused(violation));
    }
    if addresses.is_empty() {
        return Err(UpstreamError::Unreachable("it has no address".to_owned()));
    }
    Ok(interleave_families(addresses.to_vec()))
}

/// Alternates between IPv6 and IPv4, beginning with the family of the first address (RFC 8305 §4).
fn interleave_families(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let first = addresses.first().is_none_or(IpAddr::is_ipv6);
    let (ours, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv6() == first);
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut interleaved = Vec::new();
    loop {
        let pair = [ours.next(), others.next()];
        if pair.iter().all(Option::is_none) || interleaved.len() >= MAX_ADDRESSES {
            interleaved.truncate(MAX_ADDRESSES);
            return interleaved;
        }
        interleaved.extend(pair.into_iter().flatten());
    }
}

/// Connects to the targets one after the other, each in parallel with those before it, and returns the first
/// connection.
async fn connect_first(targets: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut targets = targets.into_iter().peekable();
    loop {
        if let Some(target) = targets.next() {
            attempts.spawn(TcpStream::connect(target));
        }
        let wait = if targets.peek().is_some() { ATTEMPT_DELAY } else { CONNECT_TIMEOUT };
        match timeout(wait, attempts.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
            Ok(Some(Ok(Err(e)))) => last = e,
            Ok(Some(Err(e))) => last = io::Error::other(e),
            Ok(None) if targets.peek().is_none() => return Err(last),
            Ok(None) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Names(Vec<IpAddr>);

    impl AddressPolicy for Names {
        fn address_rule(&self, address: IpAddr, _: u16) -> AddressRule {
            match address.to_string().as_str() {
                "6.6.6.6" => AddressRule::Denied,
                "9.9.9.9" | "10.9.9.9" => AddressRule::Asked,
                _ if self.0.contains(&address) => AddressRule::Allowed,
                _ => AddressRule::Unlisted,
            }
        }

        fn pinned_addresses(&self, _: &Name) -> Option<Vec<IpAddr>> {
            None
        }
    }

    #[test]
    fn a_name_with_one_near_address_is_not_reached_at_all() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let no_rules = Names(Vec::new());
        let name = Host::parse("a.test").unwrap();
        let permitted_of = |texts: &[&str], policy: &Names| permitted(&name, &all(texts), 443, policy);
        assert!(matches!(
            permitted_of(&["8.8.8.8", "127.0.0.1"], &no_rules),
            Err(UpstreamError::Refused(EgressViolation::SpecialPurposeAddress(..)))
        ));
        assert!(matches!(
            permitted_of(&["8.8.8.8", "6.6.6.6"], &no_rules),
            Err(UpstreamError::Refused(EgressViolation::DeniedAddress(_)))
        ));
        assert!(matches!(permitted_of(&[], &no_rules), Err(UpstreamError::Unreachable(_))));
        let named = Names(all(&["10.0.0.5"]));
        assert_eq!(permitted_of(&["10.0.0.5"], &named), Ok(all(&["10.0.0.5"])));
        assert!(matches!(
            permitted_of(&["10.0.0.6"], &named),
            Err(UpstreamError::Refused(EgressViolation::SpecialPurposeAddress(..)))
        ));
    }

    #[test]
    fn an_address_that_a_rule_asks_about_is_opened_by_its_own_approval_alone() {
        let no_rules = Names(Vec::new());
        let permitted_as = |host: &str, address: &str| {
            permitted(&Host::parse(host).unwrap(), &[address.parse().unwrap()], 443, &no_rules)
        };
        assert!(permitted_as("9.9.9.9", "9.9.9.9").is_ok(), "it was approved by itself");
        let refused = |found| matches!(found, Err(UpstreamError::Refused(EgressViolation::AskedAddress(_))));
        assert!(refused(permitted_as("a.test", "9.9.9.9")), "by a name it was not");
        let near = permitted_as("10.9.9.9", "10.9.9.9");
        assert!(
            matches!(near, Err(UpstreamError::Refused(EgressViolation::SpecialPurposeAddress(..)))),
            "{near:?}"
        );
        assert!(permitted_as("a.test", "8.8.8.8").is_ok(), "the control");
    }

    #[test]
    fn address_families_are_interleaved() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
        let mixed = all(&["2606:4700::1", "2606:4700::2", "2606:4700::3", "8.8.8.8"]);
        let interleaved = all(&["2606:4700::1", "8.8.8.8", "2606:4700::2", "2606:4700::3"]);
        assert_eq!(interleave_families(mixed), interleaved);
    }
}
