//! Many requests to one origin, over connections that are checked as for pages and kept alive.
//!
//! Each connection goes to an address that was checked when it was made. Redirects are returned to the caller, not
//! followed.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use pinfold_host::{AddressPolicy, Scheme, WebUrl};
use pinfold_net::http1;
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::fetch::{FetchError, FetchStage, USER_AGENT_VALUE};
use crate::tls;
use crate::upstream::{Upstream, UpstreamError};

/// Idle connections that are kept for the next request.
const MAX_IDLE: usize = 8;

/// The time limit for connecting, the TLS handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

type IdleSender = SendRequest<Full<Bytes>>;

/// An HTTP client for one origin.
pub struct OriginClient {
    url: WebUrl,
    policy: Arc<dyn AddressPolicy>,
    tls: Option<Arc<ClientConfig>>,
    upstream: Upstream,
    idle: Mutex<Vec<IdleSender>>,
}

impl fmt::Debug for OriginClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginClient").field("url", &self.url).finish_non_exhaustive()
    }
}

impl OriginClient {
    /// A client for the origin of `url`; `policy` permits addresses. `roots`: a file of trust roots that replaces the
    /// system's. Nothing is sent yet.
    ///
    /// # Errors
    /// When there are no trust roots, so that no server can be verified.
    pub fn new(url: WebUrl, policy: Arc<dyn AddressPolicy>, roots: Option<&Path>) -> Result<Self, String> {
        let tls = match url.scheme() {
            Scheme::Http => None,
            Scheme::Https => Some(tls::client_config(roots)?),
        };
        Ok(Self { url, policy, tls, upstream: Upstream::default(), idle: Mutex::default() })
    }

    /// The URL that the client was created with.
    pub fn url(&self) -> &WebUrl {
        &self.url
    }

    /// Sends a request for a path of the origin, and returns the response with its body still to be read.
    ///
    /// # Errors
    /// [`FetchError`] says why there is none.
    pub async fn send(
        &self,
        method: &Method,
        target: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Incoming>, FetchError> {
        loop {
            let idle = self.take_idle();
            let is_new = idle.is_none();
            let mut sender = match idle {
                Some(sender) => sender,
                None => timeout(CONNECT_TIMEOUT, self.connect())
                    .await
                    .unwrap_or(Err(FetchError::TimedOut(CONNECT_TIMEOUT, FetchStage::Connect)))?,
            };
            let answer = sender.send_request(self.request(method, target, headers, body)?).await;
            match answer {
                Ok(answer) => {
                    self.put_idle(sender);
                    return Ok(answer);
                }
                // The server closed the idle connection before it received the request (RFC 9112 §9.3.1): it is sent
                // again.
                Err(error) if error.is_canceled() && !is_new => {}
                Err(error) => return Err(FetchError::Malformed(error.to_string())),
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        target: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Request<Full<Bytes>>, FetchError> {
        let broken = |why: &dyn fmt::Display| FetchError::Malformed(why.to_string());
        let host = HeaderValue::from_str(&self.url.authority()).map_err(|e| broken(&e))?;
        let request = Request::builder().method(method).uri(target).body(Full::new(body.clone()));
        let mut request = request.map_err(|e| broken(&e))?;
        *request.headers_mut() = headers.clone();
        request.headers_mut().insert(HOST, host);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
        Ok(request)
    }

    /// An idle connection that is still open.
    fn take_idle(&self) -> Option<IdleSender> {
        let mut idle = self.idle();
        idle.retain(|sender| !sender.is_closed());
        let at = idle.iter().position(IdleSender::is_ready)?;
        Some(idle.swap_remove(at))
    }

    fn put_idle(&self, sender: IdleSender) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(sender);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleSender>> {
        // A panic cannot leave the list half changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<IdleSender, FetchError> {
        connect(&self.url, &*self.policy, self.tls.clone(), &self.upstream).await
    }
}

/// Opens an HTTP/1.1 connection to the host of `url`, at an address that `policy` permits; within TLS where `tls` is given.
pub(crate) async fn connect<B>(
    url: &WebUrl,
    policy: &dyn AddressPolicy,
    tls: Option<Arc<ClientConfig>>,
    upstream: &Upstream,
) -> Result<SendRequest<B>, FetchError>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let (host, port) = (url.host(), url.port());
    let stream = upstream.connect(host, port, policy).await.map_err(|why| match why {
        UpstreamError::Refused(violation) => FetchError::Refused(violation),
        UpstreamError::Unreachable(why) => FetchError::Unreachable(why),
    })?;
    match tls {
        None => http1::handshake(stream).await,
        Some(tls) => {
            http1::handshake(tls::handshake(tls, host, stream).await.map_err(FetchError::Unreachable)?).await
        }
    }
    .map_err(|error| FetchError::Malformed(error.to_string()))
}
