//! The relay as an HTTP proxy and a SOCKS 5 proxy, on one port, told apart by the first byte.
//!
//! For programs that need a proxy. The policy is the same as for transparent connections.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pinfold_host::Host;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::connection::relay_connection;
use crate::framing::RequestFramer;
use crate::http;
use crate::keep_alive::{
    KeepAlivePhase, TrackedBody, UpstreamState, serve_until_idle, track, wait_for_request,
};
use crate::permitted::{PermittedConnection, Slot};
use crate::policy::{ConnectMethod, ConnectRequest, EgressViolation};
use crate::response::{self, RelayResponse};
use crate::state::{ConnectError, RelayState};

/// The version byte of SOCKS 5, which a client sends first.
/// [RFC 1928 §3](https://www.rfc-editor.org/rfc/rfc1928#section-3)
const SOCKS_VERSION: u8 = 5;

/// The target in the audit log of a request that cannot be parsed.
const MALFORMED: &str = "a malformed request";

/// Serves one connection to the proxy's port.
pub(crate) async fn serve(state: &Arc<RelayState>, inside: TcpStream, source: SocketAddr, slot: &Slot) {
    let mut first = [0];
    match timeout(state.limits.hello, inside.peek(&mut first)).await {
        Ok(Ok(1)) if first == [SOCKS_VERSION] => serve_socks(state, inside, source, slot).await,
        Ok(Ok(1)) => serve_http(state, inside, source, slot).await,
        Ok(Ok(_) | Err(_)) | Err(_) => {}
    }
}

async fn serve_http(state: &Arc<RelayState>, inside: TcpStream, source: SocketAddr, slot: &Slot) {
    let mut inside = RequestFramer::for_requests(inside);
    while wait_for_request::<_, TcpStream>(&mut inside, None, state.limits.idle).await {
        let connection = inside.connection();
        let service = service_fn(|request: Request<Incoming>| {
            let in_flight = connection.begin(&request);
            let violation = http::length_violation(&connection, request.headers());
            let request = request.map(|body| TrackedBody::new(body, in_flight.clone()));
            let response = async move {
                let response = match *request.method() {
                    Method::CONNECT => connect(state, request, source, slot).await,
                    _ => forward(state, request, violation, source, slot).await,
                };
                Ok::<_, Infallible>(track(response, in_flight))
            };
            Box::pin(response)
        });
        // Boxed, so that an idle connection does not keep the hyper state machine alive.
        let served = serve_until_idle(state.limits.hello, inside, service, |_| UpstreamState::Idle);
        match Box::pin(served).await {
            KeepAlivePhase::Idle(idle) => inside = idle,
            KeepAlivePhase::Closed(served) => {
                if served.is_err_and(|error| error.is_parse()) {
                    state.policy.report_invalid_target(MALFORMED, source.port());
                }
                return;
            }
        }
    }
}

/// Serves `CONNECT host:port`: a tunnel, whose first bytes have to name the host too.
async fn connect(
    state: &Arc<RelayState>,
    mut request: Request<TrackedBody<Incoming>>,
    source: SocketAddr,
    slot: &Slot,
) -> RelayResponse {
    let target = request.uri().authority().and_then(|target| Host::parse_with_port(target.as_str()));
    let Some((host, Some(port))) = target else {
        state.policy.report_invalid_target(&request.uri().to_string(), source.port());
        let text = "pinfold: CONNECT needs a host and a port\n";
        return response::plain(StatusCode::BAD_REQUEST, text.to_owned());
    };
    let connect = ConnectRequest { host, port, method: ConnectMethod::HttpProxy, source_port: source.port() };
    let upstream = match state.connect(connect, slot).await {
        Ok(upstream) => upstream,
        Err(error) => return error_response(&error),
    };
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(tunnel(Arc::clone(state), upgrade, upstream));
    Response::new(Empty::<Bytes>::new().map_err(|never| match never {}).boxed())
}

async fn tunnel(state: Arc<RelayState>, upgrade: OnUpgrade, upstream: PermittedConnection) {
    let Ok(upgraded) = upgrade.await else { return };
    let Ok(parts) = Upgraded::downcast::<TokioIo<RequestFramer<TcpStream>>>(upgraded) else { return };
    let (inside, ahead) = parts.io.into_inner().into_parts();
    let early = [parts.read_buf.as_ref(), &ahead].concat();
    relay_connection(&state, inside, early.into(), upstream).await;
}

