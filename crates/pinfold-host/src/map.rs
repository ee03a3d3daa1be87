//! The question of a connection: where may a name or an address lead.

use std::fmt::Debug;
use std::net::IpAddr;

use crate::name::Name;

/// What is said about an address that a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    /// A rule names it, wherever it lies.
    Named,
    /// A rule forbids it, whatever leads there.
    Forbidden,
    /// No rule names it: it may be reached unless it lies on this machine or beside it.
    Unnamed,
}

/// Says where names and addresses may lead.
pub trait Map: Debug + Send + Sync + 'static {
    /// What is said about an address at a port.
    fn leads(&self, address: IpAddr, port: u16) -> Leads;

    /// Where a name leads, if the settings say so.
    fn pinned(&self, name: &Name) -> Option<Vec<IpAddr>>;
}
