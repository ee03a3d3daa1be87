//! An allowed connection from its first bytes to its last: sniffs the protocol, checks that it names the allowed host, and
//! relays it accordingly.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::hello_retry::TlsHandshake;
use crate::http;
use crate::inspection::{FirstLine, Inspection, relay_inspected};
use crate::limits::RelayLimits;
use crate::permitted::PermittedConnection;
use crate::policy::{ConnectRequest, EgressViolation};
use crate::server_name;
use crate::sniff::{self, Sniffed};
use crate::splice::{TransferredBytes, relay_bytes, reset};
use crate::state::RelayState;
use crate::tls_intercept::serve::serve as serve_intercepted;

/// Relays a connection to its allowed host, once its first bytes name that host. `early`: bytes that were read of it
/// already.
pub(crate) async fn relay_connection(
    state: &Arc<RelayState>,
    inside: TcpStream,
    early: Bytes,
    upstream: PermittedConnection,
) {
    let (mut transferred, request) = (TransferredBytes::default(), upstream.request().clone());
    relay_to_end(state, inside, &early, upstream, &mut transferred).await;
    state.policy.report_closed(&request, transferred);
}

async fn relay_to_end(
    state: &Arc<RelayState>,
    inside: TcpStream,
    early: &[u8],
    upstream: PermittedConnection,
    transferred: &mut TransferredBytes,
) {
    let request = upstream.request();
    let detected = upstream
        .while_permitted(async |upstream| detect_protocol(state, request, &inside, early, upstream).await);
    let Some(detected) = detected.await else { return };
    match detected {
        Ok(Protocol::Http) if early.is_empty() => {
            Box::pin(http::serve(state, inside, upstream)).await;
        }
        Ok(Protocol::InterceptedTls) if early.is_empty() => {
            if let Some(injector) = &state.injector {
                Box::pin(serve_intercepted(state, injector, inside, upstream)).await;
            }
        }
        // Requests in the same packet as a CONNECT: no client sends that, and the bytes cannot be put back.
        Ok(Protocol::Http | Protocol::InterceptedTls) => {
            refuse(state, request, &inside, &EgressViolation::Malformed);
        }
        Ok(Protocol::Opaque(inspection)) => {
            let relayed = upstream.while_permitted(async |upstream| {
                relay_opaque(inspection, &inside, early, upstream, state.limits.idle, transferred).await
            });
            match relayed.await {
                None | Some(Ok(())) => {}
                Some(Err(error)) => end(state, request, &inside, error),
            }
        }
        Err(error) => end(state, request, &inside, error),
    }
}

/// Relays the bytes of a protocol that is not parsed, those first that are inspected.
async fn relay_opaque(
    inspection: Option<Inspection>,
    inside: &TcpStream,
    early: &[u8],
    upstream: &TcpStream,
    idle: Duration,
    transferred: &mut TransferredBytes,
) -> Result<(), SniffError> {
    if let Some(inspection) = inspection {
        // On the heap, and gone before most bytes are relayed.
        Box::pin(relay_inspected(inspection, inside, early, upstream, idle, transferred)).await?;
    } else {
        write_all(upstream, early).await?;
        transferred.sent += early.len() as u64;
    }
    // How the connection ends is between its two ends.
    let _ = relay_bytes(inside, upstream, idle, transferred).await;
    Ok(())
}

/// Ends a connection that is not relayed.
fn end(state: &RelayState, request: &ConnectRequest, inside: &TcpStream, error: SniffError) {
    match error {
        SniffError::Disconnected => reset(inside),
        SniffError::Violation(violation) => refuse(state, request, inside, &violation),
    }
}

fn refuse(state: &RelayState, request: &ConnectRequest, inside: &TcpStream, violation: &EgressViolation) {
    state.policy.report_violation(request, violation);
    reset(inside);
}

/// The protocol of a connection, as far as the relay treats it differently.
enum Protocol {
    /// Bytes that are relayed unchanged. Those that may still name a host are inspected.
    Opaque(Option<Inspection>),
    /// Plain HTTP, which names a host in each request.
    Http,
    /// TLS with a host that has an injected secret: terminated here.
    InterceptedTls,
}

/// Reason why a connection is not relayed.
pub(crate) enum SniffError {
    /// Another host is named, or the bytes are malformed.
    Violation(EgressViolation),
    /// A side disconnected, or sent nothing for too long.
    Disconnected,
}

impl From<io::Error> for SniffError {
    fn from(_: io::Error) -> Self {
        Self::Disconnected
    }
}

