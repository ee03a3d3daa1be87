//! Egress: a transparent relay and proxy between a sandboxed process and the hosts that its policy allows.
//!
//! In go the sockets inside the sandbox's network namespace ([`Listeners`]) and a policy ([`EgressPolicy`]); out come
//! connections to allowed hosts, and reports of refused ones. The crate decides nothing about hosts: it finds out which host
//! a connection is for, asks the policy, and checks that TLS (SNI) and HTTP (`Host`) name that same host.
//!
//! # Vocabulary
//! [`EgressRelay`], [`Listeners`], [`EgressPolicy`], [`AddressPolicy`], [`ConnectRequest`], [`PendingDecision`],
//! [`ApprovedConnection`], [`EgressViolation`], [`LocalNames`], [`SpecialPurpose`]; [`FetchClient`], [`FetchedPage`], [`OriginClient`]; [`SecretInjector`].
//!
//! # Invariants
//! 1. A connection goes only to an address that was checked, after the policy allowed its host.
//! 2. An address on this machine or its networks is reached only where the policy names it.
//! 3. The server name in a TLS `ClientHello`, and the host of each plain HTTP request, is the host of the connection.
//! 4. Inside, a name that the policy does not know does not resolve. No query about a name leaves the machine before its host
//!    was allowed.
//! 5. A page is fetched from an address that was checked, under the name that was judged, and no redirect is followed here.
//! 6. No client delays another one: what is slow, large or too much is ended or queued.
//!
//! # What this does not stop
//! Data that is sent to an allowed host; other hosts behind the same address, within TLS. The sandbox ensures that there is no
//! other way to the network.
//!
//! # Platforms
//! Linux: bytes are relayed by `splice(2)`.
#![forbid(unsafe_code)]

mod connection;
mod decompress;
mod direct;
mod dns_answer;
mod dns_server;
mod dropped_udp;
mod fake_ip;
mod fetch;
mod framing;
mod handoff;
mod hello_retry;
mod http;
mod inspection;
mod keep_alive;
mod limits;
mod local_names;
mod origin_client;
mod own_address;
mod pending;
mod permitted;
mod pipe_pool;
mod policy;
mod port_forward;
mod proxy;
mod relay;
mod response;
mod server_name;
mod sniff;
mod splice;
mod state;
mod tls;
mod tls_intercept;
mod upstream;

pub use fake_ip::NameMatch;
pub use fetch::{FetchClient, FetchError, FetchMethod, FetchStage, FetchedPage};
pub use handoff::{HandoffSender, ProxyHandoff, proxy_handoff};
pub use limits::RelayLimits;
pub use local_names::{LocalNames, first_unreachable};
pub use origin_client::OriginClient;
pub use pending::{ApprovedConnection, DecisionSender, PendingDecision};
pub use pinfold_host::{AddressPolicy, AddressRule, SpecialPurpose};
pub use policy::{
    ConnectDecision, ConnectMethod, ConnectRefusal, ConnectRequest, DnsClient, EgressPolicy, EgressViolation,
};
pub use port_forward::{PortForward, PortForwards};
pub use relay::{EgressRelay, Listeners};
pub use splice::TransferredBytes;
pub use tls_intercept::{EphemeralCa, InjectedSecret, SecretInjector};
