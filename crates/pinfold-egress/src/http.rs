//! Plain HTTP: every request of a connection names a host, so every request is checked.
//!
//! Requests are parsed and re-serialized, not copied: what the relay understood is what the upstream host receives, so that
//! the two cannot read one text differently (request smuggling). After an upgrade (WebSocket) bytes are copied unchanged.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{self, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use pinfold_host::Host;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::framing::{ConnectionState, RequestFramer, has_body};
use crate::keep_alive::{
    KeepAlivePhase, TrackedBody, UpstreamState, serve_until_idle, track, wait_for_request,
};
use crate::limits::{http_client, http_server};
use crate::permitted::PermittedConnection;
use crate::policy::{ConnectRefusal, ConnectRequest, EgressViolation};
use crate::response::{self, RelayResponse};
use crate::state::RelayState;

/// Serves the requests of one client connection to one host.
pub(crate) async fn serve(state: &Arc<RelayState>, inside: TcpStream, upstream: PermittedConnection) {
    let connect = upstream.request().clone();
    serve_with(state, &connect, inside, upstream.into_stream(), |_| (), |response| response).await;
}

/// Serves requests, with a last edit of each request that is forwarded and of each response.
pub(crate) async fn serve_with<I, H>(
    state: &Arc<RelayState>,
    connect: &ConnectRequest,
    inside: I,
    upstream: H,
    edit_request: impl Fn(&mut Request<Incoming>),
    edit_response: impl Fn(RelayResponse) -> RelayResponse,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut inside, mut upstream) =
        (RequestFramer::for_requests(inside), RequestFramer::for_responses(upstream));
    while wait_for_request(&mut inside, Some(&mut upstream), state.limits.idle).await {
        // Boxed, so that an idle connection does not keep the hyper state machines alive.
        match Box::pin(serve_requests(state, connect, inside, upstream, &edit_request, &edit_response)).await
        {
            Some(idle) => (inside, upstream) = idle,
            None => return,
        }
    }
    // TLS ends with a close_notify alert (RFC 8446 §6.1). A client that is gone misses it.
    let _ = inside.shutdown().await;
}

/// Serves requests until the connection is idle, and returns both sides then.
async fn serve_requests<I, H>(
    state: &Arc<RelayState>,
    connect: &ConnectRequest,
    inside: RequestFramer<I>,
    upstream: RequestFramer<H>,
    edit_request: &impl Fn(&mut Request<Incoming>),
    edit_response: &impl Fn(RelayResponse) -> RelayResponse,
) -> Option<(RequestFramer<I>, RequestFramer<H>)>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (connection, upstream_connection) = (inside.connection(), upstream.connection());
    let (sender, client) = http_client().handshake(TokioIo::new(upstream)).await.ok()?;
    let sender = Arc::new(Mutex::new(Some(sender)));
    let mut client = Some(client);
    let service = service_fn(|mut request: Request<Incoming>| {
        let (in_flight, sender) = (connection.begin(&request), Arc::clone(&sender));
        let violation =
            length_violation(&connection, request.headers()).or_else(|| host_violation(connect, &request));
        if violation.is_none() {
            edit_request(&mut request);
        }
        let request = request.map(|body| TrackedBody::new(body, in_flight.clone()));
        let response = async move {
            let response = match violation {
                None => edit_response(forward(&sender, request).await),
                Some(violation) => {
                    response::violation(&violation, &state.policy.report_violation(connect, &violation))
                }
            };
            Ok::<_, Infallible>(track(response, in_flight))
        };
        Box::pin(response)
    });
    let upstream_state = |context: &mut Context<'_>| {
        if connection.wants_upgrade()
            && let Some(client) = client.take()
        {
            // hyper hands the connection out only in this mode.
            tokio::spawn(client.with_upgrades());
        }
        // Behind the last response the library closes the client's side.
        let closed = if connection.is_last() { UpstreamState::InFlight } else { UpstreamState::Closed };
        let Some(driver) = &mut client else { return closed };
        if Pin::new(driver).poll(context).is_ready() {
            client = None;
            return closed;
        }
        let is_ready =
            sender.try_lock().is_ok_and(|sender| sender.as_ref().is_some_and(SendRequest::is_ready));
        if is_ready && upstream_connection.is_flushed() {
            UpstreamState::Idle
        } else {
            UpstreamState::InFlight
        }
    };
    match serve_until_idle(state.limits.hello, inside, service, upstream_state).await {
        KeepAlivePhase::Idle(inside) => {
            let parts = client?.into_parts();
            let upstream = parts.io.into_inner();
            // Bytes without a request are no response: the connection cannot be used again.
            parts.read_buf.is_empty().then_some((inside, upstream))
        }
        KeepAlivePhase::Closed(served) => {
            if served.is_err_and(|error| error.is_parse()) {
                state.policy.report_violation(connect, &parse_violation(&connection));
            }
            None
        }
    }
}

/// Why a request could not be parsed.
fn parse_violation(connection: &ConnectionState) -> EgressViolation {
    if connection.has_conflicting_lengths() {
        EgressViolation::ConflictingLengths
    } else {
        EgressViolation::Malformed
    }
}

/// Why a request's body may not be forwarded: its length can be read in two ways (RFC 9112 §6), or it has another coding than
/// servers agree on.
pub(crate) fn length_violation(connection: &ConnectionState, headers: &HeaderMap) -> Option<EgressViolation> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let (coding, is_one) = (codings.next(), codings.next().is_none());
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let length = lengths.next();
    let is_conflict = (coding.is_some() && length.is_some()) || lengths.any(|other| Some(other) != length);
    if is_conflict || connection.has_conflicting_lengths() {
        return Some(EgressViolation::ConflictingLengths);
    }
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(CHUNKED.as_bytes());
    (!is_one || !coding.is_none_or(is_chunked)).then_some(EgressViolation::TransferCoding)
}