/// Serves `GET http://host/…`: one request to one host.
async fn forward(
    state: &Arc<RelayState>,
    request: Request<TrackedBody<Incoming>>,
    violation: Option<EgressViolation>,
    source: SocketAddr,
    slot: &Slot,
) -> RelayResponse {
    let is_http = request.uri().scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    let target = request.uri().authority().and_then(|target| Host::parse_with_port(target.as_str()));
    let (true, Some((host, port)), Some(_)) = (is_http, target, http::request_host(&request)) else {
        state.policy.report_invalid_target(&request.uri().to_string(), source.port());
        let text = "pinfold: ask this proxy for http://host/… or with CONNECT host:port\n";
        return response::plain(StatusCode::BAD_REQUEST, text.to_owned());
    };
    let connect = ConnectRequest {
        host,
        port: port.unwrap_or(80),
        method: ConnectMethod::HttpProxy,
        source_port: source.port(),
    };
    if let Some(violation) = violation {
        return response::violation(&violation, &state.policy.report_violation(&connect, &violation));
    }
    let upstream = match state.connect(connect, slot).await {
        Ok(upstream) => upstream,
        Err(error) => return error_response(&error),
    };
    match http::handshake(upstream).await {
        Ok(sender) => http::forward(&Mutex::new(Some(sender)), request).await,
        Err(e) => response::unreachable(&e.to_string()),
    }
}

fn error_response(error: &ConnectError) -> RelayResponse {
    match error {
        ConnectError::Refused(refusal) => response::refusal(refusal),
        ConnectError::Unreachable(why) => response::unreachable(why),
    }
}

/// Reply codes of SOCKS 5.
/// [RFC 1928 §6](https://www.rfc-editor.org/rfc/rfc1928#section-6)
#[derive(Clone, Copy)]
enum SocksReply {
    Succeeded = 0,
    NotAllowed = 2,
    HostUnreachable = 4,
    CommandNotSupported = 7,
}

async fn serve_socks(state: &Arc<RelayState>, mut inside: TcpStream, source: SocketAddr, slot: &Slot) {
    let request =
        socks_request(&mut inside, |target| drop(state.policy.report_invalid_target(target, source.port())));
    let Ok(Ok(Some((host, port)))) = timeout(state.limits.hello, request).await else { return };
    let connect =
        ConnectRequest { host, port, method: ConnectMethod::SocksProxy, source_port: source.port() };
    match state.connect(connect, slot).await {
        Ok(upstream) => {
            if reply(&mut inside, SocksReply::Succeeded).await.is_ok() {
                relay_connection(state, inside, Bytes::new(), upstream).await;
            }
        }
        Err(ConnectError::Refused(_)) => drop(reply(&mut inside, SocksReply::NotAllowed).await),
        Err(ConnectError::Unreachable(_)) => drop(reply(&mut inside, SocksReply::HostUnreachable).await),
    }
}

async fn reply(inside: &mut TcpStream, reply: SocksReply) -> std::io::Result<()> {
    // The bound address is zero: no outside address means anything inside.
    inside.write_all(&[SOCKS_VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

/// Reads the method negotiation and the request. `None` when the request is not supported, which the client was told.
/// `report` receives a target that is not a host.
async fn socks_request(
    inside: &mut TcpStream,
    report: impl Fn(&str),
) -> std::io::Result<Option<(Host, u16)>> {
    const CONNECT: u8 = 1;
    const NO_AUTHENTICATION: u8 = 0;
    const NONE_ACCEPTED: u8 = 0xff;
    let [_, methods] = read_array::<2>(inside).await?;
    let mut offered = vec![0; usize::from(methods)];
    inside.read_exact(&mut offered).await?;
    let is_open = offered.contains(&NO_AUTHENTICATION);
    inside.write_all(&[SOCKS_VERSION, if is_open { NO_AUTHENTICATION } else { NONE_ACCEPTED }]).await?;
    let [version, command, _, kind] = if is_open { read_array::<4>(inside).await? } else { return Ok(None) };
    if version != SOCKS_VERSION || command != CONNECT {
        reply(inside, SocksReply::CommandNotSupported).await?;
        return Ok(None);
    }
    let host = match kind {
        1 => Some(Host::Address(IpAddr::V4(Ipv4Addr::from(read_array::<4>(inside).await?)))),
        4 => Some(Host::Address(IpAddr::V6(Ipv6Addr::from(read_array::<16>(inside).await?)).to_canonical())),
        3 => {
            let [len] = read_array::<1>(inside).await?;
            let mut text = vec![0; usize::from(len)];
            inside.read_exact(&mut text).await?;
            let host = std::str::from_utf8(&text).ok().and_then(Host::parse);
            if host.is_none() {
                report(&String::from_utf8_lossy(&text));
            }
            host
        }
        _ => None,
    };
    let port = u16::from_be_bytes(read_array::<2>(inside).await?);
    match host {
        Some(host) => Ok(Some((host, port))),
        None => reply(inside, SocksReply::HostUnreachable).await.map(|()| None),
    }
}

async fn read_array<const N: usize>(inside: &mut TcpStream) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    inside.read_exact(&mut bytes).await?;
    Ok(bytes)
}
