//! One page from one host: a request, its answer, and nothing that the answer would lead to.
//!
//! The host is resolved, looked at and connected to as for the relay; what is said to it about itself (SNI, `Host`) is
//! what was judged. Heads, bodies and time end somewhere.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderMap, USER_AGENT};
use hyper::{Request, Response};
use pinfold_net::http1::{self, BodyError};
use pinfold_host::{Map, Scheme, WebUrl};
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::doorkeeper::Mismatch;
use crate::exchange::connect;
use crate::tls;
use crate::unpack;
use crate::upstream::Upstream;

/// How a page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// With its content.
    Get,
    /// Without.
    Head,
}

/// What a host answered.
#[derive(Debug)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// The head.
    pub headers: HeaderMap,
    /// The content.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfetched {
    /// The host leads where it may not.
    Refused(Mismatch),
    /// The host is not there, or is not who it should be.
    Unreachable(String),
    /// What it says is no answer.
    Broken(String),
    /// It took longer than this.
    Late(Duration),
    /// Nobody waits for it any more.
    GivenUp,
    /// The content is larger than this.
    TooLarge(u64),
    /// The content is packed in a way that was not asked for.
    Encoded(String),
}

/// Fetches pages. What it needs for TLS is found out when it is first needed.
#[derive(Debug, Default)]
pub struct Client {
    /// The file of the authorities, in place of the system's.
    roots: Option<PathBuf>,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// After how long it is asked again whether anybody waits.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What this program calls itself.
pub(crate) const NAME: &str = concat!("pinfold/", env!("CARGO_PKG_VERSION"));

/// What is wanted, the shortest first.
const WANTED: &str = "text/markdown, text/plain;q=0.9, text/html;q=0.8, application/json;q=0.8, */*;q=0.5";

impl Client {
    /// One that trusts the authorities in a file instead of the system's.
    pub fn trusting(roots: impl Into<PathBuf>) -> Self {
        Self { roots: Some(roots.into()), tls: OnceLock::new() }
    }

    /// One that trusts the same authorities.
    #[must_use]
    pub fn below(&self) -> Self {
        Self { roots: self.roots.clone(), tls: OnceLock::new() }
    }

    /// Fetches one page of `most` bytes at most, as long as `waits` says that somebody still wants it.
    ///
    /// # Errors
    /// [`Unfetched`] says why there is none.
    pub fn fetch(
        &self,
        url: &WebUrl,
        method: Method,
        map: &dyn Map,
        most: u64,
        patience: Duration,
        waits: &(dyn Fn() -> bool + Sync),
    ) -> Result<Fetched, Unfetched> {
        let all = async {
            tokio::select! {
                fetched = timeout(patience, self.one(url, method, map, most)) => {
                    fetched.unwrap_or(Err(Unfetched::Late(patience)))
                }
                () = given_up(waits) => Err(Unfetched::GivenUp),
            }
        };
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|e| Unfetched::Unreachable(e.to_string()))?.block_on(all)
        };
        // On a thread of its own: whoever calls may be run by another runtime.
        thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Err(broken("the fetch broke off")))
    }

    async fn one(
        &self,
        url: &WebUrl,
        method: Method,
        map: &dyn Map,
        most: u64,
    ) -> Result<Fetched, Unfetched> {
        // Before anything is sent.
        let tls = match url.scheme() {
            Scheme::Http => None,
            Scheme::Https => Some(self.tls().map_err(Unfetched::Unreachable)?),
        };
        let mut sender = connect(url, map, tls, &Upstream::default()).await?;
        let answer = sender.send_request(request(url, method)?).await;
        read(answer.map_err(|e| broken(&e.to_string()))?, most).await
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(|| tls::client_config(self.roots.as_deref().map(Path::new))).clone()
    }
}

/// Waits until nobody waits any more.
async fn given_up(waits: &(dyn Fn() -> bool + Sync)) {
    while waits() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn request(url: &WebUrl, method: Method) -> Result<Request<Empty<Bytes>>, Unfetched> {
    Request::builder()
        .method(match method {
            Method::Get => hyper::Method::GET,
            Method::Head => hyper::Method::HEAD,
        })
        .uri(url.target())
        .header(HOST, url.authority())
        .header(USER_AGENT, NAME)
        .header(ACCEPT, WANTED)
        .header(ACCEPT_ENCODING, unpack::UNDERSTOOD)
        .body(Empty::new())
        .map_err(|e| broken(&e.to_string()))
}

/// The content, unless it is too much, packed or not. It is counted as it comes: what a head says about its length is only
/// a hint.
async fn read(answer: Response<Incoming>, most: u64) -> Result<Fetched, Unfetched> {
    let (head, body) = answer.into_parts();
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let bytes = http1::read_body(body, limit).await.map_err(|why| match why {
        BodyError::TooLarge => Unfetched::TooLarge(most),
        BodyError::Broken(error) => broken(&error.to_string()),
    })?;
    let body = unpack::unpacked(&head.headers, bytes, most)?;
    Ok(Fetched { status: head.status.as_u16(), headers: head.headers, body })
}

fn broken(why: &str) -> Unfetched {
    Unfetched::Broken(why.to_owned())
}
