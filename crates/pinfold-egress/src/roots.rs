//! Whom this machine trusts to say who a server is.
//!
//! No list of authorities is built in: it would age, and not know the authority of a company. The files of the system are
//! read, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name in their place, when the first server has to be verified.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};

/// The authorities of this machine, or those in one file.
pub(crate) fn roots(named: Option<&Path>) -> Result<RootCertStore, String> {
    let found = match named {
        Some(file) => rustls_native_certs::load_certs_from_paths(Some(file), None),
        None => rustls_native_certs::load_native_certs(),
    };
    let mut store = RootCertStore::empty();
    // A system's file has certificates that nobody understands any more.
    let (known, _) = store.add_parsable_certificates(found.certs);
    if known > 0 {
        return Ok(store);
    }
    let why = found.errors.first().map(|e| format!(" ({e})")).unwrap_or_default();
    Err(format!(
        "no certificates of authorities were found on this machine{why}; name a file in SSL_CERT_FILE"
    ))
}

/// How servers are spoken to that these authorities vouch for.
pub(crate) fn verifying(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP_1.to_vec()];
    Ok(Arc::new(config))
}

/// The one protocol that is spoken within TLS, as ALPN names it.
pub(crate) const HTTP_1: &[u8] = b"http/1.1";

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates of the authorities of this machine, and one more, as a file that programs read.
pub fn bundle(more: &str) -> String {
    let mut text = String::new();
    for certificate in rustls_native_certs::load_native_certs().certs {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in STANDARD.encode(&certificate).as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text + more
}
