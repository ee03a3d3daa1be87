//! One server over HTTP: posts messages, and handles the responses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use hyper::{Method, Response, StatusCode};
use pinfold_egress::OriginClient;
use pinfold_login::{RefreshableLogin, challenge_hint};
use pinfold_net::EventParser;
use pinfold_render::visible;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::buffer_limit::{BufferLimit, BufferShare};
use super::errors::{SHOWN, report, send_error, unexpected_response};
use super::headers::{LAST_EVENT, RequestHeaders, SESSION, newest_revision};
use super::{failed, too_long};
use crate::proxy::request_id;
use crate::wire::frame::{self, Id, MAX_FRAME_BYTES, Message, ResponseOutcome};

/// The time limit for accepting a message that needs no response.
const HEARD: Duration = Duration::from_secs(30);

/// The delay before a broken event stream is resumed, and the number of attempts.
const AGAIN: Duration = Duration::from_secs(1);
const TIMES: u32 = 5;

/// The most redirects within the same host.
const MAX_MOVES: usize = 3;

pub(super) struct ServerConnection {
    exchange: OriginClient,
    login: Option<RefreshableLogin>,
    heads: Mutex<RequestHeaders>,
    /// Path and query; another one after a redirect.
    target: Mutex<String>,
    underway: Mutex<HashMap<Id, PendingPost>>,
    held: BufferLimit,
    out: Sender<QueuedLine>,
    changed: Notify,
    /// The server has dropped the session.
    is_forgotten: AtomicBool,
    gone: Notify,
}

/// A request that waits for its response.
struct PendingPost {
    task: AbortHandle,
    /// Closing the connection cancels it.
    is_newest: bool,
}

/// The part of a response that later requests depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LearnsFrom {
    Nothing,
    Version,
    Tools,
}

/// A line, and a channel that reports when it was written.
type QueuedLine = (Vec<u8>, oneshot::Sender<()>);

