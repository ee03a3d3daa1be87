//! Relaying bytes both ways while they are inspected: until it is certain that no later byte names a host.

use std::io;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::{SniffError, write_all};
use crate::hello_retry::TlsHandshake;
use crate::policy::EgressViolation;
use crate::sniff::{self, Sniffed};
use crate::splice::TransferredBytes;

/// The protocol of bytes that are relayed under inspection.
#[derive(Debug)]
pub(crate) enum Inspection {
    /// A first line that is not complete, and not a request so far. Its client may wait for an answer.
    FirstLine(FirstLine),
    /// TLS whose first `ClientHello` names the right host.
    Handshake(Box<TlsHandshake>),
}

/// A first line, as far as it was sent.
#[derive(Debug)]
pub(crate) struct FirstLine {
    line: Vec<u8>,
    port: u16,
    has_ended: bool,
}

impl FirstLine {
    /// The first line of a connection to a port.
    pub(crate) fn new(port: u16) -> Self {
        Self { line: Vec::new(), port, has_ended: false }
    }

    fn inspect(&mut self, bytes: &[u8]) -> Result<Vec<u8>, EgressViolation> {
        self.line.extend(bytes);
        match sniff::sniff(&self.line, self.port) {
            Sniffed::Other => self.has_ended = true,
            Sniffed::UnfinishedLine => {}
            _ => return Err(EgressViolation::Malformed),
        }
        Ok(bytes.to_vec())
    }
}

impl Inspection {
    fn has_ended(&self) -> bool {
        match self {
            Self::FirstLine(line) => line.has_ended,
            Self::Handshake(handshake) => handshake.is_accepted(),
        }
    }

    /// Inspects bytes of the client. Returns those that may be relayed now.
    fn inspect_client(&mut self, bytes: &[u8]) -> Result<Vec<u8>, EgressViolation> {
        match self {
            Self::FirstLine(line) => line.inspect(bytes),
            Self::Handshake(handshake) => handshake.inspect_client(bytes),
        }
    }

    fn inspect_server(&mut self, bytes: &[u8]) {
        if let Self::Handshake(handshake) = self {
            handshake.inspect_server(bytes);
        }
    }
}

/// Relays bytes until the inspection has ended, or the client has ended its side. `early`: bytes that were read of it
/// already.
///
/// # Errors
/// A violation, or the end of the connection.
pub(crate) async fn relay_inspected(
    mut inspection: Inspection,
    inside: &TcpStream,
    early: &[u8],
    upstream: &TcpStream,
    idle: Duration,
    transferred: &mut TransferredBytes,
) -> Result<(), SniffError> {
    let mut server_has_ended = false;
    let mut from_client = early.to_vec();
    loop {
        if !from_client.is_empty() {
            let relayed = inspection.inspect_client(&from_client).map_err(SniffError::Violation)?;
            write_within(upstream, &relayed, idle).await?;
            transferred.sent += relayed.len() as u64;
        }
        // A connection at rest keeps no buffer.
        from_client = Vec::new();
        if inspection.has_ended() {
            return Ok(());
        }
        let ready = async {
            tokio::select! {
                biased;
                ready = upstream.ready(Interest::READABLE), if !server_has_ended => ready.map(|_| Side::Server),
                ready = inside.ready(Interest::READABLE) => ready.map(|_| Side::Client),
            }
        };
        let side = timeout(idle, ready).await.map_err(|_| SniffError::Disconnected)??;
        match (side, read_some(if side == Side::Server { upstream } else { inside })?) {
            (_, None) => {}
            (Side::Client, Some(bytes)) if bytes.is_empty() => return Ok(()),
            (Side::Client, Some(bytes)) => from_client = bytes,
            (Side::Server, Some(bytes)) if bytes.is_empty() => {
                server_has_ended = true;
                let _ = rustix::net::shutdown(inside, rustix::net::Shutdown::Write);
            }
            (Side::Server, Some(bytes)) => {
                inspection.inspect_server(&bytes);
                write_within(inside, &bytes, idle).await?;
                transferred.received += bytes.len() as u64;
            }
        }
    }
}

/// Reads what has come; no bytes at the end. `None`: nothing has come after all.
fn read_some(stream: &TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; 4096];
    match stream.try_read(&mut bytes) {
        Ok(len) => {
            bytes.truncate(len);
            Ok(Some(bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// A side of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

async fn write_within(to: &TcpStream, bytes: &[u8], idle: Duration) -> Result<(), SniffError> {
    Ok(timeout(idle, write_all(to, bytes)).await.map_err(|_| SniffError::Disconnected)??)
}
