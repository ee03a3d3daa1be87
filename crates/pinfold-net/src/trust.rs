//! Trust roots: the certificate authorities that vouch for servers.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// The cryptography of every TLS connection: *ring*.
pub fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The trust roots of the system, or those in one PEM file; at least one.
///
/// # Errors
/// A message that says why there is none, and names `SSL_CERT_FILE`.
pub fn trust_roots(named: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = match named {
        Some(file) => rustls_native_certs::load_certs_from_paths(Some(file), None),
        None => rustls_native_certs::load_native_certs(),
    };
    if !found.certs.is_empty() {
        return Ok(found.certs);
    }
    let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(match named {
        Some(file) => {
            let file = file.display();
            format!("no CA certificate was found in `{file}`{why}; set SSL_CERT_FILE to another file")
        }
        None => format!(
            "no CA certificates were found on this machine{why}; set SSL_CERT_FILE to a file that has some"
        ),
    })
}

/// The TLS settings of a client that verifies servers by [`trust_roots`]. The caller sets ALPN protocols.
///
/// # Errors
/// As [`trust_roots`], and when none of them can be parsed.
pub fn client_config(named: Option<&Path>) -> Result<ClientConfig, String> {
    let mut store = RootCertStore::empty();
    // System bundles contain outdated certificates that no longer parse.
    let (known, unknown) = store.add_parsable_certificates(trust_roots(named)?);
    if known == 0 {
        return Err(format!(
            "none of {unknown} CA certificates can be parsed; set SSL_CERT_FILE to another file"
        ));
    }
    let builder =
        ClientConfig::builder_with_provider(crypto_provider()).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| error.to_string())?.with_root_certificates(store).with_no_client_auth())
}

/// A PEM bundle of the system's trust roots and one more certificate (PEM), for programs that read `SSL_CERT_FILE`.
pub fn pem_bundle(extra: &str) -> String {
    let mut text = String::new();
    for certificate in rustls_native_certs::load_native_certs().certs {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in STANDARD.encode(&certificate).as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text + extra
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_named_file_replaces_the_systems_roots() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("roots.pem");
        let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
        fs::write(&named, made.cert.pem()).unwrap();
        assert_eq!(trust_roots(Some(&named)).unwrap().as_slice(), [made.cert.der().clone()]);
        assert!(client_config(Some(&named)).is_ok());
        for (text, why) in
            [("", "no CA certificate"), ("-----BEGIN CERTIFICATE-----\n!\n", "no CA certificate")]
        {
            fs::write(&named, text).unwrap();
            let error = client_config(Some(&named)).unwrap_err();
            assert!(error.contains(why) && error.contains("roots.pem"), "{error}");
        }
        let missing = folder.path().join("missing.pem");
        assert!(trust_roots(Some(&missing)).unwrap_err().contains("missing.pem"));
    }

    #[test]
    fn a_bundle_that_does_not_parse_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("roots.pem");
        let odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(&named, odd).unwrap();
        assert!(client_config(Some(&named)).unwrap_err().contains("none of 1"));
    }
}
