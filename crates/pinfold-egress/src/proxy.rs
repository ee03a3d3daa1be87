//! The relay asked by name: as an HTTP proxy and as a SOCKS proxy, on one port, told apart by the first byte.
//!
//! For programs that insist on a proxy; what they may reach is the same as without one.

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

use crate::doorkeeper::{Ask, Mismatch, Way};
use crate::heads::Heads;
use crate::http::{self, Said};
use crate::relay::{Shared, Unmet, carry};
use crate::rounds::{Beside, Held, Round, held, round, something_is_said};

/// The first byte of a client that speaks SOCKS 5.
/// [RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)
const SOCKS: u8 = 5;

/// What a request is called that cannot be read.
const UNREADABLE: &str = "a request that cannot be read";

/// One connection to the proxy's port.
pub(crate) async fn lead(shared: &Arc<Shared>, inside: TcpStream, from: SocketAddr) {
    let mut first = [0];
    match timeout(shared.limits.hello, inside.peek(&mut first)).await {
        Ok(Ok(1)) if first == [SOCKS] => socks(shared, inside, from).await,
        Ok(Ok(1)) => requests(shared, inside, from).await,
        Ok(Ok(_) | Err(_)) | Err(_) => {}
    }
}

async fn requests(shared: &Arc<Shared>, inside: TcpStream, from: SocketAddr) {
    let mut inside = Heads::asking(inside);
    while something_is_said::<_, TcpStream>(&mut inside, None, shared.limits.idle).await {
        let course = inside.course();
        let service = service_fn(|request: Request<Incoming>| {
            let busy = course.begin(&request);
            let is_broken = course.says_its_length_twice();
            let request = request.map(|body| Held::new(body, busy.clone()));
            let said = async move {
                let said = match *request.method() {
                    Method::CONNECT => connect(shared, request, from).await,
                    _ => forward(shared, request, is_broken, from).await,
                };
                Ok::<_, Infallible>(held(said, busy))
            };
            Box::pin(said)
        });
        // On the heap, and gone between them.
        match Box::pin(round(shared.limits.hello, inside, service, |_| Beside::Ready)).await {
            Round::Quiet(quiet) => inside = quiet,
            Round::Over(served) => {
                if served.is_err_and(|error| error.is_parse()) {
                    shared.keeper.unclear(UNREADABLE, from.port());
                }
                return;
            }
        }
    }
}

/// `CONNECT host:port`: a tunnel, once what comes through it means the host too.
async fn connect(shared: &Arc<Shared>, mut request: Request<Held<Incoming>>, from: SocketAddr) -> Said {
    let target = request.uri().authority().and_then(|target| Host::parse_with_port(target.as_str()));
    let Some((host, Some(port))) = target else {
        shared.keeper.unclear(&request.uri().to_string(), from.port());
        return http::plain(StatusCode::BAD_REQUEST, "pinfold: CONNECT needs a host and a port\n".to_owned());
    };
    let ask = Ask { host, port, way: Way::Proxy, from: from.port() };
    let upstream = match shared.reach(&ask).await {
        Ok(upstream) => upstream,
        Err(unmet) => return unmet_in_words(&unmet),
    };
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(tunnel(Arc::clone(shared), ask, upgrade, upstream));
    Response::new(Empty::<Bytes>::new().map_err(|never| match never {}).boxed())
}

async fn tunnel(shared: Arc<Shared>, ask: Ask, upgrade: OnUpgrade, upstream: TcpStream) {
    let Ok(upgraded) = upgrade.await else { return };
    let Ok(parts) = Upgraded::downcast::<TokioIo<Heads<TcpStream>>>(upgraded) else { return };
    let (inside, ahead) = parts.io.into_inner().into_parts();
    let early = [parts.read_buf.as_ref(), &ahead].concat();
    carry(&shared, &ask, inside, early.into(), upstream).await;
}

