//! The routes of the page.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use pinfold::consent::Choice;
use pinfold_approvals::socket::{ApprovalClientError, ProcessAggregator, ProtocolErrorCode};
use pinfold_render::visible;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::board::RequestBoard;
use crate::files;
use crate::guard::{browser, cookie_name, refusal};
use crate::page::PageEvent;
use crate::pairing::{Pairing, PairingError};
use crate::stream::feed;

/// The largest request body, in bytes: an answer with a message.
const MAX_BODY_BYTES: usize = 64 << 10;
/// The time limit for a request body.
const SAID: Duration = Duration::from_secs(5);
/// The delay after a wrong code.
const WRONG: Duration = Duration::from_millis(300);

/// The state that all requests share.
pub(crate) struct PageState {
    pub(crate) pairing: Pairing,
    pub(crate) board: Arc<RequestBoard>,
    pub(crate) everywhere: ProcessAggregator,
    pub(crate) who: Option<String>,
    pub(crate) port: u16,
    pub(crate) told: Box<dyn Fn(PageEvent) + Send + Sync>,
    /// Slots for event streams.
    pub(crate) listening: Arc<Semaphore>,
}

pub(crate) type Reply = Response<Either<Full<Bytes>, Channel<Bytes>>>;

/// Answers one request.
pub(crate) async fn route(desk: Arc<PageState>, request: Request<Incoming>) -> Reply {
    files::guarded(match refusal(desk.port, &request) {
        Some(why) => error(StatusCode::FORBIDDEN, why),
        None => answered(desk, request).await,
    })
}

async fn answered(desk: Arc<PageState>, request: Request<Incoming>) -> Reply {
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/events") => events(desk, &request),
        (&Method::POST, "/pair") => pair(&desk, request).await,
        (&Method::POST, "/answer") => answer(desk, request).await,
        (&Method::GET, path) => match files::find(path) {
            Some((kind, text)) => reply(StatusCode::OK, kind, text.into()),
            None => error(StatusCode::NOT_FOUND, "there is nothing here"),
        },
        _ => error(StatusCode::NOT_FOUND, "there is nothing here"),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeBody {
    code: String,
}

async fn pair(desk: &PageState, request: Request<Incoming>) -> Reply {
    let CodeBody { code } = match parse_body(request).await {
        Ok(said) => said,
        Err(reply) => return reply,
    };
    let why = match desk.pairing.pair(&code) {
        Ok(keys) => {
            (desk.told)(PageEvent::Paired);
            // A session cookie: it is not written to disk.
            let name = cookie_name(desk.port);
            let cookie = format!("{name}={}; HttpOnly; SameSite=Strict; Path=/", keys.cookie.as_str());
            let paired = json(StatusCode::OK, &json!({"token": keys.token.as_str()}));
            return add_header(paired, header::SET_COOKIE, &cookie);
        }
        Err(why) => why,
    };
    if why == PairingError::WrongAndDead {
        (desk.told)(PageEvent::CodeDied);
    }
    sleep(WRONG).await;
    match why {
        PairingError::Wrong => error(StatusCode::FORBIDDEN, "that is not the code"),
        PairingError::WrongAndDead | PairingError::NoCode => {
            error(StatusCode::FORBIDDEN, "there is no code any more: press Enter at the terminal for another")
        }
        PairingError::NoKeys => error(StatusCode::INTERNAL_SERVER_ERROR, "this machine has no randomness"),
    }
}

fn events(desk: Arc<PageState>, request: &Request<Incoming>) -> Reply {
    let Some(browser) = browser(&desk.pairing, desk.port, request.headers()) else { return not_paired() };
    let Ok(place) = Arc::clone(&desk.listening).try_acquire_owned() else {
        return error(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open");
    };
    let (to, body) = Channel::new(1);
    tokio::spawn(feed(desk, browser, to, place));
    let stream = Response::new(Either::Right(body));
    add_header(stream, header::CONTENT_TYPE, "text/event-stream")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    name: String,
    id: String,
    digest: String,
    answer: Choice,
}

async fn answer(desk: Arc<PageState>, request: Request<Incoming>) -> Reply {
    if browser(&desk.pairing, desk.port, request.headers()).is_none() {
        return not_paired();
    }
    let AnswerBody { name, id, digest, answer } = match parse_body(request).await {
        Ok(said) => said,
        Err(reply) => return reply,
    };
    let given = tokio::task::spawn_blocking(move || {
        let client = desk.everywhere.connect(&name)?;
        client.with_name(desk.who.clone()).for_page().answer(&id, &digest, answer)
    });
    match given.await {
        Ok(Ok(())) => json(StatusCode::OK, &json!({})),
        Ok(Err(why)) => error(status(&why), &visible(&why.to_string())),
        Err(_) => error(StatusCode::INTERNAL_SERVER_ERROR, "the answer was not given"),
    }
}

fn status(why: &ApprovalClientError) -> StatusCode {
    match why {
        ApprovalClientError::Rejected(trouble) if trouble.code == ProtocolErrorCode::NotFound => {
            StatusCode::NOT_FOUND
        }
        ApprovalClientError::Rejected(_) => StatusCode::CONFLICT,
        ApprovalClientError::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
            StatusCode::NOT_FOUND
        }
        ApprovalClientError::Io { .. } | ApprovalClientError::UnexpectedReply(_) => StatusCode::BAD_GATEWAY,
    }
}

/// Parses a body within the limits of time and size, or returns the error response.
async fn parse_body<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Reply> {
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES);
    match timeout(SAID, body.collect()).await {
        Ok(Ok(body)) => serde_json::from_slice(&body.to_bytes())
            .map_err(|_| error(StatusCode::BAD_REQUEST, "that was not understood")),
        Ok(Err(_)) => Err(error(StatusCode::PAYLOAD_TOO_LARGE, "that is too long, or was cut short")),
        Err(_) => Err(error(StatusCode::REQUEST_TIMEOUT, "that took too long")),
    }
}

fn not_paired() -> Reply {
    error(StatusCode::UNAUTHORIZED, "this browser is not paired")
}

fn error(status: StatusCode, why: &str) -> Reply {
    json(status, &json!({"error": why}))
}

fn json(status: StatusCode, what: &Value) -> Reply {
    reply(status, "application/json", what.to_string().into())
}

fn reply(status: StatusCode, kind: &'static str, text: Bytes) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(text)));
    *reply.status_mut() = status;
    add_header(reply, header::CONTENT_TYPE, kind)
}

/// Adds a header, if its value is valid.
fn add_header(mut reply: Reply, name: HeaderName, value: &str) -> Reply {
    if let Ok(value) = HeaderValue::from_str(value) {
        reply.headers_mut().insert(name, value);
    }
    reply
}