/// Writes whole lines to standard output, until the reader is gone.
async fn write(mut lines: Receiver<QueuedLine>) {
    let mut out = tokio::io::stdout();
    while let Some((mut line, done)) = lines.recv().await {
        line.push(b'\n');
        if out.write_all(&line).await.is_err() || out.flush().await.is_err() {
            return;
        }
        // The sender may have been cancelled.
        let _ = done.send(());
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave it half changed.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerConnection {
    /// Creates a client within a runtime, which writes its lines.
    pub(super) fn new(exchange: OriginClient, said: HeaderMap, login: Option<RefreshableLogin>) -> Self {
        let (out, lines) = mpsc::channel(1);
        tokio::spawn(write(lines));
        Self {
            target: Mutex::new(exchange.url().target().to_owned()),
            exchange,
            login,
            heads: Mutex::new(RequestHeaders::new(said)),
            underway: Mutex::default(),
            held: BufferLimit::default(),
            out,
            changed: Notify::new(),
            is_forgotten: AtomicBool::new(false),
            gone: Notify::new(),
        }
    }

    /// Waits until the reader is gone, or no more is written.
    pub(super) async fn gone(&self) {
        self.gone.notified().await;
    }

    /// Sends a line.
    pub(super) async fn handle_message(self: &Arc<Self>, line: Vec<u8>) {
        match frame::parse(&line) {
            Ok(Message::Request { id, method, params }) => {
                let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
                let heads = locked(&self.heads).for_message(&method, params.as_ref());
                let heads = match heads {
                    Ok(heads) => heads,
                    Err(why) => {
                        return self
                            .write_line(failed(&id, &format!("this tool is not called: {why}")))
                            .await;
                    }
                };
                let learns = match &*method {
                    "initialize" => LearnsFrom::Version,
                    "tools/list" => LearnsFrom::Tools,
                    _ => LearnsFrom::Nothing,
                };
                let is_newest = newest_revision(params.as_ref()).is_some();
                self.asks(id, line, heads, learns, is_newest).await;
            }
            Ok(Message::Notification { method, params }) => {
                let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
                if method == "notifications/cancelled" && self.cancel(params.as_ref()) {
                    return;
                }
                let heads = locked(&self.heads).for_message(&method, params.as_ref());
                match heads {
                    Ok(heads) => self.post_message(line, heads).await,
                    Err(why) => report(&format!("a message was not sent: {why}")),
                }
                if method == "notifications/initialized" {
                    let talk = Arc::clone(self);
                    tokio::spawn(async move { talk.forward_server_messages().await });
                }
            }
            Ok(Message::Answer { .. }) => {
                let heads = locked(&self.heads).plain();
                self.post_message(line, heads).await;
            }
            // The proxy in front forwards no such message.
            Err(malformed) => report(&format!("a message was not sent: {}", malformed.why)),
        }
    }

    pub(super) async fn too_long(&self, id: Option<Id>) {
        if let Some(id) = id {
            self.write_line(too_long(&id)).await;
        }
    }

    /// Waits for pending requests, and ends the session.
    pub(super) async fn ends(&self) {
        while !locked(&self.underway).is_empty() {
            let changed = self.changed.notified();
            // Checked once more, after registration for the wakeup.
            if locked(&self.underway).is_empty() {
                break;
            }
            changed.await;
        }
        let heads = locked(&self.heads).plain();
        if heads.contains_key(SESSION) {
            // A server without sessions may not know this method.
            let _ = self.send(&Method::DELETE, &heads, Bytes::new()).await;
        }
    }

    async fn asks(
        self: &Arc<Self>,
        id: Id,
        line: Vec<u8>,
        heads: HeaderMap,
        learns: LearnsFrom,
        is_newest: bool,
    ) {
        let (talk, about) = (Arc::clone(self), id.clone());
        let answered = tokio::spawn(async move {
            if let Err(why) = talk.answers(&about, line, heads, learns).await {
                talk.write_line(failed(&about, &why)).await;
            }
            talk.is_over(&about);
            if talk.is_forgotten.load(Ordering::Relaxed) {
                // The parent starts a new session by starting this process again.
                talk.gone.notify_one();
            }
        });
        locked(&self.underway).insert(id.clone(), PendingPost { task: answered.abort_handle(), is_newest });
        if answered.is_finished() {
            self.is_over(&id);
        }
        if learns == LearnsFrom::Version {
            // Later messages belong to the session that this response begins.
            let _ = answered.await;
        }
    }

    fn is_over(&self, id: &Id) {
        locked(&self.underway).remove(id);
        self.changed.notify_waiters();
    }

    /// Cancels a request. `true`: closing the connection says so already.
    fn cancel(&self, params: Option<&Value>) -> bool {
        let id = params.and_then(|params| request_id(&params.to_string()));
        let Some(underway) = id.and_then(|id| locked(&self.underway).remove(&id)) else { return false };
        underway.task.abort();
        self.changed.notify_waiters();
        underway.is_newest
    }

    /// Posts a message that needs no response.
    async fn post_message(&self, line: Vec<u8>, heads: HeaderMap) {
        let sent = timeout(HEARD, self.send(&Method::POST, &heads, line.into())).await;
        match sent {
            Ok(Ok(answer)) if answer.status().is_success() => {}
            Ok(Ok(answer)) => report(&format!("the server rejected a message: {}", answer.status())),
            Ok(Err(why)) => report(&format!("a message was not sent: {why}")),
            Err(_) => report("the server did not acknowledge a message"),
        }
    }

    /// Posts a request, and forwards messages until it is answered.
    async fn answers(
        &self,
        id: &Id,
        line: Vec<u8>,
        heads: HeaderMap,
        learns: LearnsFrom,
    ) -> Result<(), String> {
        let answer = self.send(&Method::POST, &heads, line.into()).await?;
        let status = answer.status();
        if learns == LearnsFrom::Version
            && let Some(session) = answer.headers().get(SESSION)
        {
            locked(&self.heads).session = Some(session.clone());
        }
        if status.is_success() && is(&answer, "text/event-stream") {
            return self.forward_events(Some(id), answer, &heads, learns).await;
        }
        // The share is held until the message was forwarded.
        let mut share = self.held.share();
        let hint = self.hint(&answer);
        if !status.is_success() && !is(&answer, "application/json") {
            let said = body(answer, SHOWN, &mut share).await.unwrap_or_default();
            return Err(self.unexpected_response(status, hint, &heads, &said));
        }
        let line = to_single_line(body(answer, MAX_FRAME_BYTES, &mut share).await?);
        match frame::parse(&line) {
            Ok(Message::Answer { id: about, .. }) if about == *id => self.passes(line, learns).await,
            _ => return Err(self.unexpected_response(status, hint, &heads, &line)),
        }
        Ok(())
    }

    /// A hint for the user about an error response.
    fn hint(&self, answer: &Response<Incoming>) -> Option<String> {
        let server = self.exchange.url().to_string();
        challenge_hint(answer.status(), answer.headers(), &server, self.login.as_ref())
    }

    /// The error message for a missing response.
    fn unexpected_response(
        &self,
        status: StatusCode,
        hint: Option<String>,
        heads: &HeaderMap,
        said: &[u8],
    ) -> String {
        if status == StatusCode::NOT_FOUND && heads.contains_key(SESSION) {
            self.is_forgotten.store(true, Ordering::Relaxed);
        }
        unexpected_response(status, hint, said)
    }

    /// Forwards an event stream until the request is answered; without a request, to its end.
    async fn forward_events(
        &self,
        id: Option<&Id>,
        mut answer: Response<Incoming>,
        heads: &HeaderMap,
        learns: LearnsFrom,
    ) -> Result<(), String> {
        let (mut events, mut share) = (EventParser::default(), self.held.share());
        let mut left = TIMES;
        loop {
            while let Some(Ok(frame)) = answer.body_mut().frame().await {
                let Some(data) = frame.data_ref() else { continue };
                share.resize(events.buffered() + data.len())?;
                let whole =
                    events.feed(data, MAX_FRAME_BYTES).map_err(|_| "the server says more than fits")?;
                left = if whole.is_empty() { left } else { TIMES };
                for line in whole {
                    let line = to_single_line(line);
                    let is_it = matches!(frame::parse(&line), Ok(Message::Answer { id: about, .. }) if Some(&about) == id);
                    self.passes(line, if is_it { learns } else { LearnsFrom::Nothing }).await;
                    if is_it {
                        return Ok(());
                    }
                }
            }
            // The stream broke. It is resumed where the server gave an event identifier.
            let at = events.last_id().and_then(|last| HeaderValue::from_str(last).ok());
            let (Some(at), true) = (at, left > 0) else { return Err("the server hung up".to_owned()) };
            left -= 1;
            sleep(AGAIN).await;
            let mut heads = heads.clone();
            heads.insert(LAST_EVENT, at);
            events = events.reconnected();
            answer = self.stream(heads).await?;
        }
    }

    /// Forwards the server's own messages, as long as it sends any.
    async fn forward_server_messages(&self) {
        let heads = locked(&self.heads).plain();
        // Many servers have no such stream, and others end it at any time.
        while let Ok(answer) = self.stream(heads.clone()).await {
            let _ = self.forward_events(None, answer, &heads, LearnsFrom::Nothing).await;
            sleep(AGAIN).await;
        }
    }

    async fn stream(&self, mut heads: HeaderMap) -> Result<Response<Incoming>, String> {
        heads.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        heads.remove(CONTENT_TYPE);
        let answer = self.send(&Method::GET, &heads, Bytes::new()).await?;
        if answer.status().is_success() && is(&answer, "text/event-stream") {
            return Ok(answer);
        }
        Err(unexpected_response(answer.status(), self.hint(&answer), b""))
    }

    async fn passes(&self, line: Vec<u8>, learns: LearnsFrom) {
        if learns != LearnsFrom::Nothing
            && let Ok(Message::Answer { outcome: ResponseOutcome::Result(result), .. }) = frame::parse(&line)
            && let Ok(result) = serde_json::from_str::<Value>(result.get())
        {
            let mut heads = locked(&self.heads);
            let version = result.get("protocolVersion").and_then(Value::as_str);
            match (learns, version.and_then(|version| HeaderValue::from_str(version).ok())) {
                (LearnsFrom::Version, version) => heads.version = version,
                (LearnsFrom::Tools, _) => heads.learn_repeated(&result),
                (LearnsFrom::Nothing, _) => {}
            }
        }
        self.write_line(line).await;
    }

    /// Writes a line. Waits while the reader is slow; the sender may be cancelled, the line is not.
    async fn write_line(&self, line: Vec<u8>) {
        let (done, written) = oneshot::channel();
        if self.out.send((line, done)).await.is_err() || written.await.is_err() {
            self.gone.notify_one();
        }
    }

    /// Sends a request with the login, if there is one; again after a refresh of the token.
    async fn send(
        &self,
        method: &Method,
        heads: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, String> {
        let Some(login) = &self.login else { return self.send_once(method, heads, &body).await };
        let mut heads = heads.clone();
        let word = login.authorization_header().await.map_err(|why| why.to_string())?;
        heads.insert(AUTHORIZATION, word.clone());
        let answer = self.send_once(method, &heads, &body).await?;
        if answer.status() != StatusCode::UNAUTHORIZED
            || !login.handle_rejection(&word).await.map_err(|why| why.to_string())?
        {
            return Ok(answer);
        }
        heads.insert(AUTHORIZATION, login.authorization_header().await.map_err(|why| why.to_string())?);
        self.send_once(method, &heads, &body).await
    }

    /// Sends a request, and follows redirects within the same host.
    async fn send_once(
        &self,
        method: &Method,
        heads: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Incoming>, String> {
        for _ in 0..=MAX_MOVES {
            let target = locked(&self.target).clone();
            let sent = self.exchange.send(method, &target, heads, body).await;
            let answer = sent.map_err(|why| send_error(&why))?;
            let moved =
                matches!(answer.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            if !moved && !answer.status().is_redirection() {
                return Ok(answer);
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            let Some(to) = self.same_host(to).filter(|_| moved) else {
                return Err(format!(
                    "the server leads on to `{}`; name that address if it is meant",
                    visible(to)
                ));
            };
            *locked(&self.target) = to;
        }
        Err("the server leads in circles".to_owned())
    }

    /// The path of a URL, if it is on this host.
    fn same_host(&self, to: &str) -> Option<String> {
        let url = self.exchange.url();
        let origin = format!("{}://{}", url.scheme().as_str(), url.authority());
        let path = to.strip_prefix(&origin).unwrap_or(to);
        (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
    }
}

fn is(answer: &Response<Incoming>, kind: &str) -> bool {
    let said = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    said.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind)
}

/// Reads a response, up to the limit.
async fn body(answer: Response<Incoming>, most: usize, share: &mut BufferShare) -> Result<Vec<u8>, String> {
    let mut body = answer.into_body();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| format!("the answer broke off: {e}"))?;
        let Some(data) = frame.data_ref() else { continue };
        if all.len() + data.len() > most {
            return if most == MAX_FRAME_BYTES {
                Err(format!("the answer has more than {} MiB", most >> 20))
            } else {
                Ok(all)
            };
        }
        share.resize(all.len() + data.len())?;
        all.extend_from_slice(data);
    }
    Ok(all)
}

/// Joins JSON that was written on several lines: a string cannot have a line feed.
fn to_single_line(mut json: Vec<u8>) -> Vec<u8> {
    json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    json
}
