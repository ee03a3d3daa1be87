//! The server over streamable HTTP: clients with the token, each with a session of its own.
//!
//! Requests are checked in this order: `Host`, `Origin`, path, token; only then is the body read. The SDK parses the
//! request and its revision.
//!
//! # Shutdown
//! On the signal to end, no client is waited for and everything that was started ends. Clients that wait for a call get
//! an error, since they do not notice a dead server by themselves.

mod auth;
mod calls;
mod client_session;
mod sessions;

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use pinfold_net::{ListenerOptions, connection_slots, serve};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::serve::{AT_ONCE, Server};
use crate::stdio::MAX_MESSAGE_BYTES;
use auth::Rejection;
pub use auth::{Authenticator, PATH};
use calls::CallsInFlight;
use client_session::HttpClientSession;
use sessions::HttpSessions;

/// The most connections: a few for each client.
const CONNECTIONS: usize = 128;
/// The time limit for a header section, also of the next request on a connection.
const HEAD: Duration = Duration::from_secs(30);
/// The time limit for a body.
const SAID: Duration = Duration::from_mins(1);
/// The time in which the last responses are sent.
const LAST: Duration = Duration::from_millis(200);
/// The bodies that are buffered at a time over all connections, in KiB.
const UNDERWAY: u32 = 160 << 10;

type HttpReply = Response<BoxBody<Bytes, Infallible>>;

/// The state that requests share.
struct HttpService {
    authenticator: Authenticator,
    service: StreamableHttpService<HttpClientSession, HttpSessions>,
    underway: Semaphore,
}

/// Serves clients with the token until `ended` becomes readable, and closes what was opened.
///
/// # Errors
/// When a listener cannot be used.
pub fn serve_http(
    server: &Server,
    listeners: Vec<TcpListener>,
    authenticator: Authenticator,
    ended: UnixStream,
) -> io::Result<()> {
    // Each session has its own calls; those of the newest revision are in none.
    let max_calls = (sessions::MAX_SESSIONS + 1) * AT_ONCE;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(max_calls).build()?;
    let done = runtime.block_on(serve_until_end(server, listeners, authenticator, ended));
    server.close();
    // Waits for running calls: they end, and are recorded.
    drop(runtime);
    done
}

async fn serve_until_end(
    server: &Server,
    listeners: Vec<TcpListener>,
    authenticator: Authenticator,
    ended: UnixStream,
) -> io::Result<()> {
    let sessions = Arc::new(HttpSessions::default());
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        // The authenticator has checked them.
        .disable_allowed_hosts()
        // Older clients parse an event without data as a message.
        .with_sse_retry(None);
    let over = config.cancellation_token.clone();
    let visited = server.clone();
    let calls = CallsInFlight::default();
    let known = calls.clone();
    let visitor = move || Ok(HttpClientSession::new(visited.clone(), known.clone()));
    let service = StreamableHttpService::new(visitor, Arc::clone(&sessions), config);
    let http = Arc::new(HttpService { authenticator, service, underway: Semaphore::new(UNDERWAY as usize) });
    let slots = connection_slots(CONNECTIONS);
    let options = ListenerOptions {
        header_timeout: HEAD,
        keep_alive: true,
        loopback_only: http.authenticator.loopback_only,
    };
    for listener in listeners {
        let http = Arc::clone(&http);
        let answer = move |request| respond(Arc::clone(&http), request);
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::spawn(serve(listener, Arc::clone(&slots), options, answer));
    }
    tokio::spawn(sessions.keep());
    ended.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(ended)?.readable().await?;
    if calls.end().await {
        tokio::time::sleep(LAST).await;
    }
    over.cancel();
    Ok(())
}

async fn respond(http: Arc<HttpService>, request: Request<Incoming>) -> HttpReply {
    if let Err(turned) = http.authenticator.authenticate(&request) {
        return reject(turned);
    }
    let (head, body) = request.into_parts();
    match whole(&http.underway, body).await {
        Ok(body) => http.service.handle(Request::from_parts(head, Full::new(body))).await,
        Err((status, why)) => error(status, why),
    }
}

/// Reads a body within the limits of time, of its size, and of all bodies together.
async fn whole(underway: &Semaphore, body: Incoming) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LONG: (StatusCode, &str) =
        (StatusCode::PAYLOAD_TOO_LARGE, "a message of more than 64 MiB is not taken");
    const TOO_SLOW: (StatusCode, &str) = (StatusCode::REQUEST_TIMEOUT, "that took too long");
    let hint = body.size_hint();
    let size = usize::try_from(hint.upper().unwrap_or(MAX_MESSAGE_BYTES as u64)).unwrap_or(usize::MAX);
    if size > MAX_MESSAGE_BYTES {
        return Err(TOO_LONG);
    }
    let read = async {
        // At most 64 MiB, so the conversion cannot fail.
        let _place = underway.acquire_many(u32::try_from(size >> 10).unwrap_or(UNDERWAY)).await;
        Limited::new(body, MAX_MESSAGE_BYTES).collect().await
    };
    match timeout(SAID, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(TOO_LONG),
        Err(_) => Err(TOO_SLOW),
    }
}

fn reject(turned: Rejection) -> HttpReply {
    let (status, why) = turned.status();
    let mut reply = error(status, why);
    if status == StatusCode::UNAUTHORIZED {
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    reply
}

/// An error response to a request whose identifier was not parsed.
fn error(status: StatusCode, why: &str) -> HttpReply {
    let said = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": format!("pinfold: {why}")}});
    let mut reply = Response::new(Full::new(Bytes::from(said.to_string())).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
