//! TLS with servers: settings, and the handshake with a host by its name or address.

use std::path::Path;
use std::sync::Arc;

use pinfold_host::Host;
use pinfold_net::http1;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;

/// Client settings for HTTP/1.1 over TLS. `roots`: a file of trust roots that replaces the system's.
pub(crate) fn client_config(roots: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut config = pinfold_net::client_config(roots)?;
    config.alpn_protocols = vec![http1::ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// Does the TLS handshake with a server that has to prove that it is `host`.
pub(crate) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
    config: Arc<ClientConfig>,
    host: &Host,
    stream: S,
) -> Result<TlsStream<S>, String> {
    let name = match host {
        Host::Name(name) => {
            ServerName::try_from(name.as_str().to_owned()).map_err(|error| format!("{host}: {error}"))?
        }
        Host::Address(address) => ServerName::from(address.to_canonical()),
    };
    let connected = http1::connect_tls(config, name, stream).await;
    connected.map_err(|error| format!("TLS with {host}: {error}"))
}
