//! The sessions of this process, so that what was granted in them can be seen and taken back from elsewhere.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinfold::Session;

use super::protocol::GrantShown;

/// The sessions of one process.
#[derive(Clone, Default)]
pub struct Sessions(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    next: u64,
    known: Vec<(u64, Session)>,
}

/// A session is known as long as this lives.
#[must_use = "the session is forgotten when this is dropped"]
pub struct Known {
    sessions: Sessions,
    number: u64,
}

impl Sessions {
    /// Makes a session known.
    pub fn know(&self, session: &Session) -> Known {
        let mut inner = self.inner();
        inner.next += 1;
        let number = inner.next;
        inner.known.push((number, session.clone()));
        Known { sessions: self.clone(), number }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Each use is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn grants(&self) -> Vec<GrantShown> {
        let sessions: Vec<Session> = self.inner().known.iter().map(|(_, session)| session.clone()).collect();
        let of = |session: &Session| {
            let name = session.id().to_owned();
            session.grants().into_iter().map(move |kept| GrantShown {
                session: name.clone(),
                number: kept.number,
                grant: kept.grant.to_string(),
                by: kept.by,
                given_at: kept.given_at,
                lasts: kept.lasts.into(),
                used: kept.used,
            })
        };
        sessions.iter().flat_map(of).collect()
    }

    /// Takes a grant back. `false` when there is none like that.
    pub(super) fn revoke(&self, session: &str, number: u64) -> bool {
        let sessions: Vec<Session> = self.inner().known.iter().map(|(_, session)| session.clone()).collect();
        sessions.iter().filter(|known| known.id() == session).any(|known| known.revoke(number))
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("known", &self.inner().known.len()).finish()
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.sessions.inner().known.retain(|(number, _)| *number != self.number);
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
}
