//! Plain HTTP: every request of a connection names its host, so every request is looked at.
//!
//! Bytes are not passed but requests: what the relay understood is what is sent on, so that there are no two readings of
//! one text (request smuggling). A protocol that a request changes to (websockets) is passed as it is from then on.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{self, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use pinfold_host::Host;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::doorkeeper::{Ask, Mismatch, No};
use crate::heads::{Course, Heads};
use crate::relay::Shared;
use crate::rounds::{Beside, Held, Round, held, round, something_is_said};

/// What a response consists of behind its head.
pub(crate) type SaidBody = BoxBody<Bytes, hyper::Error>;

/// A response: from the host, or a refusal of our own.
pub(crate) type Said = Response<SaidBody>;

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
    let (mut inside, mut host) = (Heads::asking(inside), Heads::answering(host));
    while something_is_said(&mut inside, Some(&mut host), shared.limits.idle).await {
        // On the heap, and gone between them.
        match Box::pin(requests(shared, ask, inside, host, &change, &answer)).await {
            Some(both) => (inside, host) = both,
            None => return,
        }
    }
    // Within TLS an end is said too. Whoever has gone does not hear it.
    let _ = inside.shutdown().await;
}

/// Serves requests until nothing is said any more: then both sides come back.
async fn requests<I, H>(
    shared: &Arc<Shared>,
    ask: &Ask,
    inside: Heads<I>,
    host: Heads<H>,
    change: &impl Fn(&mut Request<Incoming>),
    answer: &impl Fn(Said) -> Said,
) -> Option<(Heads<I>, Heads<H>)>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (course, outward) = (inside.course(), host.course());
    let (sender, client) = client().handshake(TokioIo::new(host)).await.ok()?;
    let sender = Arc::new(Mutex::new(sender));
    let mut client = Some(client);
    let service = service_fn(|mut request: Request<Incoming>| {
        let (busy, sender) = (course.begin(&request), Arc::clone(&sender));
        let wrong =
            if course.says_its_length_twice() { Some(Mismatch::TwoLengths) } else { wrong(ask, &request) };
        if wrong.is_none() {
            change(&mut request);
        }
        let request = request.map(|body| Held::new(body, busy.clone()));
        let said = async move {
            Ok::<_, Infallible>(held(
                match wrong {
                    None => answer(pass_on(shared, ask, &sender, request).await),
                    Some(mismatch) => mismatched(&mismatch, &shared.keeper.mismatch(ask, &mismatch)),
                },
                busy,
            ))
        };
        Box::pin(said)
    });
    let beside = |context: &mut Context<'_>| {
        if course.changes()
            && let Some(client) = client.take()
        {
            // Only so does it hand the connection out.
            tokio::spawn(client.with_upgrades());
        }
        let Some(talks) = &mut client else { return Beside::Gone };
        if Pin::new(talks).poll(context).is_ready() {
            client = None;
            return Beside::Gone;
        }
        let is_ready = sender.try_lock().is_ok_and(|sender| sender.is_ready());
        if is_ready && outward.is_flushed() { Beside::Ready } else { Beside::Busy }
    };
    match round(shared.limits.hello, inside, service, beside).await {
        Round::Quiet(inside) => {
            let parts = client?.into_parts();
            let host = parts.io.into_inner();
            // What nobody asked for is no beginning of an answer.
            parts.read_buf.is_empty().then_some((inside, host))
        }
        Round::Over(served) => {
            if served.is_err_and(|error| error.is_parse()) {
                shared.keeper.mismatch(ask, &unreadable(&course));
            }
            None
        }
    }
}

/// Why a request cannot be read.
pub(crate) fn unreadable(course: &Course) -> Mismatch {
    if course.says_its_length_twice() { Mismatch::TwoLengths } else { Mismatch::Broken }
}

/// A refusal of what was let pass before it was read.
pub(crate) fn mismatched(mismatch: &Mismatch, no: &No) -> Said {
    let mut said = refusal(no);
    if *mismatch == Mismatch::TwoLengths {
        *said.status_mut() = StatusCode::BAD_REQUEST;
    }
    said
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

fn client() -> hyper::client::conn::http1::Builder {
    let mut client = hyper::client::conn::http1::Builder::new();
    client.preserve_header_case(true).max_buf_size(LONGEST_HEAD);
    client
}

/// Sends requests to a host.
pub(crate) type Sender = SendRequest<Held<Incoming>>;

/// Speaks HTTP to a host.
pub(crate) async fn handshake(host: TcpStream) -> hyper::Result<Sender> {
    let (sender, connection) = client().handshake(TokioIo::new(host)).await?;
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
pub(crate) fn host_of<B>(request: &Request<B>) -> Option<Named> {
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
    sender: &Mutex<Sender>,
    mut request: Request<Held<Incoming>>,
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
