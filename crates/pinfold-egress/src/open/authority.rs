//! An authority for one run: it vouches inside for the hosts that the relay plays, and for no others. Its key never leaves
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

/// An authority of our own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// One that can vouch for these hosts alone.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn new<'a>(hosts: impl IntoIterator<Item = &'a Name>) -> Result<Self, String> {
        let made = || -> Result<Self, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = named("pinfold, for one run");
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            let permitted = hosts.into_iter().map(|host| GeneralSubtree::DnsName(host.to_string())).collect();
            params.name_constraints =
                Some(NameConstraints { permitted_subtrees: permitted, excluded_subtrees: Vec::new() });
            let pem = params.self_signed(&key)?.pem();
            Ok(Self { issuer: Issuer::new(params, key), pem })
        };
        made().map_err(|e| e.to_string())
    }

    /// Its certificate, for those who are to believe it.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// How a host is played.
    pub(super) fn play(&self, host: &Name) -> Result<Arc<ServerConfig>, String> {
        let made = || -> Result<_, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = named("pinfold plays this host");
            params.subject_alt_names = vec![SanType::DnsName(host.as_str().try_into()?)];
            params.use_authority_key_identifier_extension = true;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der())))
        };
        let (certificate, key) = made().map_err(|e| e.to_string())?;
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

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    params.distinguished_name = distinguished;
    params
}
