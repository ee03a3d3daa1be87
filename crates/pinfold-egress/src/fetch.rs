//! One page from one host: a request, its answer, and nothing that the answer would lead to.
//!
//! The host is resolved, looked at and connected to as for the relay; what is said to it about itself (SNI, `Host`) is
//! what was judged. Heads, bodies and time end somewhere.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderMap, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use pinfold_host::{Host, Map, Scheme, WebUrl};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::doorkeeper::Mismatch;
use crate::tls;
use crate::unpack;
use crate::upstream::{Apart, Upstream};

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

/// The longest head of an answer.
pub(crate) const LONGEST_HEAD: usize = 64 * 1024;

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
        let stream =
            Upstream::default().connect(url.host(), url.port(), map).await.map_err(|why| match why {
                Apart::Refused(mismatch) => Unfetched::Refused(mismatch),
                Apart::Unreachable(why) => Unfetched::Unreachable(why),
            })?;
        let answer = match tls {
            None => ask(TokioIo::new(stream), url, method).await?,
            Some(tls) => ask(TokioIo::new(within_tls(tls, url.host(), stream).await?), url, method).await?,
        };
        read(answer, most).await
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.tls.get_or_init(|| tls::verifying(self.roots.as_deref().map(Path::new))).clone()
    }
}

/// Waits until nobody waits any more.
async fn given_up(waits: &(dyn Fn() -> bool + Sync)) {
    while waits() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Speaks TLS to a host that has to prove that it is this one.
pub(crate) async fn within_tls(
    config: Arc<ClientConfig>,
    host: &Host,
    stream: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, Unfetched> {
    let name = match host {
        Host::Name(name) => ServerName::try_from(name.as_str().to_owned())
            .map_err(|e| Unfetched::Unreachable(format!("{host}: {e}")))?,
        Host::Address(address) => ServerName::from(IpAddr::to_canonical(address)),
    };
    let connected = TlsConnector::from(config).connect(name, stream).await;
    connected.map_err(|e| Unfetched::Unreachable(format!("TLS with {host}: {e}")))
}

async fn ask<T>(io: T, url: &WebUrl, method: Method) -> Result<Response<Incoming>, Unfetched>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let request = Request::builder()
        .method(match method {
            Method::Get => hyper::Method::GET,
            Method::Head => hyper::Method::HEAD,
        })
        .uri(url.target())
        .header(HOST, url.authority())
        .header(USER_AGENT, NAME)
        .header(ACCEPT, WANTED)
        .header(ACCEPT_ENCODING, unpack::UNDERSTOOD)
        .body(Empty::<Bytes>::new())
        .map_err(|e| broken(&e.to_string()))?;
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(LONGEST_HEAD)
        .handshake(io)
        .await
        .map_err(|e| broken(&e.to_string()))?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|e| broken(&e.to_string()))
}

/// The content, unless it is too much, packed or not. It is counted as it comes: what a head says about its length is only
/// a hint.
async fn read(answer: Response<Incoming>, most: u64) -> Result<Fetched, Unfetched> {
    let (head, mut body) = answer.into_parts();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| broken(&e.to_string()))?;
        let Some(data) = frame.data_ref() else { continue };
        if (bytes.len() + data.len()) as u64 > most {
            return Err(Unfetched::TooLarge(most));
        }
        bytes.extend_from_slice(data);
    }
    let body = unpack::unpacked(&head.headers, bytes, most)?;
    Ok(Fetched { status: head.status.as_u16(), headers: head.headers, body })
}

fn broken(why: &str) -> Unfetched {
    Unfetched::Broken(why.to_owned())
}
