//! The egress policy: what the relay asks before it connects, and what it reports. The decisions are made elsewhere.

use std::fmt::Debug;
use std::net::IpAddr;

use pinfold_host::{AddressPolicy, Host, Name, SpecialPurpose};

use crate::fake_ip::NameMatch;
use crate::pending::PendingDecision;
use crate::splice::TransferredBytes;

/// The way by which a process inside asks for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectMethod {
    /// A connection to the host's address, transparently.
    Direct,
    /// The relay as an HTTP proxy.
    HttpProxy,
    /// The relay as a SOCKS proxy.
    SocksProxy,
}

/// A DNS client inside, by its source port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsClient {
    /// A query in a datagram.
    Udp(u16),
    /// A query over a connection.
    Tcp(u16),
}

/// A connection that a process inside asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// The way by which it was asked for.
    pub method: ConnectMethod,
    /// The source port inside, by which the kernel identifies the process.
    pub source_port: u16,
}

/// The policy's decision about a connection.
#[derive(Debug)]
pub enum ConnectDecision {
    /// Allowed.
    Allow,
    /// Denied, with a message for the client.
    Deny(ConnectRefusal),
    /// The approver is asked, and the connection waits for the answer.
    Pending(PendingDecision),
}

/// A refused connection, with a message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectRefusal {
    /// The refusal's identifier in the audit log, for `pinfold why`; empty where no log is kept.
    pub id: String,
    /// The reason, the rule, and what to do instead.
    pub message: String,
}

/// A contradiction between the allowed host and what the connection then named, or turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EgressViolation {
    /// The TLS `ClientHello` names another server, or none.
    ServerName(Option<Host>),
    /// An HTTP request names another host, or none.
    HostHeader(String),
    /// An HTTP request has conflicting body lengths (request smuggling, RFC 9112 §6.3).
    ConflictingLengths,
    /// An HTTP request has a transfer coding other than `chunked` (RFC 9112 §6.1).
    TransferCoding,
    /// HTTP/2 without TLS, where each stream can name another host.
    Http2Cleartext,
    /// Bytes that cannot be parsed, or a client that named no host in time.
    Malformed,
    /// The name resolves to an address that needs a rule of its own (DNS rebinding).
    SpecialPurposeAddress(IpAddr, SpecialPurpose),
    /// The name resolves to an address that a rule denies.
    DeniedAddress(IpAddr),
    /// The name resolves to an address that a rule asks about.
    AskedAddress(IpAddr),
}

/// Decides about connections and receives reports. Every method returns at once: the relay serves all connections on one
/// thread.
pub trait EgressPolicy: AddressPolicy {
    /// Returns whether, and by which rule, a name resolves inside: its host is allowed, or can be asked about. Called once per
    /// query.
    fn resolves(&self, name: &Name, client: DnsClient) -> NameMatch;

    /// Decides about a connection.
    fn decide(&self, request: &ConnectRequest) -> ConnectDecision;

    /// Records that an allowed connection was refused after all, and returns the message for clients whose protocol has
    /// messages.
    fn report_violation(&self, request: &ConnectRequest, violation: &EgressViolation) -> ConnectRefusal;

    /// Records a proxy request for something that is not one host.
    fn report_invalid_target(&self, target: &str, source_port: u16) -> ConnectRefusal;

    /// Records a datagram to a host, which was dropped.
    fn report_datagram(&self, host: &Host, port: u16, source_port: u16);

    /// Records datagrams that were dropped unseen, because there were too many.
    fn report_lost_datagrams(&self, count: u64);

    /// Records a connection that was asked for as the run ended, and not made.
    fn report_after_end(&self, request: &ConnectRequest);

    /// Records that a connection has to wait, since `limit` others are open.
    fn report_full(&self, limit: usize);

    /// Records that no further name of a pattern resolves, since `limit` do.
    fn report_many_names(&self, pattern: &str, limit: usize, client: DnsClient);

    /// Returns whether the rules have changed since the last call. Polled.
    fn has_changed(&self) -> bool;

    /// Returns whether an allowed connection would be denied by now, for its host or for the address that it leads to.
    fn is_denied(&self, request: &ConnectRequest, address: IpAddr) -> bool;

    /// Records that an allowed connection was made, or failed.
    fn report_connected(&self, request: &ConnectRequest, is_connected: bool) {
        let _ = (request, is_connected);
    }

    /// Records that a connection has ended.
    fn report_closed(&self, request: &ConnectRequest, transferred: TransferredBytes);
}
