//! The sessions of clients that shook hands: how many there may be, and when they end.
//!
//! Over HTTP nobody says that they are gone. A client all of whose streams are closed has a moment to come back; then its
//! calls are taken back, and after a while without a word its session ends.

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

/// Sessions at one time. Who comes then takes the place of whoever was silent longest.
pub(super) const MOST: usize = 32;
/// How long a client whose streams are all closed has to come back for its calls: clients try again after a few seconds.
const BACK: Duration = Duration::from_secs(10);
/// How long a client without an open stream may say nothing.
const IDLE: Duration = Duration::from_mins(30);
/// How often it is looked who is gone.
const LOOK: Duration = Duration::from_secs(1);

/// All of them.
pub(super) struct Sessions {
    local: LocalSessionManager,
    guests: Arc<Guests>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoSession {
    #[error("there are {MOST} sessions, and all of them are in use")]
    TooMany,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// What is known of each client.
#[derive(Default)]
struct Guests(Mutex<HashMap<SessionId, Guest>>);

struct Guest {
    /// When it said something last, or closed a stream.
    last: Instant,
    /// Streams that it reads.
    open: usize,
    /// Its requests that were not answered.
    waiting: HashSet<RequestId>,
}

impl Guests {
    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Guest>> {
        // Each use leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a client is there. `false`: there is no such session.
    fn hears(&self, id: &SessionId, note: impl FnOnce(&mut Guest)) -> bool {
        let mut all = self.all();
        let Some(guest) = all.get_mut(id) else { return false };
        guest.last = Instant::now();
        note(guest);
        true
    }

    /// The session that was silent longest, of those that nobody reads.
    fn most_silent(&self) -> Option<SessionId> {
        let all = self.all();
        let silent = all.iter().filter(|(_, guest)| guest.open == 0 && guest.waiting.is_empty());
        silent.min_by_key(|(_, guest)| guest.last).map(|(id, _)| Arc::clone(id))
    }

    /// Sessions that are over, and calls that nobody waits for any more.
    fn gone(&self) -> (Vec<SessionId>, Vec<(SessionId, RequestId)>) {
        let mut all = self.all();
        let is_silent = |guest: &Guest, time| guest.open == 0 && guest.last.elapsed() >= time;
        let over =
            all.iter().filter(|(_, guest)| is_silent(guest, IDLE)).map(|(id, _)| Arc::clone(id)).collect();
        let left = all.iter_mut().filter(|(_, guest)| is_silent(guest, BACK));
        let left = left.flat_map(|(id, guest)| guest.waiting.drain().map(|call| (Arc::clone(id), call)));
        let left = left.collect();
        (over, left)
    }
}

/// A stream that is open.
struct Open {
    guests: Arc<Guests>,
    id: SessionId,
}

impl Open {
    fn new(guests: &Arc<Guests>, id: &SessionId) -> Self {
        guests.hears(id, |guest| guest.open += 1);
        Self { guests: Arc::clone(guests), id: Arc::clone(id) }
    }

    /// Notes what comes by.
    fn passes(&self, message: Option<&ServerJsonRpcMessage>) {
        let answered = match message {
            Some(JsonRpcMessage::Response(response)) => Some(&response.id),
            Some(JsonRpcMessage::Error(error)) => error.id.as_ref(),
            Some(JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) | None => None,
        };
        if let Some(request) = answered {
            self.guests.hears(&self.id, |guest| _ = guest.waiting.remove(request));
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.guests.hears(&self.id, |guest| guest.open = guest.open.saturating_sub(1));
    }
}

impl Default for Sessions {
    fn default() -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.sse_retry = None;
        // A call that waits for an answer is silent for long: who is gone is found out here.
        local.session_config.keep_alive = None;
        Self { local, guests: Arc::default() }
    }
}

impl Sessions {
    /// Sees who is gone, for as long as anybody can come.
    pub(super) async fn keep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let (over, left) = self.guests.gone();
            for (id, call) in left {
                let why = Some("the client is gone".to_owned());
                let param = CancelledNotificationParam::new(Some(call), why);
                let cancelled = CancelledNotification::new(param);
                let cancelled = ClientNotification::CancelledNotification(cancelled);
                // One that has ended meanwhile needs none.
                let _ = self.local.accept_message(&id, ClientJsonRpcMessage::notification(cancelled)).await;
            }
            for id in over {
                let _ = self.close_session(&id).await;
            }
        }
    }

    fn watched<S>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<S>
    where
        S: Stream<Item = ServerSseMessage> + Send + Sync,
    {
        let open = Open::new(&self.guests, id);
        stream.inspect(move |event| open.passes(event.message.as_deref()))
    }
}

impl SessionManager for Sessions {
    type Error = NoSession;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), NoSession> {
        if self.guests.all().len() >= MOST {
            let silent = self.guests.most_silent().ok_or(NoSession::TooMany)?;
            self.close_session(&silent).await?;
        }
        let (id, transport) = self.local.create_session().await?;
        let guest = Guest { last: Instant::now(), open: 0, waiting: HashSet::new() };
        self.guests.all().insert(Arc::clone(&id), guest);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, NoSession> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, NoSession> {
        Ok(self.guests.hears(id, |_| ()) && self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), NoSession> {
        self.guests.all().remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NoSession> {
        if let JsonRpcMessage::Request(request) = &message {
            self.guests.hears(id, |guest| _ = guest.waiting.insert(request.id.clone()));
        }
        let stream = self.local.create_stream(id, message).await?;
        Ok(self.watched(id, stream))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NoSession> {
        let stream = self.local.create_standalone_stream(id).await?;
        Ok(self.watched(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NoSession> {
        let stream = self.local.resume(id, last_event_id).await?;
        Ok(self.watched(id, stream))
    }
}