/// `GET http://host/…`: one request to one host.
async fn forward(
    shared: &Arc<Shared>,
    request: Request<Held<Incoming>>,
    is_broken: bool,
    from: SocketAddr,
) -> Said {
    let is_http = request.uri().scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    let target = request.uri().authority().and_then(|target| Host::parse_with_port(target.as_str()));
    let (true, Some((host, port)), Some(_)) = (is_http, target, http::host_of(&request)) else {
        shared.keeper.unclear(&request.uri().to_string(), from.port());
        let text = "pinfold: ask this proxy for http://host/… or with CONNECT host:port\n";
        return http::plain(StatusCode::BAD_REQUEST, text.to_owned());
    };
    let ask = Ask { host, port: port.unwrap_or(80), way: Way::Proxy, from: from.port() };
    if is_broken {
        return http::mismatched(&Mismatch::TwoLengths, &shared.keeper.mismatch(&ask, &Mismatch::TwoLengths));
    }
    let upstream = match shared.reach(&ask).await {
        Ok(upstream) => upstream,
        Err(unmet) => return unmet_in_words(&unmet),
    };
    match http::handshake(upstream).await {
        Ok(sender) => http::pass_on(shared, &ask, &Mutex::new(sender), request).await,
        Err(e) => http::unreachable(&e.to_string()),
    }
}

fn unmet_in_words(unmet: &Unmet) -> Said {
    match unmet {
        Unmet::Refused(no) => http::refusal(no),
        Unmet::Unreachable(why) => http::unreachable(why),
    }
}

/// The answers of SOCKS 5.
#[derive(Clone, Copy)]
enum Reply {
    Done = 0,
    NotAllowed = 2,
    NoHost = 4,
    NoSuchCommand = 7,
}

async fn socks(shared: &Arc<Shared>, mut inside: TcpStream, from: SocketAddr) {
    let greeting = greeting(&mut inside, |said| drop(shared.keeper.unclear(said, from.port())));
    let Ok(Ok(Some((host, port)))) = timeout(shared.limits.hello, greeting).await else { return };
    let ask = Ask { host, port, way: Way::Socks, from: from.port() };
    match shared.reach(&ask).await {
        Ok(upstream) => {
            if say(&mut inside, Reply::Done).await.is_ok() {
                carry(shared, &ask, inside, Bytes::new(), upstream).await;
            }
        }
        Err(Unmet::Refused(_)) => drop(say(&mut inside, Reply::NotAllowed).await),
        Err(Unmet::Unreachable(_)) => drop(say(&mut inside, Reply::NoHost).await),
    }
}

async fn say(inside: &mut TcpStream, reply: Reply) -> std::io::Result<()> {
    // Bound to nowhere: there is no address of ours that would mean anything inside.
    inside.write_all(&[SOCKS, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

/// The greeting and the request; `None` when it is none that is served here, which has been said. `unclear` is told what
/// is no host.
async fn greeting(inside: &mut TcpStream, unclear: impl Fn(&str)) -> std::io::Result<Option<(Host, u16)>> {
    const CONNECT: u8 = 1;
    const NO_AUTHENTICATION: u8 = 0;
    const NONE_ACCEPTED: u8 = 0xff;
    let [_, methods] = array::<2>(inside).await?;
    let mut offered = vec![0; usize::from(methods)];
    inside.read_exact(&mut offered).await?;
    let open = offered.contains(&NO_AUTHENTICATION);
    inside.write_all(&[SOCKS, if open { NO_AUTHENTICATION } else { NONE_ACCEPTED }]).await?;
    let [version, command, _, kind] = if open { array::<4>(inside).await? } else { return Ok(None) };
    if version != SOCKS || command != CONNECT {
        say(inside, Reply::NoSuchCommand).await?;
        return Ok(None);
    }
    let host = match kind {
        1 => Some(Host::Address(IpAddr::V4(Ipv4Addr::from(array::<4>(inside).await?)))),
        4 => Some(Host::Address(IpAddr::V6(Ipv6Addr::from(array::<16>(inside).await?)).to_canonical())),
        3 => {
            let [len] = array::<1>(inside).await?;
            let mut text = vec![0; usize::from(len)];
            inside.read_exact(&mut text).await?;
            let host = std::str::from_utf8(&text).ok().and_then(Host::parse);
            if host.is_none() {
                unclear(&String::from_utf8_lossy(&text));
            }
            host
        }
        _ => None,
    };
    let port = u16::from_be_bytes(array::<2>(inside).await?);
    match host {
        Some(host) => Ok(Some((host, port))),
        None => say(inside, Reply::NoHost).await.map(|()| None),
    }
}

async fn array<const N: usize>(inside: &mut TcpStream) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    inside.read_exact(&mut bytes).await?;
    Ok(bytes)
}
