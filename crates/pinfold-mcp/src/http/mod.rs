//! The server over HTTP: whoever has the token, each client a session of its own.
//!
//! What comes is looked at in this order: the name it was sent to, the page it was sent from, the path, the token; only
//! then is more than the head read. What a request means, and which revision it speaks, is the SDK's.
//!
//! # How it ends
//! When it is told to: nobody is waited for, and what was started ends. Whoever waits for a call is told so, since clients do
//! not notice by themselves that nobody is there any more.

mod calls;
mod door;
mod sessions;
mod visitor;

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
use crate::stdio::LONGEST;
use calls::Calls;
use door::Turned;
pub use door::{Door, PATH};
use sessions::Sessions;
use visitor::Visitor;

/// How many connections there may be: a few for each client.
const CONNECTIONS: usize = 128;
/// How long a head may take, also the next one on a connection.
const HEAD: Duration = Duration::from_secs(30);
/// How long what is said may take.
const SAID: Duration = Duration::from_mins(1);
/// How long the last answers may take to go out.
const LAST: Duration = Duration::from_millis(200);
/// Bytes of what is said that may be on their way at one time, over all connections, in KiB.
const UNDERWAY: u32 = 160 << 10;

type Reply = Response<BoxBody<Bytes, Infallible>>;

/// What all requests are answered from.
struct House {
    door: Door,
    service: StreamableHttpService<Visitor, Sessions>,
    underway: Semaphore,
}

/// Serves whoever has the token, until `ended` can be read, and closes what was opened.
///
/// # Errors
/// When a listener cannot be used.
pub fn serve_http(
    server: &Server,
    listeners: Vec<TcpListener>,
    door: Door,
    ended: UnixStream,
) -> io::Result<()> {
    // Each session has its own calls, and those of the newest revision are in none.
    let most_calls = (sessions::MOST + 1) * AT_ONCE;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(most_calls)
        .build()?;
    let done = runtime.block_on(until_the_end(server, listeners, door, ended));
    server.close();
    // Waits for the calls that are being carried out: they end, and are recorded.
    drop(runtime);
    done
}

async fn until_the_end(
    server: &Server,
    listeners: Vec<TcpListener>,
    door: Door,
    ended: UnixStream,
) -> io::Result<()> {
    let sessions = Arc::new(Sessions::default());
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(LONGEST)
        // Names were looked at before.
        .disable_allowed_hosts()
        // Older clients take an event without data for a message.
        .with_sse_retry(None);
    let over = config.cancellation_token.clone();
    let visited = server.clone();
    let calls = Calls::default();
    let known = calls.clone();
    let visitor = move || Ok(Visitor::new(visited.clone(), known.clone()));
    let service = StreamableHttpService::new(visitor, Arc::clone(&sessions), config);
    let house = Arc::new(House { door, service, underway: Semaphore::new(UNDERWAY as usize) });
    let slots = connection_slots(CONNECTIONS);
    let options =
        ListenerOptions { header_timeout: HEAD, keep_alive: true, loopback_only: house.door.here_alone };
    for listener in listeners {
        let house = Arc::clone(&house);
        let answer = move |request| answered(Arc::clone(&house), request);
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

async fn answered(house: Arc<House>, request: Request<Incoming>) -> Reply {
    if let Err(turned) = house.door.lets_in(&request) {
        return no(turned);
    }
    let (head, body) = request.into_parts();
    match whole(&house.underway, body).await {
        Ok(body) => house.service.handle(Request::from_parts(head, Full::new(body))).await,
        Err((status, why)) => error(status, why),
    }
}

/// All that is said: in time, not too long, and not too much of it at once.
async fn whole(underway: &Semaphore, body: Incoming) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LONG: (StatusCode, &str) =
        (StatusCode::PAYLOAD_TOO_LARGE, "a message of more than 64 MiB is not taken");
    const TOO_SLOW: (StatusCode, &str) = (StatusCode::REQUEST_TIMEOUT, "that took too long");
    let hint = body.size_hint();
    let size = usize::try_from(hint.upper().unwrap_or(LONGEST as u64)).unwrap_or(usize::MAX);
    if size > LONGEST {
        return Err(TOO_LONG);
    }
    let read = async {
        // At most 64 MiB, so that it fits.
        let _place = underway.acquire_many(u32::try_from(size >> 10).unwrap_or(UNDERWAY)).await;
        Limited::new(body, LONGEST).collect().await
    };
    match timeout(SAID, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(TOO_LONG),
        Err(_) => Err(TOO_SLOW),
    }
}

fn no(turned: Turned) -> Reply {
    let (status, why) = turned.status();
    let mut reply = error(status, why);
    if status == StatusCode::UNAUTHORIZED {
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    reply
}

/// An answer to a request whose number nobody has read.
fn error(status: StatusCode, why: &str) -> Reply {
    let said = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": format!("pinfold: {why}")}});
    let mut reply = Response::new(Full::new(Bytes::from(said.to_string())).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
