//! A Model Context Protocol server for the tools of this project, and a proxy for third-party MCP servers.
//!
//! [`Server`] offers the tools over the protocol, in its newest revision and in older ones. It translates and decides
//! nothing: every call goes through the same pipeline as all calls, and returns as a result.
//!
//! # Vocabulary
//! [`Server`], [`SessionOpener`], [`OpenedSession`], [`SessionRequest`], [`Workspace`], [`ServerOptions`],
//! [`Authenticator`].
//!
//! # Invariants
//! 1. A client cannot widen anything: its roots only narrow, and its answer counts for the request that it was shown.
//! 2. A client that disconnects is not waited for: its approval requests are withdrawn, its commands end.
//! 3. Nothing is opened, started or written before the first call.
//! 4. No message ends the server except the end of its input.
//!
//! # What this does not stop
//! A client that answers in place of its user.

#![forbid(unsafe_code)]

mod form;
mod http;
mod http_client;
mod multiplex;
mod proxy;
mod serve;
mod stdio;
mod tool_list;
mod wire;

pub use http::{Authenticator, PATH, serve_http};
pub use http_client::{is_settable_header, run_http_client};
pub use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
pub use multiplex::{MultiplexedServer, multiplex};
pub use pinfold_egress::OriginClient;
pub use proxy::{GRACE, KnownArgument, PinLocation, ProxiedServer, ProxyEnd, proxy};
pub use serve::{
    OpenedSession, Server, ServerOptions, SessionOpener, SessionRequest, ToolVisibility, Workspace,
};
pub use stdio::serve_stdio;
