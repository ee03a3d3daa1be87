//! Whoever decides where a connection may lead. Nothing here has an opinion of its own.

use std::fmt::Debug;
use std::net::IpAddr;

use pinfold_host::{Host, Map, Name, Near};

use crate::later::Later;
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

/// Who asks for a name inside, by the port that they ask from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// By a datagram.
    Datagram(u16),
    /// By a connection.
    Connection(u16),
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
#[derive(Debug)]
pub enum Opened {
    /// It may be made.
    Yes,
    /// It may not.
    No(No),
    /// Somebody is asked, and the connection waits for the answer.
    Later(Later),
}

/// A refused connection, in words for whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct No {
    /// The name of the refusal in the record, for `pinfold why`; empty where none is kept.
    pub id: String,
    /// Why, which rule, what to do instead.
    pub message: String,
}

/// Why a connection that was let pass was refused after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The TLS hello names another server, or none.
    ServerName(Option<Host>),
    /// A request names another host, or none.
    HostHeader(String),
    /// A request says twice how long it is, so that it could be read in two ways.
    TwoLengths,
    /// It speaks HTTP/2 without TLS, where each request can name another host.
    Http2,
    /// What came cannot be understood, or took too long to say which host it means.
    Broken,
    /// The name leads to an address that needs a rule of its own.
    Near(IpAddr, Near),
    /// The name leads to an address that a rule forbids.
    Forbidden(IpAddr),
}

/// Decides, and is told what happened. Every answer comes at once: whoever asks keeps all other connections waiting.
pub trait Doorkeeper: Map {
    /// Whether a name is to exist inside: it may be reached, or somebody can be asked when it is. Asked once for each time
    /// that somebody inside asks for it.
    fn knows(&self, name: &Name, asker: Asker) -> bool;

    /// Whether a connection may be made.
    fn open(&self, ask: &Ask) -> Opened;

    /// A connection that was let pass was refused after all. What comes back is told to whoever asked, where its
    /// protocol has words.
    fn mismatch(&self, ask: &Ask, mismatch: &Mismatch) -> No;

    /// What was asked of the proxy is no host, or not one alone: this was said.
    fn unclear(&self, said: &str, from: u16) -> No;

    /// A datagram was sent to a host: it reaches nobody.
    fn datagram(&self, host: &Host, port: u16, from: u16);

    /// So many datagrams were not looked at, because there were too many.
    fn more_datagrams(&self, count: u64);

    /// The run is over and this was wanted in its last moment: nothing comes of it.
    fn too_late(&self, ask: &Ask);

    /// There is no room for a connection beside so many others; it waits.
    fn is_full(&self, most: usize);

    /// Whether what is decided by has changed since this was asked last. Asked now and then.
    fn has_changed(&self) -> bool;

    /// Whether a connection that was let pass would be denied by now.
    fn denies(&self, ask: &Ask) -> bool;

    /// A connection that was let pass was made, or could not be.
    fn connected(&self, ask: &Ask, is_made: bool) {
        let _ = (ask, is_made);
    }

    /// A connection has ended.
    fn ended(&self, ask: &Ask, passed: Passed);
}
