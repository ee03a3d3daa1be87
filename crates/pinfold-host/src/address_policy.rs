//! The question of a connection: may an address be connected to.

use std::fmt::Debug;
use std::net::IpAddr;

use crate::name::Name;

/// The rule for an address that a name resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressRule {
    /// A rule allows it by address, on this machine and its networks too.
    Allowed,
    /// A rule denies it, whatever name resolves to it.
    Denied,
    /// A rule asks about it: an approval of the address opens it, and one of a name that resolves to it does not.
    Asked,
    /// No rule names it: it is allowed unless it is on this machine or its networks.
    Unlisted,
}

/// Rules about addresses.
pub trait AddressPolicy: Debug + Send + Sync + 'static {
    /// The rule for an address at a port.
    fn address_rule(&self, address: IpAddr, port: u16) -> AddressRule;

    /// The addresses that a name is pinned to, where it is pinned.
    fn pinned_addresses(&self, name: &Name) -> Option<Vec<IpAddr>>;
}