/// Waits until the client has named its host. The bytes stay in the socket. A server that speaks first (SMTP, SSH) is relayed
/// while the client is silent.
async fn detect_protocol(
    state: &RelayState,
    request: &ConnectRequest,
    inside: &TcpStream,
    early: &[u8],
    upstream: &TcpStream,
) -> Result<Protocol, SniffError> {
    let violation = |violation| Err(SniffError::Violation(violation));
    let mut bytes = early.to_vec();
    let mut began = None;
    let mut pause = Duration::from_millis(1);
    loop {
        match peek(inside, early, &mut bytes) {
            // A client that only listens.
            Ok(Peeked::EndWithoutBytes) => return Ok(Protocol::Opaque(None)),
            Ok(Peeked::Bytes | Peeked::Nothing) => {}
            Err(_) => return Err(SniffError::Disconnected),
        }
        match sniff::sniff(&bytes, request.port) {
            Sniffed::Other => return Ok(Protocol::Opaque(None)),
            Sniffed::Malformed => return violation(EgressViolation::Malformed),
            Sniffed::Http2 => return violation(EgressViolation::Http2Cleartext),
            Sniffed::Tls(name) => {
                if let Some(other) = server_name::violation(name, &request.host) {
                    return violation(other);
                }
                let is_intercepted = state.injector.as_ref().is_some_and(|injector| injector.is_for(request));
                let handshake = || Box::new(TlsHandshake::new(request.host.clone()));
                return Ok(if is_intercepted {
                    Protocol::InterceptedTls
                } else {
                    Protocol::Opaque(Some(Inspection::Handshake(handshake())))
                });
            }
            Sniffed::UnfinishedLine => {
                let line = Inspection::FirstLine(FirstLine::new(request.port));
                return Ok(Protocol::Opaque(Some(line)));
            }
            Sniffed::Http => return Ok(Protocol::Http),
            Sniffed::Incomplete => {}
        }
        if bytes.is_empty() {
            wait_or_relay_greeting(inside, upstream, state.limits)
                .await
                .map_err(|_| SniffError::Disconnected)?;
            continue;
        }
        // The bytes so far keep the socket readable, so more of them are polled for.
        if began.get_or_insert_with(Instant::now).elapsed() > state.limits.hello {
            return violation(EgressViolation::Malformed);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

async fn wait_or_relay_greeting(
    inside: &TcpStream,
    upstream: &TcpStream,
    limits: RelayLimits,
) -> io::Result<()> {
    let either = async {
        tokio::select! {
            ready = inside.ready(Interest::READABLE) => ready.map(drop),
            ready = upstream.ready(Interest::READABLE) => {
                ready?;
                relay_greeting(upstream, inside).await
            }
        }
    };
    timeout(limits.idle, either).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Relays what the server sends before the client has sent anything.
async fn relay_greeting(upstream: &TcpStream, inside: &TcpStream) -> io::Result<()> {
    // On the heap: in the future it would cost every connection 4 KiB for as long as it lasts.
    let mut buffer = vec![0; 4096];
    let len = match upstream.try_read(&mut buffer) {
        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(len) => len,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        Err(e) => return Err(e),
    };
    write_all(inside, buffer.get(..len).unwrap_or_default()).await
}

pub(crate) async fn write_all(stream: &TcpStream, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        stream.ready(Interest::WRITABLE).await?;
        match stream.try_write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Outcome of [`peek`].
pub(crate) enum Peeked {
    /// `bytes` holds what the client has sent so far.
    Bytes,
    /// Nothing has come since.
    Nothing,
    /// The client has ended its side without a single byte. One that ends it behind `early` has sent bytes, and those are
    /// inspected like others.
    EndWithoutBytes,
}

/// Reads what the client has sent so far, from `early` on, and leaves it in the socket.
pub(crate) fn peek(inside: &TcpStream, early: &[u8], bytes: &mut Vec<u8>) -> io::Result<Peeked> {
    // Nearly every ClientHello fits into the first size.
    for size in [4096, sniff::MAX_BYTES] {
        let mut seen = vec![0; size];
        let read = || {
            let (len, _) = rustix::net::recv(inside, seen.as_mut_slice(), rustix::net::RecvFlags::PEEK)?;
            Ok(len)
        };
        match inside.try_io(Interest::READABLE, read) {
            Ok(len) if len == size && size < sniff::MAX_BYTES => {}
            Ok(len) => {
                *bytes = [early, seen.get(..len).unwrap_or_default()].concat();
                return Ok(if bytes.is_empty() { Peeked::EndWithoutBytes } else { Peeked::Bytes });
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Peeked::Nothing),
            Err(e) => return Err(e),
        }
    }
    Ok(Peeked::Nothing)
}
