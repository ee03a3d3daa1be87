//! TLS around HTTP/1.1.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;

/// The one protocol that is spoken within TLS, as ALPN names it.
pub(crate) const HTTP_1: &[u8] = b"http/1.1";

/// How servers are spoken to that the authorities of this machine vouch for, or those in one file.
pub(crate) fn verifying(named: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut config = pinfold_tls::verifying(named)?;
    config.alpn_protocols = vec![HTTP_1.to_vec()];
    Ok(Arc::new(config))
}
