//! The sessions of this process, whose grants can be listed and revoked from other terminals.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pinfold::{Session, WeakSession};

use super::protocol::GrantSummary;

/// The sessions of one process, while they last.
#[derive(Clone, Default)]
pub struct SessionRegistry(Arc<Mutex<Vec<WeakSession>>>);

impl SessionRegistry {
    /// Adds a session.
    pub fn add(&self, session: &Session) {
        // A panic cannot leave the list half changed.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.upgrade().is_some());
        known.push(session.downgrade());
    }

    fn all(&self) -> Vec<Session> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter_map(WeakSession::upgrade).collect()
    }

    pub(super) fn grants(&self) -> Vec<GrantSummary> {
        let summaries = |session: &Session| {
            let name = session.id().to_owned();
            session.grants().into_iter().map(move |kept| GrantSummary {
                session: name.clone(),
                number: kept.number,
                grant: kept.grant.to_string(),
                by: kept.by,
                given_at: kept.given_at,
                lasts: kept.lasts.into(),
                used: kept.used,
            })
        };
        self.all().iter().flat_map(summaries).collect()
    }

    /// Revokes a grant. `false` when there is no such grant.
    pub(super) fn revoke(&self, session: &str, number: u64) -> bool {
        self.all().iter().filter(|known| known.id() == session).any(|known| known.revoke(number))
    }
}

impl fmt::Debug for SessionRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionRegistry").field("known", &self.all().len()).finish()
    }
}
