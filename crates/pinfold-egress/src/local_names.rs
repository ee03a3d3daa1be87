//! Addresses of a host that are known without a DNS query, and those of them to which no connection may lead.

use std::fs;
use std::net::IpAddr;
use std::sync::OnceLock;

use pinfold_host::{AddressBar, AddressPolicy, Host, HostsFile, UnreachableAddress};

use crate::own_address::classify_reached;
use crate::policy::EgressViolation;

/// Names that this machine resolves by itself: those of `/etc/hosts`, read when the first one is looked up as the resolver
/// does, and the names of loopback.
#[derive(Debug, Default)]
pub struct LocalNames {
    file: OnceLock<HostsFile>,
}

impl LocalNames {
    /// Returns the addresses of a host that are known without a query, as [`HostsFile::known_addresses`] does.
    pub fn addresses(&self, host: &Host, policy: &dyn AddressPolicy) -> Vec<IpAddr> {
        let read = || HostsFile::parse(&fs::read(HostsFile::PATH).unwrap_or_default());
        self.file.get_or_init(read).known_addresses(host, policy)
    }
}

/// Returns the first address of a host that no approval of that host opens.
pub fn first_unreachable(
    host: &Host,
    addresses: &[IpAddr],
    port: u16,
    policy: &dyn AddressPolicy,
) -> Option<EgressViolation> {
    pinfold_host::first_unreachable(host, addresses, port, policy, classify_reached)
        .map(EgressViolation::from)
}

impl From<UnreachableAddress> for EgressViolation {
    fn from(UnreachableAddress { address, because }: UnreachableAddress) -> Self {
        match because {
            AddressBar::Near(near) => Self::SpecialPurposeAddress(address, near),
            AddressBar::Denied => Self::DeniedAddress(address),
            AddressBar::Asked => Self::AskedAddress(address),
        }
    }
}

impl EgressViolation {
    /// Returns the address that no approval of its host opens, where it is that.
    pub fn unreachable_address(&self) -> Option<UnreachableAddress> {
        let (address, because) = match self {
            Self::SpecialPurposeAddress(address, near) => (*address, AddressBar::Near(*near)),
            Self::DeniedAddress(address) => (*address, AddressBar::Denied),
            Self::AskedAddress(address) => (*address, AddressBar::Asked),
            Self::ServerName(_)
            | Self::HostHeader(_)
            | Self::ConflictingLengths
            | Self::TransferCoding
            | Self::Http2Cleartext
            | Self::Malformed => return None,
        };
        Some(UnreachableAddress { address, because })
    }
}
