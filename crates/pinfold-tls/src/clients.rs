//! HTTP clients that block, one for servers that are verified and one for those that nobody can verify.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::{authorities, provider};

/// Limits and header lines of a client, before it is made.
pub type Configuring = ConfigBuilder<AgentScope>;

/// Clients, each made when it is first needed.
pub struct Clients {
    /// Where the certificates of authorities lie, where somebody says.
    roots: Option<PathBuf>,
    configure: fn(Configuring) -> Configuring,
    verifying: OnceLock<Result<Agent, String>>,
    plain: OnceLock<Agent>,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("roots", &self.roots).finish_non_exhaustive()
    }
}

impl Clients {
    /// Clients with these limits. `roots`: a file with the certificates of authorities, where not those of the machine
    /// are meant.
    pub fn new(roots: Option<PathBuf>, configure: fn(Configuring) -> Configuring) -> Self {
        Self { roots, configure, verifying: OnceLock::new(), plain: OnceLock::new() }
    }

    /// The client for an address. No authority is needed where none is asked (`http://`).
    ///
    /// # Errors
    /// Why no server can be verified, in words.
    pub fn client(&self, url: &str) -> Result<Agent, String> {
        if url.starts_with("http://") {
            return Ok(self.plain.get_or_init(|| self.made(Vec::new())).clone());
        }
        let verifying = || {
            let certificates = authorities(self.roots.as_deref())?;
            Ok(self.made(certificates.iter().map(|one| Certificate::from_der(one).to_owned()).collect()))
        };
        self.verifying.get_or_init(verifying).clone()
    }

    fn made(&self, roots: Vec<Certificate<'static>>) -> Agent {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(provider())
            .build();
        let config = (self.configure)(Agent::config_builder())
            .tls_config(tls)
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .user_agent("pinfold");
        config.build().new_agent()
    }
}
