//! Limits of the relay, and the HTTP/1.1 connections that are configured by them.

use std::time::Duration;

use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper_util::rt::TokioTimer;
use pinfold_net::http1::MAX_HEADER_BYTES;
use rustix::process::{Resource, getrlimit};

/// Limits of a relay.
#[derive(Debug, Clone, Copy)]
pub struct RelayLimits {
    /// Connections at a time; more wait until others have ended.
    pub connections: usize,
    /// The time without any byte after which a connection is ended.
    pub idle: Duration,
    /// The time in which a client has to name its host, where its protocol names one.
    pub hello: Duration,
}

impl Default for RelayLimits {
    /// As many connections as this process has descriptors for (two each), with some left for everything else.
    fn default() -> Self {
        const RESERVED_DESCRIPTORS: u64 = 128;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let pairs =
            usize::try_from(descriptors.saturating_sub(RESERVED_DESCRIPTORS) / 2).unwrap_or(usize::MAX);
        Self {
            connections: pairs.clamp(16, 16_384),
            idle: Duration::from_hours(1),
            hello: Duration::from_secs(30),
        }
    }
}

/// The side towards the client. `hello` bounds the time for a header section.
pub(crate) fn http_server(hello: Duration) -> server::Builder {
    let mut builder = server::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(hello)
        .max_buf_size(MAX_HEADER_BYTES)
        .preserve_header_case(true)
        .half_close(true);
    builder
}

/// The side towards the upstream host.
pub(crate) fn http_client() -> client::Builder {
    let mut builder = client::Builder::new();
    builder.preserve_header_case(true).max_buf_size(MAX_HEADER_BYTES);
    builder
}
