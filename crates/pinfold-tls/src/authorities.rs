//! The certificates of authorities.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::provider;

/// The authorities of this machine, or those in one file; never none.
///
/// # Errors
/// Why none can be had, in words.
pub fn authorities(named: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, String> {
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
            format!(
                "no certificate of an authority was found in `{file}`{why}; name another file in SSL_CERT_FILE"
            )
        }
        None => format!(
            "no certificates of authorities were found on this machine{why}; name a file in SSL_CERT_FILE"
        ),
    })
}

/// How servers are spoken to that these authorities vouch for. A protocol within is named by whoever speaks it.
///
/// # Errors
/// As [`authorities`], and when none of them is understood.
pub fn verifying(named: Option<&Path>) -> Result<ClientConfig, String> {
    let mut store = RootCertStore::empty();
    // A system's file has certificates that nobody understands any more.
    let (known, unknown) = store.add_parsable_certificates(authorities(named)?);
    if known == 0 {
        return Err(format!(
            "none of {unknown} certificates of authorities is understood; name a file in SSL_CERT_FILE"
        ));
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| error.to_string())?.with_root_certificates(store).with_no_client_auth())
}

/// The certificates of the authorities of this machine, and one more (PEM), as the text of a file that programs read.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_named_is_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("roots.pem");
        let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
        fs::write(&named, made.cert.pem()).unwrap();
        assert_eq!(authorities(Some(&named)).unwrap().as_slice(), [made.cert.der().clone()]);
        assert!(verifying(Some(&named)).is_ok());
        for (text, why) in [("", "no certificate"), ("-----BEGIN CERTIFICATE-----\n!\n", "no certificate")] {
            fs::write(&named, text).unwrap();
            let error = verifying(Some(&named)).unwrap_err();
            assert!(error.contains(why) && error.contains("roots.pem"), "{error}");
        }
        let missing = folder.path().join("missing.pem");
        assert!(authorities(Some(&missing)).unwrap_err().contains("missing.pem"));
    }

    #[test]
    fn what_is_no_certificate_vouches_for_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("roots.pem");
        let odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(&named, odd).unwrap();
        assert!(verifying(Some(&named)).unwrap_err().contains("none of 1"));
    }
}
