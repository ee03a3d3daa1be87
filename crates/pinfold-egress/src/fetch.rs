//! One page from one host: a request and its response, redirects not followed.
//!
//! The host is resolved, checked and connected to as for the relay; the name that the host sees (SNI, `Host`) is the
//! name that was judged. Header section, body and time are bounded.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderMap, USER_AGENT};
use hyper::{Request, Response};
use pinfold_host::{AddressPolicy, Scheme, WebUrl};
use pinfold_net::http1::{self, BodyError};
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::decompress;
use crate::origin_client::connect;
use crate::policy::EgressViolation;
use crate::tls;
use crate::upstream::Upstream;

/// The method of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchMethod {
    /// `GET`: with the content.
    Get,
    /// `HEAD`: the header section alone.
    Head,
}

/// A response of a host.
#[derive(Debug)]
pub struct FetchedPage {
    /// The status code.
    pub status: u16,
    /// The header section.
    pub headers: HeaderMap,
    /// The content, decompressed.
    pub body: Vec<u8>,
}

/// Stage of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchStage {
    /// Resolving the host, connecting to it, and the TLS handshake.
    Connect,
    /// Waiting for the header section of the response.
    Response,
    /// Reading the content.
    Content,
}

/// Reason why there is no response.
#[derive(Debug, PartialEq, Eq)]
pub enum FetchError {
    /// The host resolves to an address that is not permitted.
    Refused(EgressViolation),
    /// The host cannot be connected to, or its certificate does not verify.
    Unreachable(String),
    /// The response is malformed.
    Malformed(String),
    /// There was no response within this time; the stage that it ended in.
    TimedOut(Duration, FetchStage),
    /// The caller cancelled it.
    Cancelled,
    /// The content has more than this many bytes.
    TooLarge(u64),
    /// The content has a coding that was not asked for.
    UnsupportedCoding(String),
}

/// Fetches pages. The trust roots are read when the first `https` page needs them.
#[derive(Debug, Default)]
pub struct FetchClient {
    /// The file of trust roots that replaces the system's.
    roots: Option<PathBuf>,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// The interval at which the caller is asked whether the page is still wanted.
const POLL: Duration = Duration::from_millis(50);

/// The `User-Agent` of every request.
pub(crate) const USER_AGENT_VALUE: &str = concat!("pinfold/", env!("CARGO_PKG_VERSION"));

/// The `Accept` of a fetch: the formats with the least overhead first.
const ACCEPTED: &str = "text/markdown, text/plain;q=0.9, text/html;q=0.8, application/json;q=0.8, */*;q=0.5";

impl FetchClient {
    /// A client with the trust roots of a file instead of the system's.
    pub fn with_roots(roots: impl Into<PathBuf>) -> Self {
        Self { roots: Some(roots.into()), tls: OnceLock::new() }
    }

    /// A new client with the same trust roots.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { roots: self.roots.clone(), tls: OnceLock::new() }
    }

    /// Fetches one page of at most `limit` bytes. Returns early once `is_awaited` returns false.
    ///
    /// # Errors
    /// [`FetchError`] says why there is no page.
    pub fn fetch(
        &self,
        url: &WebUrl,
        method: FetchMethod,
        policy: &dyn AddressPolicy,
        limit: u64,
        time_limit: Duration,
        is_awaited: &(dyn Fn() -> bool + Sync),
    ) -> Result<FetchedPage, FetchError> {
        let run = || {
            let stage = Cell::new(FetchStage::Connect);
            let all = async {
                tokio::select! {
                    fetched = timeout(time_limit, self.fetch_page(url, method, policy, limit, &stage)) => {
                        fetched.unwrap_or_else(|_| Err(FetchError::TimedOut(time_limit, stage.get())))
                    }
                    () = cancelled(is_awaited) => Err(FetchError::Cancelled),
                }
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|e| FetchError::Unreachable(e.to_string()))?.block_on(all)
        };
        // On a thread of its own: the caller may be inside another runtime.
        thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Err(malformed("the fetch failed")))
    }

    async fn fetch_page(
        &self,
        url: &WebUrl,
        method: FetchMethod,
        policy: &dyn AddressPolicy,
        limit: u64,
        stage: &Cell<FetchStage>,
    ) -> Result<FetchedPage, FetchError> {
        // Before anything is sent.
        let tls = match url.scheme() {
            Scheme::Http => None,
            Scheme::Https => Some(self.tls().map_err(FetchError::Unreachable)?),
        };
        let mut sender = connect(url, policy, tls, &Upstream::default()).await?;
        stage.set(FetchStage::Response);
        let answer = sender.send_request(request(url, method)?).await;
        stage.set(FetchStage::Content);
        read(answer.map_err(|e| malformed(&e.to_string()))?, limit).await
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(|| tls::client_config(self.roots.as_deref().map(Path::new))).clone()
    }
}

/// Waits until the caller no longer wants the page.
async fn cancelled(is_awaited: &(dyn Fn() -> bool + Sync)) {
    while is_awaited() {
        tokio::time::sleep(POLL).await;
    }
}

fn request(url: &WebUrl, method: FetchMethod) -> Result<Request<Empty<Bytes>>, FetchError> {
    Request::builder()
        .method(match method {
            FetchMethod::Get => hyper::Method::GET,
            FetchMethod::Head => hyper::Method::HEAD,
        })
        .uri(url.target())
        .header(HOST, url.authority())
        .header(USER_AGENT, USER_AGENT_VALUE)
        .header(ACCEPT, ACCEPTED)
        .header(ACCEPT_ENCODING, decompress::ACCEPT_ENCODING)
        .body(Empty::new())
        .map_err(|e| malformed(&e.to_string()))
}

/// Reads and decompresses the content, within the limit.
async fn read(answer: Response<Incoming>, limit: u64) -> Result<FetchedPage, FetchError> {
    let (head, body) = answer.into_parts();
    let max = usize::try_from(limit).unwrap_or(usize::MAX);
    let bytes = http1::read_body(body, max).await.map_err(|why| match why {
        BodyError::TooLarge => FetchError::TooLarge(limit),
        BodyError::Broken(error) => malformed(&error.to_string()),
    })?;
    let body = decompress::decompress(&head.headers, bytes, limit)?;
    Ok(FetchedPage { status: head.status.as_u16(), headers: head.headers, body })
}

fn malformed(why: &str) -> FetchError {
    FetchError::Malformed(why.to_owned())
}
