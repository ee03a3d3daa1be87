//! The open sessions: one for each folder and kind of client, opened with its first call.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::Session;
use pinfold_tools::HookedSession;

use super::{OpenedSession, SessionOpener, SessionRequest};

/// The most sessions: each change of a client's roots opens another one.
const MAX_SESSIONS: usize = 32;

/// An open session.
pub(crate) struct OpenSession {
    attended: HookedSession,
    follow: Box<dyn Fn(&Session) + Send + Sync>,
    /// Dropped last.
    _span: Box<dyn Any + Send + Sync>,
}

impl OpenSession {
    /// The session, as it is.
    pub(crate) fn session_as_is(&self) -> &HookedSession {
        &self.attended
    }

    /// The session, with the current rules.
    pub(crate) fn current_session(&self) -> &HookedSession {
        (self.follow)(self.attended.session());
        &self.attended
    }
}

/// All sessions.
pub(crate) struct Sessions {
    opener: Arc<dyn SessionOpener>,
    open: Mutex<BTreeMap<(usize, SessionRequest), Arc<OpenSession>>>,
}

impl Sessions {
    pub(crate) fn new(opener: Arc<dyn SessionOpener>) -> Self {
        Self { opener, open: Mutex::default() }
    }

    /// The session for a call, if it is open and can be used without waiting.
    pub(crate) fn find_open(&self, folder: usize, wish: &SessionRequest) -> Option<Arc<OpenSession>> {
        self.open.try_lock().ok()?.get(&(folder, wish.clone())).map(Arc::clone)
    }

    /// The session for a call, opened by the first one.
    pub(crate) fn find_or_open(
        &self,
        folder: usize,
        wish: SessionRequest,
    ) -> Result<Arc<OpenSession>, String> {
        // The lock is held while it opens: of concurrent calls one opens it.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = open.get(&(folder, wish.clone())) {
            return Ok(Arc::clone(session));
        }
        if open.len() >= MAX_SESSIONS {
            return Err(format!("there are {MAX_SESSIONS} sessions already: start the server anew"));
        }
        let OpenedSession { session, follow, span } = self.opener.open(folder, &wish)?;
        let session = Arc::new(OpenSession { attended: HookedSession::begin(session), follow, _span: span });
        open.insert((folder, wish), Arc::clone(&session));
        Ok(session)
    }

    /// Closes sessions without calls; the others close with their last call.
    pub(crate) fn close(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        drop(open);
    }
}
