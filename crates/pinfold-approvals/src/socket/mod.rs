//! Approval sockets: each asking process has one, and other terminals find it in a private directory.
//!
//! A confined process cannot answer. Three independent measures prevent it: the directory is hidden from sandboxes; a
//! client has to send a secret that is stored there; and the kernel's information about the peer rejects processes that
//! are more confined than this one, are in other namespaces, or descend from this one.

mod aggregator;
mod atomic_file;
mod client;
mod json_lines;
mod named_socket;
mod peer;
mod peer_listener;
mod presence;
mod protocol;
mod registration;
mod secret;
mod server;
mod sessions;
mod socket_dir;

pub use aggregator::{
    FindError, LocatedRequest, ProcessAggregator, ProcessEvent, ProcessEventKind, ProcessEvents,
};
pub use client::{ApprovalClient, ApprovalClientError, ApprovalEvents};
pub use json_lines::JsonLines;
pub use named_socket::{NamedSocket, NamedSocketError};
pub use peer::{Peer, PeerError};
pub use peer_listener::{PeerListener, PeerRejected};
pub use presence::ApproverPresence;
pub use protocol::{
    ClientMessage, EventBatch, GrantExpiry, GrantSummary, ProtocolError, ProtocolErrorCode, RequestSummary,
    VERSION,
};
pub use secret::AccessSecret;
pub use server::ApprovalSocket;
pub use sessions::SessionRegistry;
pub use socket_dir::{SocketDir, SocketDirError, SocketHomes};
