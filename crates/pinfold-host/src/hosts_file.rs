//! Addresses of a host that are known without a DNS query, and those of them to which no approval of the host opens a
//! connection.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::address::SpecialPurpose;
use crate::address_policy::{AddressPolicy, AddressRule};
use crate::name::{Host, Name};

/// Names with their addresses, as a hosts file has them.
/// [hosts(5)](https://man7.org/linux/man-pages/man5/hosts.5.html)
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostsFile(BTreeMap<Name, Vec<IpAddr>>);

impl HostsFile {
    /// The path of this machine's hosts file.
    pub const PATH: &str = "/etc/hosts";

    /// Parses a hosts file. What is no line of one is left out.
    pub fn parse(text: &[u8]) -> Self {
        let mut names: BTreeMap<Name, Vec<IpAddr>> = BTreeMap::new();
        for line in String::from_utf8_lossy(text).lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
            let Some(address) = words.next().and_then(address) else { continue };
            for name in words.filter_map(Name::parse) {
                names.entry(name).or_default().push(address);
            }
        }
        Self(names)
    }

    /// Returns the addresses of a host that are known without a query: its own, those that `policy` pins, those of the file,
    /// those of loopback. Empty where only DNS could tell.
    pub fn known_addresses(&self, host: &Host, policy: &dyn AddressPolicy) -> Vec<IpAddr> {
        match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => policy.pinned_addresses(name).unwrap_or_else(|| self.addresses(name)),
        }
    }

    fn addresses(&self, name: &Name) -> Vec<IpAddr> {
        match self.0.get(name) {
            Some(listed) => listed.clone(),
            None if is_loopback(name) => {
                vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            }
            None => Vec::new(),
        }
    }
}

/// Parses an address, without the interface that may stand behind one of version 6 (`fe80::1%eth0`).
fn address(word: &str) -> Option<IpAddr> {
    word.split('%').next()?.parse().ok()
}

/// Returns whether a name stands for loopback. Resolvers answer it themselves.
/// [RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)
fn is_loopback(name: &Name) -> bool {
    name.as_str() == "localhost" || name.as_str().ends_with(".localhost")
}

/// An address of a host that no approval of the host opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreachableAddress {
    /// The address.
    pub address: IpAddr,
    /// The reason.
    pub because: AddressBar,
}

/// Reason why an approval of a host does not open an address of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBar {
    /// It is on this machine or its networks, and no rule names it.
    Near(SpecialPurpose),
    /// A rule denies it.
    Denied,
    /// A rule asks about the address, and the approval is of a name.
    Asked,
}

/// Returns the first address of a host that no approval of that host opens. `classify` says which addresses are near.
pub fn first_unreachable(
    host: &Host,
    addresses: &[IpAddr],
    port: u16,
    policy: &dyn AddressPolicy,
    classify: impl Fn(IpAddr) -> Option<SpecialPurpose>,
) -> Option<UnreachableAddress> {
    let refused = |address: IpAddr| match (policy.address_rule(address, port), classify(address), host) {
        (AddressRule::Denied, ..) => Some(AddressBar::Denied),
        (AddressRule::Unlisted | AddressRule::Asked, Some(near), _) => Some(AddressBar::Near(near)),
        (AddressRule::Asked, None, Host::Name(_)) => Some(AddressBar::Asked),
        // What was decided about is the address itself.
        (AddressRule::Asked, None, Host::Address(_))
        | (AddressRule::Allowed, ..)
        | (AddressRule::Unlisted, None, _) => None,
    };
    addresses.iter().find_map(|&address| Some(UnreachableAddress { address, because: refused(address)? }))
}

impl UnreachableAddress {
    /// Returns whether rules still refuse the address: others may open it by now.
    pub fn is_still_refused(&self, port: u16, policy: &dyn AddressPolicy) -> bool {
        let rule = policy.address_rule(self.address, port);
        match self.because {
            AddressBar::Near(_) => rule != AddressRule::Allowed,
            AddressBar::Denied => rule == AddressRule::Denied,
            AddressBar::Asked => rule == AddressRule::Asked,
        }
    }

    /// Returns why a host that leads there is not reached, in one clause behind the host.
    pub fn reason(&self) -> String {
        let address = self.address;
        match self.because {
            AddressBar::Near(near) => format!(
                "it leads to {address}, and {}: only a rule that names the address allows it (`network.allow`)",
                near.reason()
            ),
            AddressBar::Denied => format!("it leads to {address}, which a rule denies (`network.deny`)"),
            AddressBar::Asked => format!(
                "it leads to {address}, which a rule asks about: an approval of a name does not open it"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str, name: &str) -> Vec<String> {
        let names = HostsFile::parse(text.as_bytes());
        names.addresses(&Name::parse(name).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_that_need_no_query_have_their_addresses() {
        let file = "127.0.0.1 localhost\n10.9.8.7 Listed.test other.test # near.test\nfd00::7\tlisted.test\n\
                    fe80::1%eth0 linked.test\n# 10.0.0.1 off.test\nnonsense listed.test\n";
        assert_eq!(known(file, "listed.test"), ["10.9.8.7", "fd00::7"]);
        assert_eq!(known(file, "LISTED.test."), ["10.9.8.7", "fd00::7"]);
        assert_eq!(known(file, "other.test"), ["10.9.8.7"]);
        assert_eq!(known(file, "linked.test"), ["fe80::1"]);
        assert_eq!(known(file, "localhost"), ["127.0.0.1"]);
        for loopback in ["localhost", "a.b.localhost"] {
            assert_eq!(known("", loopback), ["127.0.0.1", "::1"], "{loopback}");
        }
        for of_dns in
            ["unlisted.test", "a.listed.test", "notlocalhost", "localhost.test", "off.test", "near.test"]
        {
            assert!(known(file, of_dns).is_empty(), "{of_dns}");
        }
        assert_eq!(HostsFile::parse(b"\xff\xfe \0"), HostsFile::default());
    }
}
