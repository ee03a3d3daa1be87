//! The asynchronous HTTP/1.1 client: requests over a connection that the caller made, since the caller decides which
//! address may be connected to.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The longest header section of a response, in bytes.
pub const MAX_HEADER_BYTES: usize = 64 << 10;

/// The ALPN identifier of HTTP/1.1 (RFC 7301).
pub const ALPN: &[u8] = b"http/1.1";

/// Reason why a body was not read to its end.
#[derive(Debug)]
pub enum BodyError {
    /// More bytes than the limit.
    TooLarge,
    /// The connection or its framing failed.
    Broken(hyper::Error),
}

/// Does the TLS handshake with a server that has to prove that it is `name`.
///
/// # Errors
/// When the handshake fails, for instance for a certificate that no trust root vouches for.
pub async fn connect_tls<T>(
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    stream: T,
) -> std::io::Result<TlsStream<T>>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    TlsConnector::from(config).connect(name, stream).await
}

/// Starts HTTP/1.1 over a connection, driven by a task of its own.
///
/// # Errors
/// When the connection is closed already.
pub async fn handshake<T, B>(stream: T) -> hyper::Result<SendRequest<B>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let (sender, connection) =
        Builder::new().max_buf_size(MAX_HEADER_BYTES).handshake(TokioIo::new(stream)).await?;
    // A failure is reported to the request that waits for its response.
    tokio::spawn(connection);
    Ok(sender)
}

/// Reads a body of at most `limit` bytes. The bytes are counted as they come: `Content-Length` is only a hint.
///
/// # Errors
/// [`BodyError`] says why it was not read.
pub async fn read_body(mut body: Incoming, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(BodyError::Broken)?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len().saturating_add(data.len()) > limit {
            return Err(BodyError::TooLarge);
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}
