//! The sessions of clients that did a handshake: their number, and when they end.
//!
//! HTTP clients do not say goodbye. A client without open streams has a moment to reconnect; then its calls are
//! cancelled, and after some time without a request its session ends.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt as _};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

/// The most sessions at a time. A further one replaces the session that was idle longest.
pub(super) const MAX_SESSIONS: usize = 32;
/// The time in which a client without open streams has to reconnect for its calls: clients retry after a few seconds.
const BACK: Duration = Duration::from_secs(10);
/// The idle time after which a session without an open stream ends.
const IDLE: Duration = Duration::from_mins(30);
/// The interval at which disconnected clients are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// All sessions.
pub(super) struct HttpSessions {
    local: LocalSessionManager,
    guests: Arc<HttpClients>,
}

/// Reason why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpSessionError {
    #[error("there are {MAX_SESSIONS} sessions, and all of them are in use")]
    TooMany,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// The state of each client.
#[derive(Default)]
struct HttpClients(Mutex<HashMap<SessionId, HttpClientState>>);

struct HttpClientState {
    /// The time of the last request, or of the last stream's end.
    last: Instant,
    /// Open streams.
    open: usize,
    /// Requests without a response so far.
    waiting: HashSet<RequestId>,
}

impl HttpClients {
    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, HttpClientState>> {
        // A panic cannot leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records activity of a client. `false`: there is no such session.
    fn record_activity(&self, id: &SessionId, note: impl FnOnce(&mut HttpClientState)) -> bool {
        let mut all = self.all();
        let Some(guest) = all.get_mut(id) else { return false };
        guest.last = Instant::now();
        note(guest);
        true
    }

    /// The session that was idle longest, among those without streams.
    fn longest_idle(&self) -> Option<SessionId> {
        let all = self.all();
        let silent = all.iter().filter(|(_, guest)| guest.open == 0 && guest.waiting.is_empty());
        silent.min_by_key(|(_, guest)| guest.last).map(|(id, _)| Arc::clone(id))
    }

    /// Sessions that have expired, and calls whose clients are gone.
    fn gone(&self) -> (Vec<SessionId>, Vec<(SessionId, RequestId)>) {
        let mut all = self.all();
        let is_silent = |guest: &HttpClientState, time| guest.open == 0 && guest.last.elapsed() >= time;
        let over =
            all.iter().filter(|(_, guest)| is_silent(guest, IDLE)).map(|(id, _)| Arc::clone(id)).collect();
        let left = all.iter_mut().filter(|(_, guest)| is_silent(guest, BACK));
        let left = left.flat_map(|(id, guest)| guest.waiting.drain().map(|call| (Arc::clone(id), call)));
        let left = left.collect();
        (over, left)
    }
}

/// An open stream.
struct ObservedStream {
    guests: Arc<HttpClients>,
    id: SessionId,
}

impl ObservedStream {
    fn new(guests: &Arc<HttpClients>, id: &SessionId) -> Self {
        guests.record_activity(id, |guest| guest.open += 1);
        Self { guests: Arc::clone(guests), id: Arc::clone(id) }
    }

    /// Observes the messages of a stream.
    fn passes(&self, message: Option<&ServerJsonRpcMessage>) {
        let answered = match message {
            Some(JsonRpcMessage::Response(response)) => Some(&response.id),
            Some(JsonRpcMessage::Error(error)) => error.id.as_ref(),
            Some(JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) | None => None,
        };
        if let Some(request) = answered {
            self.guests.record_activity(&self.id, |guest| _ = guest.waiting.remove(request));
        }
    }
}

impl Drop for ObservedStream {
    fn drop(&mut self) {
        self.guests.record_activity(&self.id, |guest| guest.open = guest.open.saturating_sub(1));
    }
}

impl Default for HttpSessions {
    fn default() -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.sse_retry = None;
        // A stream is silent while a call waits for an answer, so a disconnect is noticed here.
        local.session_config.keep_alive = None;
        Self { local, guests: Arc::default() }
    }
}

impl HttpSessions {
    /// Expires sessions and calls, as long as the server runs.
    pub(super) async fn keep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let (over, left) = self.guests.gone();
            for (id, call) in left {
                let why = Some("the client is gone".to_owned());
                let param = CancelledNotificationParam::new(Some(call), why);
                let cancelled = CancelledNotification::new(param);
                let cancelled = ClientNotification::CancelledNotification(cancelled);
                // A session that has ended meanwhile needs none.
                let _ = self.local.accept_message(&id, ClientJsonRpcMessage::notification(cancelled)).await;
            }
            for id in over {
                let _ = self.close_session(&id).await;
            }
        }
    }

    fn observe_stream<S>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<S>
    where
        S: Stream<Item = ServerSseMessage> + Send + Sync,
    {
        let open = ObservedStream::new(&self.guests, id);
        stream.inspect(move |event| open.passes(event.message.as_deref()))
    }
}

impl SessionManager for HttpSessions {
    type Error = HttpSessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), HttpSessionError> {
        if self.guests.all().len() >= MAX_SESSIONS {
            let silent = self.guests.longest_idle().ok_or(HttpSessionError::TooMany)?;
            self.close_session(&silent).await?;
        }
        let (id, transport) = self.local.create_session().await?;
        let guest = HttpClientState { last: Instant::now(), open: 0, waiting: HashSet::new() };
        self.guests.all().insert(Arc::clone(&id), guest);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, HttpSessionError> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, HttpSessionError> {
        Ok(self.guests.record_activity(id, |_| ()) && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), HttpSessionError> {
        self.guests.all().remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError> {
        if let JsonRpcMessage::Request(request) = &message {
            self.guests.record_activity(id, |guest| _ = guest.waiting.insert(request.id.clone()));
        }
        let stream = self.local.create_stream(id, message).await?;
        Ok(self.observe_stream(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), HttpSessionError> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError> {
        let stream = self.local.create_standalone_stream(id).await?;
        Ok(self.observe_stream(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, HttpSessionError> {
        let stream = self.local.resume(id, last_event_id).await?;
        Ok(self.observe_stream(id, stream))
    }
}
