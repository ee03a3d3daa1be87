//! Plain HTTP: every request of a connection names its host, so every request is looked at.
//!
//! Bytes are not passed but requests: what the relay understood is what is sent on, so that there are no two readings of
//! one text (request smuggling). A protocol that a request changes to (websockets) is passed as it is from then on.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{self, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::doorkeeper::{Ask, Mismatch, No};
use crate::relay::Shared;
use pinfold_policy::host::Host;

/// A response: from the host, or a refusal of our own.
pub(crate) type Said = Response<BoxBody<Bytes, hyper::Error>>;

/// The longest head of a request or response.
const LONGEST_HEAD: usize = 64 * 1024;

/// Serves the requests of one connection from one host.
pub(crate) async fn serve(shared: &Arc<Shared>, ask: &Ask, inside: TcpStream, host: TcpStream) {
    serve_with(shared, ask, inside, host, |_| (), |said| said).await;
}

/// The same with a last change to each request that may pass, and one to each answer.
pub(crate) async fn serve_with<I, H>(
    shared: &Arc<Shared>,
    ask: &Ask,
    inside: I,
    host: H,
    change: impl Fn(&mut Request<Incoming>),
    answer: impl Fn(Said) -> Said,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Ok(sender) = handshake(host).await else { return };
    let sender = Arc::new(Mutex::new(sender));
    let service = service_fn(|mut request: Request<Incoming>| {
        let sender = Arc::clone(&sender);
        let wrong = wrong(ask, &request);
        if wrong.is_none() {
            change(&mut request);
        }
        let answer = &answer;
        async move {
            Ok::<_, Infallible>(match wrong {
                None => answer(pass_on(shared, ask, &sender, request).await),
                Some(mismatch) => refusal(&shared.keeper.mismatch(ask, &mismatch)),
            })
        }
    });
    let served = server(shared.limits.hello).serve_connection(TokioIo::new(inside), service).with_upgrades();
    if served.await.is_err_and(|error| error.is_parse()) {
        shared.keeper.mismatch(ask, &Mismatch::Broken);
    }
}

/// Answers whatever is asked with the words that the host is not there.
pub(crate) async fn answer_all(
    hello: Duration,
    inside: impl hyper::rt::Read + hyper::rt::Write + Unpin,
    why: &str,
) {
    let service = service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(unreachable(why)) });
    let _ = server(hello).keep_alive(false).serve_connection(inside, service).await;
}

/// Answers whatever is asked with a refusal.
pub(crate) async fn refuse_all(hello: Duration, inside: TcpStream, no: &No) {
    let service = service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(refusal(no)) });
    let _ = server(hello).keep_alive(false).serve_connection(TokioIo::new(inside), service).await;
}

pub(crate) fn server(hello: Duration) -> hyper::server::conn::http1::Builder {
    let mut server = hyper::server::conn::http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(hello)
        .max_buf_size(LONGEST_HEAD)
        .preserve_header_case(true)
        .half_close(true);
    server
}

/// Speaks HTTP to a host.
pub(crate) async fn handshake<H>(host: H) -> hyper::Result<SendRequest<Incoming>>
where
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = hyper::client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .max_buf_size(LONGEST_HEAD)
        .handshake(TokioIo::new(host))
        .await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

/// The host that a request names.
pub(crate) struct Named {
    host: Host,
    port: Option<u16>,
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => self.host.fmt(f),
        }
    }
}

impl Named {
    /// Whether it is the host and port of a connection.
    fn is_for(&self, ask: &Ask) -> bool {
        self.host == ask.host && self.port.is_none_or(|port| port == ask.port)
    }
}

/// Why a request is not sent on to the host of its connection.
fn wrong(ask: &Ask, request: &Request<Incoming>) -> Option<Mismatch> {
    match host_of(request) {
        Some(named) if named.is_for(ask) => None,
        named => Some(Mismatch::HostHeader(named.map(|named| named.to_string()).unwrap_or_default())),
    }
}

/// What a request says about its host: exactly one `Host` header, and a target that does not contradict it.
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)
pub(crate) fn host_of(request: &Request<Incoming>) -> Option<Named> {
    let mut headers = request.headers().get_all(HOST).iter();
    let (header, None) = (headers.next()?, headers.next()) else { return None };
    let (host, port) = Host::parse_with_port(header.to_str().ok()?)?;
    let named = Named { host, port };
    match request.uri().authority() {
        None => Some(named),
        Some(authority) => {
            let (host, port) = Host::parse_with_port(authority.as_str())?;
            (host == named.host && port == named.port).then_some(named)
        }
    }
}

/// Sends a request on, and hands back what comes.
pub(crate) async fn pass_on(
    shared: &Arc<Shared>,
    ask: &Ask,
    sender: &Mutex<SendRequest<Incoming>>,
    mut request: Request<Incoming>,
) -> Said {
    // Hosts want the target alone; whoever asks a proxy writes all of it.
    if let Some(target) = request.uri().path_and_query().cloned() {
        *request.uri_mut() = Uri::from(target);
    }
    for hop in HOP_BY_HOP {
        request.headers_mut().remove(hop);
    }
    if !is_websocket(request.headers()) {
        for upgrade in UPGRADE {
            request.headers_mut().remove(upgrade);
        }
    }
    let upgrade = hyper::upgrade::on(&mut request);
    let mut sender = sender.lock().await;
    let sent = match sender.ready().await {
        Ok(()) => sender.send_request(request).await,
        Err(e) => Err(e),
    };
    drop(sender);
    match sent {
        Ok(mut response) => {
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                let (shared, ask, host) =
                    (Arc::clone(shared), ask.clone(), hyper::upgrade::on(&mut response));
                tokio::spawn(async move {
                    tokio::select! {
                        () = tunnel(upgrade, host) => {}
                        () = shared.denied(&ask) => {}
                    }
                });
            }
            response.map(BodyExt::boxed)
        }
        Err(e) => unreachable(&e.to_string()),
    }
}

/// The host is not there.
pub(crate) fn unreachable(why: &str) -> Said {
    plain(StatusCode::BAD_GATEWAY, format!("pinfold: the host did not answer: {why}\n"))
}

/// What a request would change the protocol by.
const UPGRADE: [HeaderName; 2] = [header::UPGRADE, HeaderName::from_static("http2-settings")];

/// Whether a request changes to websockets, which name no further hosts. Another protocol could: HTTP/2 without TLS names
/// one in each request.
fn is_websocket(headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(header::UPGRADE).iter();
    let only = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    named.next().is_some_and(only) && named.next().is_none()
}

/// Headers that are for the proxy and not for the host. `Connection` and `Upgrade` stay: both ends are ours to keep.
const HOP_BY_HOP: [HeaderName; 2] =
    [HeaderName::from_static("proxy-connection"), HeaderName::from_static("proxy-authorization")];

/// What two sides agreed to speak from now on is theirs.
async fn tunnel(inside: hyper::upgrade::OnUpgrade, host: hyper::upgrade::OnUpgrade) {
    let (Ok(inside), Ok(host)) = tokio::join!(inside, host) else { return };
    let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(inside), &mut TokioIo::new(host)).await;
}

/// A refusal in the words of the protocol.
pub(crate) fn refusal(no: &No) -> Said {
    let text = if no.id.is_empty() {
        format!("pinfold: {}\n", no.message)
    } else {
        format!("pinfold: {} ({})\n", no.message, no.id)
    };
    plain(StatusCode::FORBIDDEN, text)
}

pub(crate) fn plain(status: StatusCode, text: String) -> Said {
    let mut response = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
