//! Many requests to one host, over connections that are looked at as for pages.
//!
//! Each connection goes to an address that was looked at when it was made. Nobody is followed to another host; where the
//! same host says that something has another path there, that is for whoever asks.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use pinfold_net::http1;
use pinfold_host::{Map, Scheme, WebUrl};
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::fetch::{NAME, Unfetched};
use crate::tls;
use crate::upstream::{Apart, Upstream};

/// Connections that are kept for the next request.
const KEPT: usize = 8;

/// How long a host may take until it can be spoken to.
const PATIENCE: Duration = Duration::from_secs(30);

type Sender = SendRequest<Full<Bytes>>;

/// Speaks to one host.
pub struct Exchange {
    url: WebUrl,
    map: Arc<dyn Map>,
    tls: Option<Arc<ClientConfig>>,
    upstream: Upstream,
    kept: Mutex<Vec<Sender>>,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Exchange {
    /// With the host of this address; `map` says where it may lead. `roots`: the file of the authorities, in place of the
    /// system's. Nothing is said yet.
    ///
    /// # Errors
    /// Why no server can be verified.
    pub fn new(url: WebUrl, map: Arc<dyn Map>, roots: Option<&Path>) -> Result<Self, String> {
        let tls = match url.scheme() {
            Scheme::Http => None,
            Scheme::Https => Some(tls::client_config(roots)?),
        };
        Ok(Self { url, map, tls, upstream: Upstream::default(), kept: Mutex::default() })
    }

    /// The address.
    pub fn url(&self) -> &WebUrl {
        &self.url
    }

    /// Sends a request to a path of the host, and gives the head of the answer with what is to come.
    ///
    /// # Errors
    /// [`Unfetched`] says why there is none.
    pub async fn send(
        &self,
        method: &Method,
        target: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Incoming>, Unfetched> {
        loop {
            let kept = self.free();
            let is_new = kept.is_none();
            let mut sender = match kept {
                Some(sender) => sender,
                None => timeout(PATIENCE, self.connect()).await.unwrap_or(Err(Unfetched::Late(PATIENCE)))?,
            };
            let answer = sender.send_request(self.request(method, target, headers, body)?).await;
            match answer {
                Ok(answer) => {
                    self.keep(sender);
                    return Ok(answer);
                }
                // It closed while nobody spoke, and has heard nothing of this.
                Err(error) if error.is_canceled() && !is_new => {}
                Err(error) => return Err(Unfetched::Broken(error.to_string())),
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        target: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Request<Full<Bytes>>, Unfetched> {
        let broken = |why: &dyn fmt::Display| Unfetched::Broken(why.to_string());
        let host = HeaderValue::from_str(&self.url.authority()).map_err(|e| broken(&e))?;
        let request = Request::builder().method(method).uri(target).body(Full::new(body.clone()));
        let mut request = request.map_err(|e| broken(&e))?;
        *request.headers_mut() = headers.clone();
        request.headers_mut().insert(HOST, host);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(NAME));
        Ok(request)
    }

    /// A connection over which nothing is said just now.
    fn free(&self) -> Option<Sender> {
        let mut kept = self.kept();
        kept.retain(|sender| !sender.is_closed());
        let at = kept.iter().position(Sender::is_ready)?;
        Some(kept.swap_remove(at))
    }

    fn keep(&self, sender: Sender) {
        let mut kept = self.kept();
        if kept.len() < KEPT {
            kept.push(sender);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Sender>> {
        // Each use leaves it whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Sender, Unfetched> {
        connect(&self.url, &*self.map, self.tls.clone(), &self.upstream).await
    }
}

/// Opens an HTTP/1.1 connection to the host of `url`, at an address that `map` permits; within TLS where `tls` is given.
pub(crate) async fn connect<B>(
    url: &WebUrl,
    map: &dyn Map,
    tls: Option<Arc<ClientConfig>>,
    upstream: &Upstream,
) -> Result<SendRequest<B>, Unfetched>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let (host, port) = (url.host(), url.port());
    let stream = upstream.connect(host, port, map).await.map_err(|why| match why {
        Apart::Refused(mismatch) => Unfetched::Refused(mismatch),
        Apart::Unreachable(why) => Unfetched::Unreachable(why),
    })?;
    match tls {
        None => http1::handshake(stream).await,
        Some(tls) => {
            http1::handshake(tls::handshake(tls, host, stream).await.map_err(Unfetched::Unreachable)?).await
        }
    }
    .map_err(|error| Unfetched::Broken(error.to_string()))
}