/// The only transfer coding of requests.
const CHUNKED: HeaderValue = HeaderValue::from_static("chunked");

/// Answers one request with 502.
pub(crate) async fn answer_unreachable(
    hello: Duration,
    inside: impl hyper::rt::Read + hyper::rt::Write + Unpin,
    why: &str,
) {
    let service =
        service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(response::unreachable(why)) });
    let _ = http_server(hello).keep_alive(false).serve_connection(inside, service).await;
}

/// Answers one request with a refusal.
pub(crate) async fn refuse_all(hello: Duration, inside: TcpStream, refusal: &ConnectRefusal) {
    let service =
        service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(response::refusal(refusal)) });
    let _ = http_server(hello).keep_alive(false).serve_connection(TokioIo::new(inside), service).await;
}

/// The sending half of an HTTP connection to an upstream host.
pub(crate) type UpstreamSender = SendRequest<TrackedBody<Incoming>>;

/// Starts HTTP with an upstream host.
pub(crate) async fn handshake(upstream: PermittedConnection) -> hyper::Result<UpstreamSender> {
    let (sender, connection) = http_client().handshake(TokioIo::new(upstream.into_stream())).await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

/// The host that a request names.
pub(crate) struct RequestHost {
    host: Host,
    port: Option<u16>,
}

impl std::fmt::Display for RequestHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            host => host.fmt(f)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl RequestHost {
    /// Returns whether this is the host and port of the connection.
    fn is_for(&self, connect: &ConnectRequest) -> bool {
        self.host == connect.host && self.port.is_none_or(|port| port == connect.port)
    }
}

/// Why a request may not be forwarded to the host of its connection.
fn host_violation(connect: &ConnectRequest, request: &Request<Incoming>) -> Option<EgressViolation> {
    match request_host(request) {
        Some(host) if host.is_for(connect) => None,
        host => Some(EgressViolation::HostHeader(host.map(|host| host.to_string()).unwrap_or_default())),
    }
}

/// The host of a request: exactly one `Host` header, and a request target that does not contradict it.
/// [RFC 9112 §3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2)
pub(crate) fn request_host<B>(request: &Request<B>) -> Option<RequestHost> {
    let mut headers = request.headers().get_all(HOST).iter();
    let (header, None) = (headers.next()?, headers.next()) else { return None };
    let (host, port) = Host::parse_with_port(header.to_str().ok()?)?;
    let named = RequestHost { host, port };
    match request.uri().authority() {
        None => Some(named),
        Some(authority) => {
            let (host, port) = Host::parse_with_port(authority.as_str())?;
            (host == named.host && port == named.port).then_some(named)
        }
    }
}

/// Forwards a request and returns the response. `sender`: gone when no further request may use its connection.
pub(crate) async fn forward(
    sender: &Mutex<Option<UpstreamSender>>,
    mut request: Request<TrackedBody<Incoming>>,
) -> RelayResponse {
    // The host as it was judged, whatever the case and the dots that it was written with.
    let host = request_host(&request).and_then(|host| HeaderValue::try_from(host.to_string()).ok());
    let Some(host) = host else { return response::unreachable("the request names no host") };
    request.headers_mut().insert(HOST, host);
    if request.headers().contains_key(header::TRANSFER_ENCODING) {
        request.headers_mut().insert(header::TRANSFER_ENCODING, CHUNKED);
    }
    // Clients send a proxy the absolute form; origin servers get the origin form (RFC 9112 §3.2).
    if let Some(target) = request.uri().path_and_query().cloned() {
        *request.uri_mut() = Uri::from(target);
    }
    for hop in HOP_BY_HOP {
        request.headers_mut().remove(hop);
    }
    let is_last = has_body(request.body());
    if is_last || !is_websocket(request.headers()) {
        for upgrade in UPGRADE {
            request.headers_mut().remove(upgrade);
        }
    }
    if is_last {
        request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let upgrade = hyper::upgrade::on(&mut request);
    let mut place = sender.lock().await;
    let Some(mut sender) = place.take() else {
        return response::unreachable("its connection was for the request before");
    };
    let sent = match sender.ready().await {
        Ok(()) => sender.send_request(request).await,
        Err(e) => Err(e),
    };
    // Without a sender the connection is closed behind the response.
    *place = (!is_last).then_some(sender);
    drop(place);
    match sent {
        Ok(mut response) => {
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                tokio::spawn(tunnel(upgrade, hyper::upgrade::on(&mut response)));
            }
            response.map(BodyExt::boxed)
        }
        Err(e) => response::unreachable(&e.to_string()),
    }
}

/// Headers that ask for another protocol.
const UPGRADE: [HeaderName; 2] = [header::UPGRADE, HeaderName::from_static("http2-settings")];

/// Returns whether a request asks for WebSocket and nothing else. WebSocket names no further hosts; HTTP/2 without TLS
/// names one in each stream.
fn is_websocket(headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(header::UPGRADE).iter();
    let only = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    named.next().is_some_and(only) && named.next().is_none()
}

/// Headers for the proxy alone. `Connection` and `Upgrade` are handled by the HTTP library on both sides.
const HOP_BY_HOP: [HeaderName; 2] =
    [HeaderName::from_static("proxy-connection"), HeaderName::from_static("proxy-authorization")];

/// Copies bytes both ways after an upgrade.
async fn tunnel(inside: hyper::upgrade::OnUpgrade, upstream: hyper::upgrade::OnUpgrade) {
    let (Ok(inside), Ok(upstream)) = tokio::join!(inside, upstream) else { return };
    let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(inside), &mut TokioIo::new(upstream)).await;
}
