//! The blocking HTTP client.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ureq::Agent;
use ureq::config::ConfigBuilder;
pub use ureq::http::Uri;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::{crypto_provider, trust_roots};

/// Limits and default headers of a client, before it is built.
pub type ClientLimits = ConfigBuilder<AgentScope>;

/// An HTTP client that blocks. Connections for `https://` and `http://` are set up when the first request needs them.
pub struct BlockingClient {
    /// The file of trust roots that replaces the system's.
    roots: Option<PathBuf>,
    configure: fn(ClientLimits) -> ClientLimits,
    verifying: OnceLock<Result<Agent, String>>,
    plain: OnceLock<Agent>,
}

/// A response whose body was not read yet.
#[derive(Debug)]
pub struct HttpResponse(Response<ureq::Body>);

/// Reason why there is no response, or no body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpError {
    /// No server can be verified, since there are no trust roots. Nothing was sent.
    NoTrustRoots(String),
    /// The time limit of the request was reached.
    TimedOut,
    /// The body has more bytes than the limit.
    TooLarge,
    /// The request could not be sent, or its response not be read.
    Failed(String),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTrustRoots(why) | Self::Failed(why) => f.write_str(why),
            Self::TimedOut => f.write_str("timed out"),
            Self::TooLarge => f.write_str("the body is too large"),
        }
    }
}

impl From<ureq::Error> for HttpError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(_) => Self::TimedOut,
            ureq::Error::BodyExceedsLimit(_) => Self::TooLarge,
            error => Self::Failed(error.to_string()),
        }
    }
}

impl fmt::Debug for BlockingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingClient").field("roots", &self.roots).finish_non_exhaustive()
    }
}

impl BlockingClient {
    /// A client with these limits. `roots`: a file of trust roots (PEM) that replaces the system's.
    pub fn new(roots: Option<PathBuf>, configure: fn(ClientLimits) -> ClientLimits) -> Self {
        Self { roots, configure, verifying: OnceLock::new(), plain: OnceLock::new() }
    }

    /// Sends a `GET` request. `timeout` bounds the whole exchange, the body included.
    ///
    /// # Errors
    /// [`HttpError`] says why there is no response.
    pub fn get(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        timeout: Option<Duration>,
    ) -> Result<HttpResponse, HttpError> {
        self.send("GET", url, headers, (), timeout)
    }

    /// Sends a `POST` request with a JSON body. `timeout` bounds the whole exchange, the body of the response included.
    ///
    /// # Errors
    /// [`HttpError`] says why there is no response.
    pub fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        timeout: Option<Duration>,
    ) -> Result<HttpResponse, HttpError> {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.send("POST", url, &headers, body, timeout)
    }

    fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: impl ureq::AsSendBody,
        timeout: Option<Duration>,
    ) -> Result<HttpResponse, HttpError> {
        let agent = self.agent(url).map_err(HttpError::NoTrustRoots)?;
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).map_err(|error| HttpError::Failed(error.to_string()))?;
        let request = match timeout {
            Some(timeout) => agent.configure_request(request).timeout_global(Some(timeout)).build(),
            None => request,
        };
        Ok(HttpResponse(agent.run(request)?))
    }

    /// The agent for a URL. `http://` needs no trust roots.
    fn agent(&self, url: &str) -> Result<Agent, String> {
        if url.starts_with("http://") {
            return Ok(self.plain.get_or_init(|| self.new_agent(Vec::new())).clone());
        }
        let verifying = || {
            let certificates = trust_roots(self.roots.as_deref())?;
            Ok(self
                .new_agent(certificates.iter().map(|root| Certificate::from_der(root).to_owned()).collect()))
        };
        self.verifying.get_or_init(verifying).clone()
    }

    fn new_agent(&self, roots: Vec<Certificate<'static>>) -> Agent {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(crypto_provider())
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

impl HttpResponse {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// A header, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`HttpError::TooLarge`] beyond `limit` bytes, and when the connection fails.
    pub fn read(mut self, limit: u64) -> Result<Vec<u8>, HttpError> {
        Ok(self.0.body_mut().with_config().limit(limit).read_to_vec()?)
    }

    /// The body as a stream; the caller bounds how much is read.
    pub fn into_reader(self) -> impl Read {
        self.0.into_body().into_reader()
    }

    /// Reads the beginning of the body, up to `limit` bytes. What cannot be read is left out.
    pub fn read_lossy(self, limit: u64) -> String {
        let mut bytes = Vec::new();
        let _: io::Result<usize> = self.into_reader().take(limit).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
