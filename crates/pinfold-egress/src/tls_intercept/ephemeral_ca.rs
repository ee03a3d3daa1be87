//! The certificate authority of one run: it signs for the intercepted hosts and for no others, and its key never leaves
//! this process.

use std::fmt;
use std::sync::Arc;

use pinfold_host::Name;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, GeneralSubtree,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority in memory.
pub struct EphemeralCa {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl fmt::Debug for EphemeralCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EphemeralCa").finish_non_exhaustive()
    }
}

impl EphemeralCa {
    /// Creates a CA whose name constraints permit these hosts alone (RFC 5280 §4.2.1.10).
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn new<'a>(hosts: impl IntoIterator<Item = &'a Name>) -> Result<Self, String> {
        let issue = || -> Result<Self, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = certificate_params("pinfold CA of one run");
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            let permitted = hosts.into_iter().map(|host| GeneralSubtree::DnsName(host.to_string())).collect();
            params.name_constraints =
                Some(NameConstraints { permitted_subtrees: permitted, excluded_subtrees: Vec::new() });
            let pem = params.self_signed(&key)?.pem();
            Ok(Self { issuer: Issuer::new(params, key), pem })
        };
        issue().map_err(|e| e.to_string())
    }

    /// Its certificate (PEM), for the processes that are to trust it.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// TLS settings with a new certificate for a host.
    pub(super) fn server_config(&self, host: &Name) -> Result<Arc<ServerConfig>, String> {
        let issue = || -> Result<_, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = certificate_params("intercepted by pinfold");
            params.subject_alt_names = vec![SanType::DnsName(host.as_str().try_into()?)];
            params.use_authority_key_identifier_extension = true;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der())))
        };
        let (certificate, key) = issue().map_err(|e| e.to_string())?;
        let mut config = ServerConfig::builder_with_provider(pinfold_net::crypto_provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key))
            .map_err(|e| e.to_string())?;
        config.alpn_protocols = vec![pinfold_net::http1::ALPN.to_vec()];
        Ok(Arc::new(config))
    }
}

fn certificate_params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, common_name);
    params.distinguished_name = distinguished;
    params
}
