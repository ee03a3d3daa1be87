//! Whoever decides where a connection may lead. Nothing here has an opinion of its own.

use std::fmt::Debug;
use std::net::IpAddr;

use crate::name::{Host, Name};
use crate::stream::Passed;

/// How somebody inside wants to reach a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By connecting to its address, as if there were no relay.
    Direct,
    /// By asking the relay as an HTTP proxy.
    Proxy,
    /// By asking the relay as a SOCKS proxy.
    Socks,
}

/// A connection that somebody inside wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// How it is reached.
    pub way: Way,
    /// The port of the caller inside, by which the kernel knows the process.
    pub from: u16,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It may be made.
    Yes,
    /// It may not: why, for whoever asked, and the name of the refusal in the record.
    No(No),
}

/// A refused connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct No {
    /// The name of the refusal, for `pinfold why`.
    pub id: String,
    /// Why, which rule, what to do instead.
    pub message: String,
}

/// Something that was refused by the relay itself, after the doorkeeper let it pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The TLS hello names another server.
    ServerName(Option<Host>),
    /// A request names another host.
    HostHeader(String),
    /// What came is broken.
    Broken,
    /// The name leads to an address that needs a rule of its own.
    Near(IpAddr, crate::address::Near),
    /// The name has no address, or nobody answers there.
    Unreachable(String),
}

/// Decides, and is told what happened. Called on threads that may wait.
pub trait Doorkeeper: Debug + Send + Sync + 'static {
    /// Whether a name is to exist inside: it may be reached, or somebody can be asked about it.
    fn knows(&self, name: &Name) -> bool;

    /// Whether a connection may be made. May wait for a person.
    fn open(&self, ask: &Ask) -> Opened;

    /// Whether an address may be reached although it lies on this machine or beside it: a rule names it.
    fn names(&self, address: IpAddr) -> bool;

    /// A connection that was let pass was refused after all. What comes back is told to whoever asked, where its
    /// protocol has words.
    fn mismatch(&self, ask: &Ask, mismatch: &Mismatch) -> No;

    /// A connection has ended.
    fn ended(&self, ask: &Ask, passed: Passed);
}
