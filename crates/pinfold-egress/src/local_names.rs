//! Addresses of a host that are known without a DNS query, and those of them to which no connection may lead.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use hickory_resolver::Hosts;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name as DnsName, RecordType};
use pinfold_host::{AddressPolicy, AddressRule, Host, Name};

use crate::own_address::classify_reached;
use crate::policy::HostMismatch;

/// Names that this machine resolves by itself: those of `/etc/hosts`, read when the first one is looked up as the resolver
/// does, and the names of loopback.
#[derive(Debug, Default)]
pub struct LocalNames {
    file: OnceLock<Hosts>,
}

impl LocalNames {
    /// Returns the addresses of a host that are known without a query: its own, those that `policy` pins, those of this
    /// machine's file, those of loopback. Empty where only DNS could tell.
    pub fn addresses(&self, host: &Host, policy: &dyn AddressPolicy) -> Vec<IpAddr> {
        match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => policy.pinned_addresses(name).unwrap_or_else(|| self.addresses_of_name(name)),
        }
    }

    fn addresses_of_name(&self, name: &Name) -> Vec<IpAddr> {
        let listed = self.listed(name);
        if listed.is_empty() && is_loopback(name) {
            return vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        }
        listed
    }

    fn listed(&self, name: &Name) -> Vec<IpAddr> {
        let file = self.file.get_or_init(|| Hosts::from_system().unwrap_or_default());
        let Ok(name) = DnsName::from_ascii(format!("{name}.")) else { return Vec::new() };
        let lookup = |kind| file.lookup_static_host(&Query::query(name.clone(), kind));
        let found = [RecordType::A, RecordType::AAAA].into_iter().filter_map(lookup);
        found
            .flat_map(|lookup| {
                lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// Returns whether a name stands for loopback. Resolvers answer it themselves.
/// [RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)
fn is_loopback(name: &Name) -> bool {
    name.as_str() == "localhost" || name.as_str().ends_with(".localhost")
}

/// Returns the first address of a host that no approval of that host opens.
pub fn first_unreachable(
    host: &Host,
    addresses: &[IpAddr],
    port: u16,
    policy: &dyn AddressPolicy,
) -> Option<HostMismatch> {
    addresses.iter().find_map(|address| unreachable(host, *address, port, policy))
}

fn unreachable(host: &Host, address: IpAddr, port: u16, policy: &dyn AddressPolicy) -> Option<HostMismatch> {
    match (policy.address_rule(address, port), classify_reached(address), host) {
        (AddressRule::Denied, ..) => Some(HostMismatch::DeniedAddress(address)),
        (AddressRule::Unlisted | AddressRule::Asked, Some(near), _) => {
            Some(HostMismatch::NearAddress(address, near))
        }
        (AddressRule::Asked, None, Host::Name(_)) => Some(HostMismatch::AskedAddress(address)),
        // What was decided about is the address itself.
        (AddressRule::Asked, None, Host::Address(_))
        | (AddressRule::Allowed, ..)
        | (AddressRule::Unlisted, None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str, name: &str) -> Vec<String> {
        let mut hosts = Hosts::default();
        hosts.read_hosts_conf(text.as_bytes()).unwrap();
        let names = LocalNames { file: OnceLock::from(hosts) };
        names.addresses_of_name(&Name::parse(name).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_that_need_no_query_have_their_addresses() {
        let file = "127.0.0.1 localhost\n10.9.8.7 Listed.test other.test # near\nfd00::7 listed.test\n";
        assert_eq!(known(file, "listed.test"), ["10.9.8.7", "fd00::7"]);
        assert_eq!(known(file, "other.test"), ["10.9.8.7"]);
        assert_eq!(known(file, "localhost"), ["127.0.0.1"]);
        for loopback in ["localhost", "a.b.localhost"] {
            assert_eq!(known("", loopback), ["127.0.0.1", "::1"], "{loopback}");
        }
        for of_dns in ["unlisted.test", "a.listed.test", "notlocalhost", "localhost.test"] {
            assert!(known(file, of_dns).is_empty(), "{of_dns}");
        }
    }
}
